#include "cli/observed_traffic.hpp"

#include "observe/observation.hpp"
#include "simulate/at_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

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
    for (const observe::row& call : seen.rows) {
        const observe::communicator& group = seen.communicators[call.communicator];
        const auto h = std::ranges::find(habits, call.what, &habit::what);
        if (h == habits.end() || group.members.size() < 2) continue;  // the neighbours are not in the file
        topology::traffic all = traffic_of_call(*h, call, static_cast<std::int32_t>(group.members.size()));
        for (topology::round& each : all.rounds) {
            for (topology::message& m : each.messages) {
                m.from = static_cast<std::uint32_t>(group.members[m.from]);
                m.to = static_cast<std::uint32_t>(group.members[m.to]);
            }
            each.times *= call.calls;
            found.messages.add(std::move(each));
        }
    }
    if (found.messages.rounds.empty())
        throw error(fmt::format("'{}' has no messages", file), "no collective among several ranks was observed in it",
                    "observe another program, or name an algorithm");
    return found;
}

}  // namespace rubato::cli
