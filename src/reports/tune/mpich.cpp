// MPICH 4.0: a selection file is a tree of conditions with algorithms as leaves. It takes the place of MPICH's own, so
// it must cover every collective and every case, also those that are not tuned. The first condition that holds is
// followed, and there is no way back.
//
// Left out: collectives of which MPICH has one algorithm of ours, or none.
#include "base/files/json.hpp"
#include "reports/tune/library.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

namespace rubato::reports {
namespace {

/// What MPICH 4.0 does by itself, where no tuned rule holds: a line for cases that share collectives and conditions,
/// each with its other conditions, in MPICH's words, and the algorithm. "intra" and "inter" are kinds of communicators.
/// The name of an algorithm begins with those of its collective and kind, unless it has a kind of its own.
constexpr std::string_view mpich_own =
    R"(bcast intra comm_size<8 comm_hierarchy=parent: avg_msg_size<=0 smp | avg_msg_size=any binomial
bcast intra comm_size<8 comm_hierarchy=any avg_msg_size=any: binomial
bcast intra comm_size=pow2 comm_hierarchy=parent: avg_msg_size<=0 smp | avg_msg_size<=12288 binomial
bcast intra comm_size=pow2 comm_hierarchy=parent avg_msg_size<=524288: scatter_recursive_doubling_allgather
bcast intra comm_size=pow2 comm_hierarchy=parent avg_msg_size=any: scatter_ring_allgather
bcast intra comm_size=pow2 comm_hierarchy=any avg_msg_size<=12288: binomial
bcast intra comm_size=pow2 comm_hierarchy=any avg_msg_size<=524288: scatter_recursive_doubling_allgather
bcast intra comm_size=pow2 comm_hierarchy=any avg_msg_size=any: scatter_ring_allgather
bcast intra comm_size=any comm_hierarchy=parent: avg_msg_size<=0 smp | avg_msg_size<=12288 binomial
bcast intra comm_size=any comm_hierarchy=parent avg_msg_size=any: scatter_ring_allgather
bcast intra comm_size=any comm_hierarchy=any: avg_msg_size<=12288 binomial | avg_msg_size=any scatter_ring_allgather
bcast inter: remote_send_local_bcast
allreduce intra avg_msg_size<=0: is_commutative=yes smp | is_commutative=no recursive_doubling
allreduce intra: avg_msg_size<=8 recursive_doubling | avg_msg_size=any is_op_built_in=no recursive_doubling
allreduce intra avg_msg_size=any is_op_built_in=yes count<pow2: recursive_doubling
allreduce: intra avg_msg_size=any is_op_built_in=yes count=any reduce_scatter_allgather | inter reduce_exchange_bcast
allgather intra comm_size=pow2: total_msg_size<524288 recursive_doubling | total_msg_size=any ring
allgather intra comm_size=any: total_msg_size<81920 brucks | total_msg_size=any ring
allgather inter: local_gather_remote_bcast
allgatherv intra comm_size=pow2: total_msg_size<524288 recursive_doubling | total_msg_size=any ring
allgatherv intra comm_size=any: total_msg_size<81920 brucks | total_msg_size=any ring
allgatherv inter: remote_gather_local_bcast
reduce intra comm_hierarchy=parent avg_msg_size<=0: is_commutative=yes smp | is_commutative=no binomial
reduce intra comm_hierarchy=parent avg_msg_size<=2048: binomial
reduce intra comm_hierarchy=parent avg_msg_size=any is_op_built_in=yes count<pow2: binomial
reduce intra comm_hierarchy=parent avg_msg_size=any is_op_built_in=yes count=any: reduce_scatter_gather
reduce intra comm_hierarchy=parent avg_msg_size=any is_op_built_in=no: binomial
reduce intra comm_hierarchy=any avg_msg_size<=2048: binomial
reduce intra comm_hierarchy=any avg_msg_size=any is_op_built_in=yes count<pow2: binomial
reduce intra comm_hierarchy=any avg_msg_size=any is_op_built_in=yes count=any: reduce_scatter_gather
reduce: intra comm_hierarchy=any avg_msg_size=any is_op_built_in=no binomial | inter local_reduce_remote_send
reduce_scatter intra is_commutative=yes: total_msg_size<524288 recursive_halving | total_msg_size=any pairwise
reduce_scatter intra is_commutative=no is_block_regular=yes comm_size=pow2: noncommutative
reduce_scatter intra is_commutative=no is_block_regular=yes comm_size=any: recursive_doubling
reduce_scatter: intra is_commutative=no is_block_regular=no recursive_doubling | inter remote_reduce_local_scatter
reduce_scatter_block intra is_commutative=yes: total_msg_size<524288 recursive_halving | total_msg_size=any pairwise
reduce_scatter_block intra is_commutative=no: comm_size=pow2 noncommutative | comm_size=any recursive_doubling
reduce_scatter_block inter: remote_reduce_local_scatter
gather: intra binomial | inter total_msg_size<2048 local_gather_remote_send | inter total_msg_size=any linear
scatter: intra binomial | inter total_msg_size<2048 remote_send_local_scatter | inter total_msg_size=any linear
gatherv,scatterv: allcomm_linear
scan: intra is_node_consecutive=yes smp | intra is_node_consecutive=no recursive_doubling | inter intra_smp
exscan: intra_recursive_doubling
barrier: intra comm_hierarchy=parent smp | intra comm_hierarchy=any dissemination | inter bcast
alltoall intra is_sendbuf_inplace=yes: pairwise_sendrecv_replace
alltoall intra is_sendbuf_inplace=no comm_size<8: avg_msg_size<=32768 scattered | avg_msg_size=any pairwise
alltoall intra is_sendbuf_inplace=no comm_size=any: avg_msg_size<=256 brucks | avg_msg_size<=32768 scattered
alltoall: intra is_sendbuf_inplace=no comm_size=any avg_msg_size=any pairwise | inter pairwise_exchange
alltoallv,alltoallw intra: is_sendbuf_inplace=yes pairwise_sendrecv_replace | is_sendbuf_inplace=no scattered
alltoallv,alltoallw inter: pairwise_exchange
neighbor_allgather,neighbor_allgatherv,neighbor_alltoall,neighbor_alltoallv,neighbor_alltoallw: allcomm_nb
ibarrier: intra sched_recursive_doubling | inter sched_bcast
iallreduce intra avg_msg_size<=2048: sched_recursive_doubling
iallreduce intra avg_msg_size=any is_op_built_in=no: sched_recursive_doubling
iallreduce intra avg_msg_size=any is_op_built_in=yes count<pow2: sched_recursive_doubling
iallreduce intra avg_msg_size=any is_op_built_in=yes count=any: sched_reduce_scatter_allgather
iallreduce inter: sched_remote_reduce_local_bcast
iallgather intra comm_size=pow2: total_msg_size<524288 sched_recursive_doubling | total_msg_size=any sched_ring
iallgather intra comm_size=any: total_msg_size<81920 sched_brucks | total_msg_size=any sched_ring
iallgather inter: sched_local_gather_remote_bcast
iallgatherv intra comm_size=pow2: total_msg_size<524288 sched_recursive_doubling | total_msg_size=any sched_ring
iallgatherv intra comm_size=any: total_msg_size<81920 sched_brucks | total_msg_size=any sched_ring
iallgatherv inter: sched_remote_gather_local_bcast
ibcast intra: comm_hierarchy=parent sched_smp | comm_hierarchy=any comm_size<8 avg_msg_size=any sched_binomial
ibcast intra comm_hierarchy=any comm_size=pow2 avg_msg_size<12288: sched_binomial
ibcast intra comm_hierarchy=any comm_size=pow2 avg_msg_size<524288: sched_scatter_recursive_doubling_allgather
ibcast intra comm_hierarchy=any comm_size=pow2 avg_msg_size=any: sched_scatter_ring_allgather
ibcast intra comm_hierarchy=any comm_size=any avg_msg_size<12288: sched_binomial
ibcast: intra comm_hierarchy=any comm_size=any avg_msg_size=any sched_scatter_ring_allgather | inter sched_flat
ireduce intra comm_hierarchy=parent: is_commutative=yes sched_smp | is_commutative=no sched_binomial
ireduce intra comm_hierarchy=any avg_msg_size<=2048: sched_binomial
ireduce intra comm_hierarchy=any avg_msg_size=any is_op_built_in=yes count<pow2: sched_binomial
ireduce intra comm_hierarchy=any avg_msg_size=any is_op_built_in=yes count=any: sched_reduce_scatter_gather
ireduce intra comm_hierarchy=any avg_msg_size=any is_op_built_in=no: sched_binomial
ireduce inter: sched_local_reduce_remote_send
ireduce_scatter intra is_commutative=yes total_msg_size<524288: sched_recursive_halving
ireduce_scatter intra is_commutative=yes total_msg_size=any: sched_pairwise
ireduce_scatter intra is_commutative=no is_block_regular=yes comm_size=pow2: sched_noncommutative
ireduce_scatter intra is_commutative=no is_block_regular=yes comm_size=any: sched_recursive_doubling
ireduce_scatter intra is_commutative=no is_block_regular=no: sched_recursive_doubling
ireduce_scatter inter: sched_remote_reduce_local_scatterv
igather: intra sched_binomial | inter total_msg_size<2048 sched_short | inter total_msg_size=any sched_long
iscatter intra: sched_binomial
iscatter inter: total_msg_size<2048 sched_remote_send_local_scatter | total_msg_size=any sched_linear
igatherv,iscatterv: allcomm_sched_linear
iexscan: intra_sched_recursive_doubling
ialltoall intra is_sendbuf_inplace=yes: sched_inplace
ialltoall intra is_sendbuf_inplace=no comm_size<8 avg_msg_size<=32768: sched_permuted_sendrecv
ialltoall intra is_sendbuf_inplace=no comm_size<8 avg_msg_size=any: sched_pairwise
ialltoall intra is_sendbuf_inplace=no comm_size=any avg_msg_size<=2048: sched_brucks
ialltoall intra is_sendbuf_inplace=no comm_size=any avg_msg_size<=32768: sched_permuted_sendrecv
ialltoall: intra is_sendbuf_inplace=no comm_size=any avg_msg_size=any sched_pairwise | inter sched_pairwise_exchange
ialltoallv,ialltoallw intra: is_sendbuf_inplace=yes sched_inplace | is_sendbuf_inplace=no sched_blocked
ialltoallv,ialltoallw inter: sched_pairwise_exchange
ireduce_scatter_block intra is_commutative=yes total_msg_size<524288: sched_recursive_halving
ireduce_scatter_block intra is_commutative=yes total_msg_size=any: sched_pairwise
ireduce_scatter_block intra is_commutative=no comm_size=pow2: sched_noncommutative
ireduce_scatter_block intra is_commutative=no comm_size=any: sched_recursive_doubling
ireduce_scatter_block inter: sched_remote_reduce_local_scatterv
iscan: comm_hierarchy=parent intra_sched_smp | comm_hierarchy=any intra_sched_recursive_doubling
ineighbor_allgather,ineighbor_allgatherv,ineighbor_alltoall,ineighbor_alltoallv,ineighbor_alltoallw: allcomm_sched_linear)";

struct own_case {
    std::string_view of;  ///< the collective
    std::vector<std::string_view> conditions{};
    std::string native{};  ///< the algorithm, without MPIR_
};

bool is_kind(std::string_view condition) { return condition == "intra" || condition == "inter"; }

/// In MPICH's order.
std::vector<own_case> own_cases() {
    std::vector<own_case> all;
    for (std::string_view lines = mpich_own; !lines.empty();) {
        std::string_view cases = take(lines, "\n");
        std::string_view shared = take(cases, ": ");
        for (std::string_view names = take(shared, " "); !names.empty();) {
            const std::string_view collective = take(names, ",");
            for (std::string_view rest = cases; !rest.empty();) {
                own_case& c = all.emplace_back(own_case{collective});
                for (std::string_view words : {shared, take(rest, " | ")})
                    while (!words.empty()) c.conditions.push_back(take(words, " "));
                const std::string_view algorithm = c.conditions.back();
                c.conditions.pop_back();
                const bool by_kind = !c.conditions.empty() && is_kind(c.conditions.front());
                const std::string kind =
                    by_kind && !algorithm.starts_with("intra_") ? fmt::format("{}_", c.conditions.front()) : "";
                c.native = fmt::format("{}_{}{}", collective, kind, algorithm);
                c.native.front() = static_cast<char>(c.native.front() - 'a' + 'A');
            }
        }
    }
    return all;
}

/// On hosts with a rank each, for operators of MPI and numbers of eight bytes.
bool holds(std::string_view condition, std::int32_t ranks, std::int64_t chunk, std::int64_t bytes) {
    const std::size_t end = condition.find_first_of("<=");
    const std::string_view name = condition.substr(0, end);
    std::string_view value = condition.substr(std::min(end, condition.size()));
    if (value == "=any") return true;
    if (name == "intra") return true;
    if (name == "inter" || name == "comm_hierarchy") return false;
    if (name == "is_sendbuf_inplace") return value == "=no";
    if (name.starts_with("is_")) return value == "=yes";
    if (name == "count") return bytes / 8 < floor_power_of_two(ranks);
    if (value == "=pow2") return is_power_of_two(ranks);
    const std::int64_t is = name == "comm_size" ? ranks : name == "avg_msg_size" ? chunk : bytes;
    const bool or_equal = value.starts_with("<=");
    const std::int64_t limit = parse_bytes(value.substr(or_equal ? 2 : 1));
    return is < limit || (or_equal && is == limit);
}

/// Conditions in the order in which MPICH tries them.
using mpich_tree = base::json;

mpich_tree mpich_leaf(std::string_view native) {
    mpich_tree leaf;
    leaf[fmt::format("algorithm=MPIR_{}", native)] = mpich_tree::object();
    return leaf;
}

/// All collectives.
mpich_tree mpich_own_trees() {
    mpich_tree all;
    for (const own_case& c : own_cases()) {
        mpich_tree* at = &all[fmt::format("collective={}", c.of)];
        for (const std::string_view w : c.conditions)
            at = &(*at)[is_kind(w) ? fmt::format("comm_type={}", w) : std::string(w)];
        *at = mpich_leaf(c.native);
    }
    return all;
}

/// Where the algorithms of a collective for intra-communicators begin.
mpich_tree& mpich_tuned_place(mpich_tree& all, collective what) {
    mpich_tree& intra = all[fmt::format("collective={}", traits(what).name)]["comm_type=intra"];
    return what == collective::alltoall ? intra["is_sendbuf_inplace=no"] : intra;
}

/// Empty if the collective is not known.
std::string mpich_own_choice(collective what, std::int32_t ranks, std::int64_t bytes) {
    const std::int64_t chunk = bytes / traits(what).sized_chunks(ranks);
    for (const own_case& c : own_cases())
        if (c.of == traits(what).name &&
            std::ranges::all_of(c.conditions, [&](std::string_view w) { return holds(w, ranks, chunk, bytes); }))
            return c.native;
    return "";
}

struct mpich_algorithm {
    std::string_view id;
    std::string_view native;
    bool power_of_two = false;
    std::string_view otherwise{};  ///< set: it needs an operator of MPI and an element for each rank, else this is used
};

constexpr std::array in_mpich{
    mpich_algorithm{"allgather/bruck", "Allgather_intra_brucks"},
    mpich_algorithm{"allgather/recursive_doubling", "Allgather_intra_recursive_doubling", true},
    mpich_algorithm{"allgather/ring", "Allgather_intra_ring"},
    mpich_algorithm{"allreduce/recursive_doubling", "Allreduce_intra_recursive_doubling"},
    mpich_algorithm{"allreduce/rabenseifner", "Allreduce_intra_reduce_scatter_allgather", false,
                    "Allreduce_intra_recursive_doubling"},
    mpich_algorithm{"alltoall/bruck", "Alltoall_intra_brucks"},
    mpich_algorithm{"alltoall/direct", "Alltoall_intra_scattered"},
    mpich_algorithm{"alltoall/pairwise", "Alltoall_intra_pairwise"},
    mpich_algorithm{"bcast/binomial", "Bcast_intra_binomial"},
    mpich_algorithm{"bcast/scatter_allgather", "Bcast_intra_scatter_recursive_doubling_allgather", true},
    mpich_algorithm{"bcast/scatter_ring", "Bcast_intra_scatter_ring_allgather"},
    mpich_algorithm{"reduce/binomial", "Reduce_intra_binomial"},
    mpich_algorithm{"reduce/butterfly", "Reduce_intra_reduce_scatter_gather", false, "Reduce_intra_binomial"},
};

const mpich_algorithm& same_as(const algorithm& a) { return *std::ranges::find(in_mpich, a.id, &mpich_algorithm::id); }

/// What MPICH's conditions call the size of a message: the chunk, or the buffer with a chunk for each rank.
std::string_view size_name(collective what) {
    return what == collective::allgather ? "total_msg_size" : "avg_msg_size";
}

/// A leaf, or the branches that an algorithm needs.
mpich_tree branch(const mpich_algorithm& a) {
    if (a.otherwise.empty()) return mpich_leaf(a.native);
    mpich_tree built_in;
    built_in["count<pow2"] = mpich_leaf(a.otherwise);
    built_in["count=any"] = mpich_leaf(a.native);
    mpich_tree all;
    all["is_op_built_in=yes"] = built_in;
    all["is_op_built_in=no"] = mpich_leaf(a.otherwise);
    return all;
}

mpich_tree by_message_size(const size_rules& r, const mpich_tree& own) {
    mpich_tree tree;
    for (std::size_t i = 0; i < r.sizes.size(); ++i) {
        const mpich_tree chosen = r.sizes[i].use ? branch(same_as(*r.sizes[i].use->use)) : own;
        if (i + 1 == r.sizes.size()) {
            tree[fmt::format("{}=any", size_name(r.what))] = chosen;
        } else {
            const std::int64_t from = r.sizes[i + 1].from / (r.what == collective::alltoall ? r.ranks : 1);
            // MPICH reads an int.
            const auto below = std::min<std::int64_t>(from, std::numeric_limits<std::int32_t>::max());
            tree[fmt::format("{}<{}", size_name(r.what), below)] = chosen;
        }
    }
    return tree;
}

/// Tuned ranks up to the next ones; beyond twice the last, and below the first, MPICH's own choice.
mpich_tree by_ranks(std::span<const size_rules> groups, const mpich_tree& own) {
    mpich_tree tree;
    tree[fmt::format("comm_size<{}", groups.front().ranks)] = own;
    for (std::size_t i = 0; i < groups.size(); ++i) {
        const std::int32_t below = i + 1 < groups.size() ? groups[i + 1].ranks : 2 * groups[i].ranks;
        tree[fmt::format("comm_size<{}", below)] = by_message_size(groups[i], own);
    }
    tree["comm_size=any"] = own;
    return tree;
}

class mpich_library final : public library {
public:
    std::vector<const algorithm*> algorithms_for(collective what, std::int32_t ranks) const override {
        std::vector<const algorithm*> found;
        for (const mpich_algorithm& s : in_mpich) {
            const algorithm& a = find_algorithm(s.id);
            if (a.what == what && (!s.power_of_two || is_power_of_two(ranks))) found.push_back(&a);
        }
        return found;
    }

    std::optional<way> otherwise(collective what, std::int32_t ranks, std::int64_t bytes) const override {
        const std::string native = mpich_own_choice(what, ranks, bytes);
        const auto found = std::ranges::find(in_mpich, native, &mpich_algorithm::native);
        return found == in_mpich.end() ? std::nullopt : std::optional(way{&find_algorithm(found->id)});
    }

    std::optional<way> named(collective, std::int32_t, std::string_view, std::int64_t) const override {
        return std::nullopt;
    }

    std::string file(std::span<const decided> all, const std::string&) const override {
        mpich_tree tree = mpich_own_trees();
        const std::vector<size_rules> groups = by_size(all);
        for (std::size_t i = 0; i < groups.size();) {
            std::size_t end = i;
            while (end < groups.size() && groups[end].what == groups[i].what) ++end;
            mpich_tree& intra = mpich_tuned_place(tree, groups[i].what);
            intra = by_ranks(std::span(groups).subspan(i, end - i), mpich_tree(intra));
            i = end;
        }
        return tree.dump(1) + '\n';
    }
};

}  // namespace

const library& mpich() {
    static const mpich_library it;
    return it;
}

}  // namespace rubato::reports
