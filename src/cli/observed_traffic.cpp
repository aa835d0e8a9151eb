#include "cli/observed_traffic.hpp"

#include "observe/observation.hpp"
#include "simulate/at_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace rubato::cli {
namespace {

/// What MPI libraries use for small and for large vectors or chunks, for any number of ranks.
struct habit {
    collective what;
    std::string_view small;
    std::string_view large;
};
constexpr std::int64_t is_large = 16384;
constexpr std::array habits{
    habit{collective::barrier, "barrier/dissemination", "barrier/dissemination"},
    habit{collective::bcast, "bcast/binomial", "bcast/scatter_ring"},
    habit{collective::reduce, "reduce/binomial", "reduce/binomial"},
    habit{collective::allreduce, "allreduce/recursive_doubling", "allreduce/ring"},
    habit{collective::scatter, "scatter/binomial", "scatter/linear"},
    habit{collective::gather, "gather/binomial", "gather/linear"},
    habit{collective::allgather, "allgather/bruck", "allgather/ring"},
    habit{collective::alltoall, "alltoall/bruck", "alltoall/pairwise"},
    habit{collective::reduce_scatter_block, "reduce_scatter_block/halving", "reduce_scatter_block/ring"},
    habit{collective::scan, "scan/recursive_doubling", "scan/recursive_doubling"},
    habit{collective::exscan, "exscan/recursive_doubling", "exscan/recursive_doubling"},
    habit{collective::scatterv, "scatterv/linear", "scatterv/linear"},
    habit{collective::gatherv, "gatherv/linear", "gatherv/linear"},
    habit{collective::allgatherv, "allgatherv/ring", "allgatherv/ring"},
    habit{collective::alltoallv, "alltoallv/pairwise", "alltoallv/pairwise"},
    habit{collective::reduce_scatter, "reduce_scatter/halving", "reduce_scatter/ring"},
};

using ranks_of_world = std::vector<std::int32_t>;

/// Calls that count as one: ranks may make a call from several places, and each place has a row.
struct counted_calls {
    const habit* how;
    const observe::row* first;
    double calls;
    std::vector<const ranks_of_world*> on;  ///< communicators that make them at the same time
};

std::vector<counted_calls> count_calls(const observe::observation& seen) {
    std::vector<counted_calls> all;
    for (const observe::row& r : seen.rows) {
        const ranks_of_world& members = seen.communicators[r.communicator].members;
        const auto h = std::ranges::find(habits, r.what, &habit::what);
        if (h == habits.end() || members.size() < 2) continue;  // the neighbours are not in the file
        const auto same = std::ranges::find_if(all, [&r](const counted_calls& c) {
            return c.first->communicator == r.communicator && c.first->what == r.what && c.first->root == r.root &&
                   c.first->bytes == r.bytes;
        });
        const double calls = static_cast<double>(r.calls) * r.callers / static_cast<double>(members.size());
        if (same != all.end())
            same->calls += calls;
        else
            all.push_back({&*h, &r, calls, {&members}});
    }
    return all;
}

bool apart(const ranks_of_world& a, const ranks_of_world& b) {
    return std::ranges::none_of(a, [&b](std::int32_t r) { return std::ranges::find(b, r) != b.end(); });
}

/// Communicators without common ranks, such as the rows of a grid, that make the same calls from one place: they do so
/// at the same time.
std::vector<counted_calls> put_together(std::vector<counted_calls> calls) {
    std::vector<counted_calls> all;
    for (counted_calls& c : calls) {
        const auto same = std::ranges::find_if(all, [&c](const counted_calls& other) {
            const observe::row& a = *c.first;
            const observe::row& b = *other.first;
            return a.site == b.site && a.what == b.what && a.root == b.root && a.bytes == b.bytes &&
                   c.calls == other.calls && c.on.front()->size() == other.on.front()->size() &&
                   std::ranges::all_of(other.on, [&c](const ranks_of_world* g) { return apart(*g, *c.on.front()); });
        });
        if (same != all.end())
            same->on.push_back(c.on.front());
        else
            all.push_back(std::move(c));
    }
    return all;
}

topology::traffic traffic_of_call(const habit& h, const observe::row& call, std::int32_t ranks) {
    problem p;
    p.what = call.what;
    p.ranks = ranks;
    p.root = rank(call.root);
    p.arrivals.assign(static_cast<std::size_t>(ranks), time_ns{});
    const std::int64_t chunk = traits(p.what).irregular ? call.bytes / ranks : call.bytes;
    const algorithm* use = &find_algorithm(chunk < is_large ? h.small : h.large);
    if (unmet_need(*use, p)) use = &find_algorithm(h.large);
    const layout sizes = layout::uniform(chunk);
    shape_table shapes = shapes_of(*use, p, std::span(&sizes, 1));
    return topology::traffic_of(shapes);
}

}  // namespace

named_traffic observed_traffic(const std::string& file) {
    const observe::observation seen = observe::read(file);
    named_traffic found{fmt::format("file:{}", file), {static_cast<std::uint32_t>(seen.ranks), {}}, 1, {}};
    for (const counted_calls& c : put_together(count_calls(seen))) {
        const topology::traffic one =
            traffic_of_call(*c.how, *c.first, static_cast<std::int32_t>(c.on.front()->size()));
        for (const topology::round& each : one.rounds) {
            topology::round at_once;
            at_once.times = each.times * static_cast<std::uint64_t>(std::max<std::int64_t>(std::llround(c.calls), 1));
            for (const ranks_of_world* members : c.on)
                for (const topology::message& m : each.messages)
                    at_once.messages.push_back({static_cast<std::uint32_t>((*members)[m.from]),
                                                static_cast<std::uint32_t>((*members)[m.to]), m.bytes});
            found.messages.add(std::move(at_once));
        }
    }
    if (found.messages.rounds.empty())
        throw error(fmt::format("'{}' has no messages", file), "no collective among several ranks was observed in it",
                    "observe another program, or name an algorithm");
    return found;
}

}  // namespace rubato::cli
