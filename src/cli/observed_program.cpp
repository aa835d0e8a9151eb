#include "cli/sim_program.hpp"
#include "observe/observation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

namespace rubato::cli {
namespace {

using observe::invocation;
using observe::observation;

/// A call that all its ranks kept.
struct kept_call {
    std::size_t row;
    const invocation* when;
};

bool can_be_replayed(const observe::row& r) {
    return r.seen && r.how == observe::form::blocking && !traits(r.what).on_graph;
}

/// In the order of time. One that ranks called from several places is in several rows.
std::vector<kept_call> kept_calls(const observation& o) {
    std::vector<kept_call> all;
    std::set<std::tuple<std::size_t, std::uint64_t, time_ns>> had;
    for (std::size_t i = 0; i < o.rows.size(); ++i) {
        if (!can_be_replayed(o.rows[i])) continue;
        for (const invocation& e : o.rows[i].seen->examples)
            if (had.emplace(o.rows[i].communicator, e.number, e.at).second) all.push_back({i, &e});
    }
    std::ranges::stable_sort(all, {}, [](const kept_call& c) { return std::pair(c.when->at, c.when->number); });
    return all;
}

program_call call_of(const observation& o, const observe::row& r, std::int32_t ranks) {
    const std::vector<std::int32_t>& members = o.communicators[r.communicator].members;
    const auto count = static_cast<std::int32_t>(members.size());
    program_call c;
    c.what = r.what;
    c.place = fmt::format("{}, {}", traits(r.what).name, format_bytes(r.bytes));
    // A v-form's chunks are taken to be alike.
    c.chunk = traits(r.what).irregular ? r.bytes / count : r.bytes;
    if (traits(r.what).rooted) c.root = rank(r.root % (count == o.ranks ? ranks : count));
    if (count < o.ranks) c.members = members;
    return c;
}

}  // namespace

observed_program read_observed_program(const std::string& file, std::int32_t ranks) {
    const observation o = observe::read(file);
    const std::vector<kept_call> kept = kept_calls(o);
    if (kept.empty())
        throw error(fmt::format("'{}' has no call to replay", file), "no blocking call was kept by all ranks",
                    "observe a longer run");
    if (kept.size() > 1 && kept.front().when->at == kept.back().when->at)
        throw error(fmt::format("'{}' does not say when calls were made", file), "another version of rubato wrote it",
                    "observe the program again");
    observed_program made;
    made.what.ranks = ranks > 0 ? ranks : o.ranks;
    std::vector<std::size_t> call_of_row(o.rows.size());
    for (std::size_t i = 0; i < o.rows.size(); ++i) {
        made.calls += o.rows[i].calls;
        if (!can_be_replayed(o.rows[i])) continue;
        call_of_row[i] = made.what.calls.size();
        made.what.calls.push_back(call_of(o, o.rows[i], made.what.ranks));
        if (!made.what.calls.back().members.empty() && made.what.ranks != o.ranks)
            throw error(fmt::format("'{}' with {} ranks", file, made.what.ranks),
                        "some of its communicators have only a part of the ranks",
                        fmt::format("leave --ranks out, or give {}", o.ranks));
    }
    made.replayed = kept.size();
    const time_ns begin = kept.front().when->at;
    std::vector<time_ns> left(static_cast<std::size_t>(o.ranks), begin);  // the last call
    time_ns end = begin;
    for (const kept_call& k : kept) {
        const std::vector<std::int32_t>& members = o.communicators[o.rows[k.row].communicator].members;
        std::vector<time_ns> computing(static_cast<std::size_t>(o.ranks));
        for (std::size_t i = 0; i < members.size(); ++i) {
            const auto r = static_cast<std::size_t>(members[i]);
            computing[r] = std::max(time_ns{}, k.when->at + k.when->arrivals[i] - left[r]);
            left[r] = k.when->at + k.when->exits[i];
            end = std::max(end, left[r]);
        }
        program_event& e = made.what.events.emplace_back();
        e.call = call_of_row[k.row];
        for (std::size_t r = 0; r < static_cast<std::size_t>(made.what.ranks); ++r)
            e.computing.push_back(computing[r % computing.size()]);
    }
    made.took = end - begin;
    return made;
}

}  // namespace rubato::cli
