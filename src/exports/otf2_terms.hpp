// Collectives as OTF2 has them. The bytes of a call are those that this rank gives and gets, as Score-P counts them.
#pragma once

#include "rubato/problem.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <utility>

#include <otf2/OTF2_Events.h>

namespace rubato::exports {

inline constexpr std::array otf2_operations{
    std::pair{collective::barrier, OTF2_COLLECTIVE_OP_BARRIER},
    std::pair{collective::bcast, OTF2_COLLECTIVE_OP_BCAST},
    std::pair{collective::gather, OTF2_COLLECTIVE_OP_GATHER},
    std::pair{collective::gatherv, OTF2_COLLECTIVE_OP_GATHERV},
    std::pair{collective::scatter, OTF2_COLLECTIVE_OP_SCATTER},
    std::pair{collective::scatterv, OTF2_COLLECTIVE_OP_SCATTERV},
    std::pair{collective::allgather, OTF2_COLLECTIVE_OP_ALLGATHER},
    std::pair{collective::allgatherv, OTF2_COLLECTIVE_OP_ALLGATHERV},
    std::pair{collective::alltoall, OTF2_COLLECTIVE_OP_ALLTOALL},
    std::pair{collective::alltoallv, OTF2_COLLECTIVE_OP_ALLTOALLV},
    std::pair{collective::alltoallv, OTF2_COLLECTIVE_OP_ALLTOALLW},
    std::pair{collective::allreduce, OTF2_COLLECTIVE_OP_ALLREDUCE},
    std::pair{collective::reduce, OTF2_COLLECTIVE_OP_REDUCE},
    std::pair{collective::reduce_scatter, OTF2_COLLECTIVE_OP_REDUCE_SCATTER},
    std::pair{collective::scan, OTF2_COLLECTIVE_OP_SCAN},
    std::pair{collective::exscan, OTF2_COLLECTIVE_OP_EXSCAN},
    std::pair{collective::reduce_scatter_block, OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK},
};

/// Nothing: OTF2 does not know it.
inline std::optional<OTF2_CollectiveOp> otf2_operation(collective what) {
    for (const auto& [ours, theirs] : otf2_operations)
        if (ours == what) return static_cast<OTF2_CollectiveOp>(theirs);
    return std::nullopt;
}
inline std::optional<collective> from_otf2(OTF2_CollectiveOp op) {
    for (const auto& [ours, theirs] : otf2_operations)
        if (theirs == op) return ours;
    return std::nullopt;
}

/// How often a rank gives and gets what `seen::bytes` counts.
struct times_counted {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
};
inline times_counted otf2_times(collective what, std::int32_t ranks, std::int32_t rank, bool root) {
    const auto n = static_cast<std::uint64_t>(ranks);
    const auto me = static_cast<std::uint64_t>(rank);
    const auto if_root = [root](std::uint64_t times) { return root ? times : std::uint64_t{0}; };
    switch (what) {
        case collective::bcast: return {if_root(n), 1};
        case collective::reduce:
        case collective::gather:
        case collective::gatherv: return {1, if_root(n)};
        case collective::scatter:
        case collective::scatterv: return {if_root(n), 1};
        case collective::allreduce:
        case collective::allgather:
        case collective::allgatherv:
        case collective::alltoall:
        case collective::reduce_scatter_block: return {n, n};
        case collective::alltoallv:
        case collective::reduce_scatter: return {1, 1};
        case collective::scan: return {n - me, me + 1};
        case collective::exscan: return {n - me - 1, me};
        default: return {};
    }
}

}  // namespace rubato::exports
