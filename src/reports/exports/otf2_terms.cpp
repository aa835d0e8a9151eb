#include "reports/exports/otf2_terms.hpp"

#include <otf2/OTF2_ErrorCodes.h>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdarg>
#include <cstdio>
#include <string>

namespace rubato::reports {
namespace {

/// How often a rank gives or gets.
enum class how_often {
    never,
    once,
    per_rank,
    per_rank_at_root,
    to_this_and_later,
    to_later,
    from_this_and_earlier,
    from_earlier
};

struct otf2_terms {
    collective what;
    std::optional<OTF2_CollectiveOp> operation;
    how_often sent = how_often::never;
    how_often received = how_often::never;
};

namespace table_of_terms {
using enum collective;
using enum how_often;
constexpr std::array rows{
    otf2_terms{barrier, OTF2_COLLECTIVE_OP_BARRIER},
    otf2_terms{bcast, OTF2_COLLECTIVE_OP_BCAST, per_rank_at_root, once},
    otf2_terms{reduce, OTF2_COLLECTIVE_OP_REDUCE, once, per_rank_at_root},
    otf2_terms{allreduce, OTF2_COLLECTIVE_OP_ALLREDUCE, per_rank, per_rank},
    otf2_terms{scatter, OTF2_COLLECTIVE_OP_SCATTER, per_rank_at_root, once},
    otf2_terms{gather, OTF2_COLLECTIVE_OP_GATHER, once, per_rank_at_root},
    otf2_terms{allgather, OTF2_COLLECTIVE_OP_ALLGATHER, per_rank, per_rank},
    otf2_terms{alltoall, OTF2_COLLECTIVE_OP_ALLTOALL, per_rank, per_rank},
    otf2_terms{reduce_scatter_block, OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK, per_rank, per_rank},
    otf2_terms{scan, OTF2_COLLECTIVE_OP_SCAN, to_this_and_later, from_this_and_earlier},
    otf2_terms{exscan, OTF2_COLLECTIVE_OP_EXSCAN, to_later, from_earlier},
    otf2_terms{scatterv, OTF2_COLLECTIVE_OP_SCATTERV, per_rank_at_root, once},
    otf2_terms{gatherv, OTF2_COLLECTIVE_OP_GATHERV, once, per_rank_at_root},
    otf2_terms{allgatherv, OTF2_COLLECTIVE_OP_ALLGATHERV, per_rank, per_rank},
    otf2_terms{alltoallv, OTF2_COLLECTIVE_OP_ALLTOALLV, once, once},
    otf2_terms{reduce_scatter, OTF2_COLLECTIVE_OP_REDUCE_SCATTER, once, once},
    otf2_terms{neighbor_allgather, std::nullopt},
    otf2_terms{neighbor_alltoall, std::nullopt},
    otf2_terms{neighbor_allgatherv, std::nullopt},
    otf2_terms{neighbor_alltoallv, std::nullopt},
    otf2_terms{neighbor_reduce, std::nullopt},
};
static_assert(std::ranges::equal(rows, collectives(), {}, &otf2_terms::what, &collective_traits::what));
}  // namespace table_of_terms

constexpr const otf2_terms& terms_of(collective what) { return table_of_terms::rows[static_cast<std::size_t>(what)]; }

std::uint64_t times_of(how_often how, std::uint64_t ranks, std::uint64_t me, bool root) {
    switch (how) {
        case how_often::never: return 0;
        case how_often::once: return 1;
        case how_often::per_rank: return ranks;
        case how_often::per_rank_at_root: return root ? ranks : 0;
        case how_often::to_this_and_later: return ranks - me;
        case how_often::to_later: return ranks - me - 1;
        case how_often::from_this_and_earlier: return me + 1;
        case how_often::from_earlier: return me;
    }
    return 0;
}

std::string first_error;

OTF2_ErrorCode keep_first(void*, const char*, std::uint64_t, const char*, OTF2_ErrorCode code, const char* format,
                          va_list values) {
    if (!first_error.empty()) return code;
    std::array<char, 512> text{};
    std::vsnprintf(text.data(), text.size(), format, values);
    first_error = fmt::format("{}: {}", OTF2_Error_GetDescription(code), text.data());
    return code;
}

}  // namespace

std::optional<OTF2_CollectiveOp> otf2_operation(collective what) { return terms_of(what).operation; }

std::optional<collective> from_otf2(OTF2_CollectiveOp op) {
    if (op == OTF2_COLLECTIVE_OP_ALLTOALLW) return collective::alltoallv;
    for (const otf2_terms& t : table_of_terms::rows)
        if (t.operation == op) return t.what;
    return std::nullopt;
}

times_counted otf2_times(collective what, std::int32_t ranks, std::int32_t rank, bool root) {
    const otf2_terms& t = terms_of(what);
    const auto n = static_cast<std::uint64_t>(ranks);
    const auto me = static_cast<std::uint64_t>(rank);
    return {times_of(t.sent, n, me, root), times_of(t.received, n, me, root)};
}

otf2_listener::otf2_listener() {
    first_error.clear();
    OTF2_Error_RegisterCallback(keep_first, nullptr);
}
otf2_listener::~otf2_listener() { OTF2_Error_RegisterCallback(nullptr, nullptr); }

void otf2_failed(std::string_view what) {
    throw error(fmt::format("OTF2: {}", what), first_error.empty() ? "the library refuses it" : first_error,
                "check the place, and the room on its disk");
}

}  // namespace rubato::reports
