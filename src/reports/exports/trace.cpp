#include "reports/exports/trace.hpp"

#include "dropin/observe/part_layout.hpp"
#include "reports/exports/formats.hpp"
#include "reports/report/symbols.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

namespace rubato::reports {
namespace {

namespace fs = std::filesystem;
using dropin::part;

using communicator_key = std::pair<std::vector<std::int32_t>, std::uint32_t>;

std::vector<std::string> place_texts(std::span<const dropin::site> sites) {
    std::vector<std::string> texts;
    for (const code_place& p : find_places(sites)) texts.push_back(p.text());
    return texts;
}

/// The files of ranks in a folder, by rank.
std::map<std::int32_t, fs::path> rank_files(const fs::path& folder) {
    std::map<std::int32_t, fs::path> found;
    for (const fs::path& each : dropin::recordings_in(folder))
        if (const auto p = dropin::glance_at(each)) found.emplace(p->who.rank, each);
    return found;
}

/// From the files of ranks: all of their calls, or those that were kept.
class trace_of_parts {
public:
    explicit trace_of_parts(std::map<std::int32_t, fs::path> files) : files_(std::move(files)) {}

    void describe(trace& to) {
        bool first = true;
        for (const auto& [rank, file] : files_) {
            const auto p = dropin::decode(dropin::read_part(file, false));
            if (!p || (!first && p->who.ranks != to.ranks())) continue;
            if (first) {
                to.program = p->who.program;
                to.library = p->who.library;
                to.hosts.resize(static_cast<std::size_t>(p->who.ranks));
                begin_ = p->clock.empty() ? time_ns{} : p->clock.front().common;
            }
            first = false;
            to.hosts[static_cast<std::size_t>(rank)] = p->who.host;
            if (!p->clock.empty()) begin_ = std::min(begin_, p->clock.front().common);
            to.missing += p->missing;
            for (const dropin::part_channel& c : p->channels) {
                (void)communicators_.number({c.members, c.ordinal});
                to.calls += c.lost;
                to.missing += c.lost;
                for (const dropin::part_row& r : c.rows) {
                    if (r.calls == 0) continue;
                    to.calls += r.calls;
                    (void)sites_.number(r.from);
                    if (!p->every_call) to.missing += r.calls;
                }
                if (!p->every_call) to.missing -= std::min<std::uint64_t>(to.missing, c.events.size());
            }
        }
        for (const auto& [members, ordinal] : communicators_.all()) to.communicators.push_back({members, ordinal});
        to.places = place_texts(sites_.all());
    }

