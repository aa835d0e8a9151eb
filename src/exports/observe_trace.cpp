#include "exports/imports.hpp"
#include "observe/part_layout.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace rubato::exports {
namespace {

/// What one rank did, as its recorder would have kept it; but with the times of all calls.
observe::part part_of_rank(const trace& t, std::int32_t rank) {
    observe::part p;
    p.who = {rank, t.ranks(), t.program, t.hosts[static_cast<std::size_t>(rank)], t.library};
    p.clock.push_back({});                          // all times are on one clock
    std::map<std::uint32_t, std::size_t> channels;  // by communicator
    using row_key = std::tuple<std::size_t, std::uint32_t, collective, observe::form, std::int32_t, std::uint8_t>;
    std::map<row_key, std::size_t> rows;
    for (const traced_call& c : t.calls_of(rank)) {
        const auto [where, new_channel] = channels.emplace(c.communicator, p.channels.size());
        if (new_channel) {
            const traced_communicator& of = t.communicators[c.communicator];
            observe::part_channel& made = p.channels.emplace_back();
            made.members = of.members;
            made.ordinal = of.ordinal;
        }
        observe::part_channel& channel = p.channels[where->second];
        const std::uint8_t size_class = observe::size_class_of(c.bytes);
        const auto [row, new_row] =
            rows.emplace(row_key{where->second, c.place, c.what, c.how, c.root, size_class}, channel.rows.size());
        if (new_row) {
            observe::part_row& made = channel.rows.emplace_back();
            made.from.symbol = t.places[c.place];
            made.what = c.what;
            made.how = c.how;
            made.root = c.root;
            made.size_class = size_class;
        }
        observe::part_row& sums = channel.rows[row->second];
        ++sums.calls;
        sums.bytes += c.bytes;
        sums.time += c.exit - c.arrival;
        ++channel.calls;
        if (c.invocation != observe::no_invocation)
            channel.events.push_back({c.invocation, row->second, c.arrival, c.exit});
    }
    for (observe::part_channel& c : p.channels)
        std::ranges::stable_sort(c.events, {}, &observe::part_event::invocation);
    return p;
}

}  // namespace

observe::observation observe_trace(const trace& t) {
    std::vector<observe::part> parts;
    for (std::int32_t r = 0; r < t.ranks(); ++r) parts.push_back(part_of_rank(t, r));
    observe::observation o = observe::summarise(parts);
    o.mode = "imported";
    return o;
}

}  // namespace rubato::exports