    std::vector<traced_call> calls_of(std::int32_t rank) {
        std::vector<traced_call> out;
        const auto file = files_.find(rank);
        if (file == files_.end()) return out;
        const auto p = dropin::decode(dropin::read_part(file->second, true));
        if (!p) return out;
        std::vector<std::vector<std::uint32_t>> places;  // by channel and row
        std::vector<std::uint32_t> communicators;
        for (const dropin::part_channel& c : p->channels) {
            communicators.push_back(communicators_.number({c.members, c.ordinal}));
            auto& of_channel = places.emplace_back();
            for (const dropin::part_row& r : c.rows) of_channel.push_back(r.calls > 0 ? sites_.number(r.from) : 0);
        }
        const auto add = [&](std::size_t channel, std::size_t row, std::uint64_t invocation, std::int64_t bytes,
                             time_ns arrival, time_ns exit) {
            const dropin::part_row& r = p->channels[channel].rows[row];
            const time_ns came = p->to_common(arrival) - begin_;
            out.push_back({came, came + (exit - arrival), bytes, invocation, communicators[channel],
                           places[channel][row], r.root, r.what, r.how});
        };
        if (p->every_call) {
            out.reserve(p->calls.size());
            for (const dropin::part_call& c : p->calls) add(c.channel, c.row, c.invocation, c.bytes, c.arrival, c.exit);
        } else {
            for (std::size_t i = 0; i < p->channels.size(); ++i)
                for (const dropin::part_event& e : p->channels[i].events) {
                    const dropin::part_row& r = p->channels[i].rows[e.row];
                    add(i, e.row, e.invocation, r.bytes / static_cast<std::int64_t>(r.calls), e.arrival, e.exit);
                }
        }
        std::ranges::stable_sort(out, {}, &traced_call::arrival);
        return out;
    }

private:
    std::map<std::int32_t, fs::path> files_;
    numbered<communicator_key> communicators_{};
    numbered<dropin::site> sites_{};
    time_ns begin_{};
};

/// From an observation: examples of each row.
trace trace_of_samples(const dropin::observation& o) {
    trace t;
    t.program = o.program;
    t.library = o.library;
    t.hosts = o.hosts;
    t.ended = o.ended;
    t.calls = t.missing = o.lost;
    t.places = place_texts(o.sites);
    for (const dropin::communicator& c : o.communicators) t.communicators.push_back({c.members, 0});
    std::vector<std::vector<traced_call>> calls(t.hosts.size());
    time_ns begin = time_ns::max();
    for (const dropin::row& r : o.rows)
        if (r.seen)
            for (const dropin::invocation& i : r.seen->examples) begin = std::min(begin, i.at);
    for (const dropin::row& r : o.rows) {
        const std::vector<std::int32_t>& members = o.communicators[r.communicator].members;
        t.calls += r.calls * static_cast<std::uint64_t>(r.callers);
        t.missing += r.calls * static_cast<std::uint64_t>(r.callers);
        if (!r.seen) continue;
        for (const dropin::invocation& i : r.seen->examples)
            for (std::size_t m = 0; m < members.size(); ++m) {
                if (members[m] < 0 || members[m] >= t.ranks()) continue;
                calls[static_cast<std::size_t>(members[m])].push_back(
                    {i.at - begin + i.arrivals[m], i.at - begin + i.exits[m], r.bytes, i.number,
                     static_cast<std::uint32_t>(r.communicator), static_cast<std::uint32_t>(r.site), r.root, r.what,
                     r.how});
            }
    }
    for (auto& of_rank : calls) {
        std::ranges::stable_sort(of_rank, {}, &traced_call::arrival);
        // An invocation whose ranks called from several places is an example of each of them.
        const auto same = [](const traced_call& a, const traced_call& b) {
            return a.arrival == b.arrival && a.communicator == b.communicator && a.invocation == b.invocation;
        };
        of_rank.erase(std::unique(of_rank.begin(), of_rank.end(), same), of_rank.end());
        t.missing -= std::min<std::uint64_t>(t.missing, of_rank.size());
    }
    t.keep(std::move(calls));
    return t;
}

/// What one rank did, as its recorder would have kept it; but with the times of all calls.
dropin::part part_of_rank(const trace& t, std::int32_t rank) {
    dropin::part p;
    p.who = {rank, t.ranks(), t.program, t.hosts[static_cast<std::size_t>(rank)], t.library};
    p.clock.push_back({});                          // all times are on one clock
    std::map<std::uint32_t, std::size_t> channels;  // by communicator
    using row_key = std::tuple<std::size_t, std::uint32_t, collective, dropin::form, std::int32_t, std::uint8_t>;
    std::map<row_key, std::size_t> rows;
    for (const traced_call& c : t.calls_of(rank)) {
        const auto [where, new_channel] = channels.emplace(c.communicator, p.channels.size());
        if (new_channel) {
            const traced_communicator& of = t.communicators[c.communicator];
            dropin::part_channel& made = p.channels.emplace_back();
            made.members = of.members;
            made.ordinal = of.ordinal;
        }
        dropin::part_channel& channel = p.channels[where->second];
        const std::uint8_t size_class = dropin::size_class_of(c.bytes);
        const auto [row, new_row] =
            rows.emplace(row_key{where->second, c.place, c.what, c.how, c.root, size_class}, channel.rows.size());
        if (new_row) {
            dropin::part_row& made = channel.rows.emplace_back();
            made.from.symbol = t.places[c.place];
            made.what = c.what;
            made.how = c.how;
            made.root = c.root;
            made.size_class = size_class;
        }
        dropin::part_row& sums = channel.rows[row->second];
        ++sums.calls;
        sums.bytes += c.bytes;
        sums.time += c.exit - c.arrival;
        ++channel.calls;
        if (c.invocation != dropin::no_invocation)
            channel.events.push_back({c.invocation, row->second, c.arrival, c.exit});
    }
    for (dropin::part_channel& c : p.channels) std::ranges::stable_sort(c.events, {}, &dropin::part_event::invocation);
    return p;
}

}  // namespace

trace read_trace(const fs::path& file) {
    const dropin::observation o = dropin::read(file);
    const fs::path folder = o.ended ? dropin::calls_folder(file) : dropin::parts_named(file);
    if (o.ended && !o.every_call) return trace_of_samples(o);
    auto from = std::make_shared<trace_of_parts>(rank_files(folder));
    trace t;
    from->describe(t);
    if (t.hosts.empty())
        throw error(fmt::format("'{}' holds no calls", folder.string()),
                    "the program kept every call, and they were moved or removed",
                    "put the folder beside the file again, or observe the program again");
    t.ended = o.ended;
    t.calls_of = [from](std::int32_t rank) { return from->calls_of(rank); };
    return t;
}

void trace::keep(std::vector<std::vector<traced_call>> by_rank) {
    for (auto& of_rank : by_rank) std::ranges::stable_sort(of_rank, {}, &traced_call::arrival);
    calls_of = [all = std::make_shared<const std::vector<std::vector<traced_call>>>(std::move(by_rank))](
                   std::int32_t rank) { return (*all)[static_cast<std::size_t>(rank)]; };
}

std::string function_of(collective what, dropin::form how) {
    std::string name(traits(what).name);
    name.front() = static_cast<char>(name.front() - 'a' + 'A');
    if (how == dropin::form::nonblocking) return fmt::format("MPI_I{}", traits(what).name);
    return fmt::format("MPI_{}{}", name, how == dropin::form::persistent ? "_init" : "");
}

dropin::observation observe_trace(const trace& t) {
    std::vector<dropin::part> parts;
    for (std::int32_t r = 0; r < t.ranks(); ++r) parts.push_back(part_of_rank(t, r));
    dropin::observation o = dropin::summarise(parts);
    o.mode = "imported";
    return o;
}

}  // namespace rubato::reports
