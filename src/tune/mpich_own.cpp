// What MPICH 4.0 does by itself: a line per case, with its conditions in MPICH's words, and the algorithm. Where no
// tuned rule holds, a selection file must say the same.
#include "tune/mpich_own.hpp"
#include "tune/words.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato::tune {
namespace {

/// "intra" and "inter" are kinds of communicators. The name of an algorithm begins with that of its collective.
constexpr std::string_view mpich_own = R"(bcast intra comm_size<8 comm_hierarchy=parent avg_msg_size<=0 intra_smp
bcast intra comm_size<8 comm_hierarchy=parent avg_msg_size=any intra_binomial
bcast intra comm_size<8 comm_hierarchy=any avg_msg_size=any intra_binomial
bcast intra comm_size=pow2 comm_hierarchy=parent avg_msg_size<=0 intra_smp
bcast intra comm_size=pow2 comm_hierarchy=parent avg_msg_size<=12288 intra_binomial
bcast intra comm_size=pow2 comm_hierarchy=parent avg_msg_size<=524288 intra_scatter_recursive_doubling_allgather
bcast intra comm_size=pow2 comm_hierarchy=parent avg_msg_size=any intra_scatter_ring_allgather
bcast intra comm_size=pow2 comm_hierarchy=any avg_msg_size<=12288 intra_binomial
bcast intra comm_size=pow2 comm_hierarchy=any avg_msg_size<=524288 intra_scatter_recursive_doubling_allgather
bcast intra comm_size=pow2 comm_hierarchy=any avg_msg_size=any intra_scatter_ring_allgather
bcast intra comm_size=any comm_hierarchy=parent avg_msg_size<=0 intra_smp
bcast intra comm_size=any comm_hierarchy=parent avg_msg_size<=12288 intra_binomial
bcast intra comm_size=any comm_hierarchy=parent avg_msg_size=any intra_scatter_ring_allgather
bcast intra comm_size=any comm_hierarchy=any avg_msg_size<=12288 intra_binomial
bcast intra comm_size=any comm_hierarchy=any avg_msg_size=any intra_scatter_ring_allgather
bcast inter inter_remote_send_local_bcast
allreduce intra avg_msg_size<=0 is_commutative=yes intra_smp
allreduce intra avg_msg_size<=0 is_commutative=no intra_recursive_doubling
allreduce intra avg_msg_size<=8 intra_recursive_doubling
allreduce intra avg_msg_size=any is_op_built_in=no intra_recursive_doubling
allreduce intra avg_msg_size=any is_op_built_in=yes count<pow2 intra_recursive_doubling
allreduce intra avg_msg_size=any is_op_built_in=yes count=any intra_reduce_scatter_allgather
allreduce inter inter_reduce_exchange_bcast
allgather intra comm_size=pow2 total_msg_size<524288 intra_recursive_doubling
allgather intra comm_size=pow2 total_msg_size=any intra_ring
allgather intra comm_size=any total_msg_size<81920 intra_brucks
allgather intra comm_size=any total_msg_size=any intra_ring
allgather inter inter_local_gather_remote_bcast
allgatherv intra comm_size=pow2 total_msg_size<524288 intra_recursive_doubling
allgatherv intra comm_size=pow2 total_msg_size=any intra_ring
allgatherv intra comm_size=any total_msg_size<81920 intra_brucks
allgatherv intra comm_size=any total_msg_size=any intra_ring
allgatherv inter inter_remote_gather_local_bcast
reduce intra comm_hierarchy=parent avg_msg_size<=0 is_commutative=yes intra_smp
reduce intra comm_hierarchy=parent avg_msg_size<=0 is_commutative=no intra_binomial
reduce intra comm_hierarchy=parent avg_msg_size<=2048 intra_binomial
reduce intra comm_hierarchy=parent avg_msg_size=any is_op_built_in=yes count<pow2 intra_binomial
reduce intra comm_hierarchy=parent avg_msg_size=any is_op_built_in=yes count=any intra_reduce_scatter_gather
reduce intra comm_hierarchy=parent avg_msg_size=any is_op_built_in=no intra_binomial
reduce intra comm_hierarchy=any avg_msg_size<=2048 intra_binomial
reduce intra comm_hierarchy=any avg_msg_size=any is_op_built_in=yes count<pow2 intra_binomial
reduce intra comm_hierarchy=any avg_msg_size=any is_op_built_in=yes count=any intra_reduce_scatter_gather
reduce intra comm_hierarchy=any avg_msg_size=any is_op_built_in=no intra_binomial
reduce inter inter_local_reduce_remote_send
reduce_scatter intra is_commutative=yes total_msg_size<524288 intra_recursive_halving
reduce_scatter intra is_commutative=yes total_msg_size=any intra_pairwise
reduce_scatter intra is_commutative=no is_block_regular=yes comm_size=pow2 intra_noncommutative
reduce_scatter intra is_commutative=no is_block_regular=yes comm_size=any intra_recursive_doubling
reduce_scatter intra is_commutative=no is_block_regular=no intra_recursive_doubling
reduce_scatter inter inter_remote_reduce_local_scatter
reduce_scatter_block intra is_commutative=yes total_msg_size<524288 intra_recursive_halving
reduce_scatter_block intra is_commutative=yes total_msg_size=any intra_pairwise
reduce_scatter_block intra is_commutative=no comm_size=pow2 intra_noncommutative
reduce_scatter_block intra is_commutative=no comm_size=any intra_recursive_doubling
reduce_scatter_block inter inter_remote_reduce_local_scatter
gather intra intra_binomial
gather inter total_msg_size<2048 inter_local_gather_remote_send
gather inter total_msg_size=any inter_linear
scatter intra intra_binomial
scatter inter total_msg_size<2048 inter_remote_send_local_scatter
scatter inter total_msg_size=any inter_linear
gatherv allcomm_linear
scatterv allcomm_linear
scan intra is_node_consecutive=yes intra_smp
scan intra is_node_consecutive=no intra_recursive_doubling
scan inter intra_smp
exscan intra_recursive_doubling
barrier intra comm_hierarchy=parent intra_smp
barrier intra comm_hierarchy=any intra_dissemination
barrier inter inter_bcast
alltoall intra is_sendbuf_inplace=yes intra_pairwise_sendrecv_replace
alltoall intra is_sendbuf_inplace=no comm_size<8 avg_msg_size<=32768 intra_scattered
alltoall intra is_sendbuf_inplace=no comm_size<8 avg_msg_size=any intra_pairwise
alltoall intra is_sendbuf_inplace=no comm_size=any avg_msg_size<=256 intra_brucks
alltoall intra is_sendbuf_inplace=no comm_size=any avg_msg_size<=32768 intra_scattered
alltoall intra is_sendbuf_inplace=no comm_size=any avg_msg_size=any intra_pairwise
alltoall inter inter_pairwise_exchange
alltoallv intra is_sendbuf_inplace=yes intra_pairwise_sendrecv_replace
alltoallv intra is_sendbuf_inplace=no intra_scattered
alltoallv inter inter_pairwise_exchange
alltoallw intra is_sendbuf_inplace=yes intra_pairwise_sendrecv_replace
alltoallw intra is_sendbuf_inplace=no intra_scattered
alltoallw inter inter_pairwise_exchange
neighbor_allgather allcomm_nb
neighbor_allgatherv allcomm_nb
neighbor_alltoall allcomm_nb
neighbor_alltoallv allcomm_nb
neighbor_alltoallw allcomm_nb
ibarrier intra intra_sched_recursive_doubling
ibarrier inter inter_sched_bcast
iallreduce intra avg_msg_size<=2048 intra_sched_recursive_doubling
iallreduce intra avg_msg_size=any is_op_built_in=no intra_sched_recursive_doubling
iallreduce intra avg_msg_size=any is_op_built_in=yes count<pow2 intra_sched_recursive_doubling
iallreduce intra avg_msg_size=any is_op_built_in=yes count=any intra_sched_reduce_scatter_allgather
iallreduce inter inter_sched_remote_reduce_local_bcast
iallgather intra comm_size=pow2 total_msg_size<524288 intra_sched_recursive_doubling
iallgather intra comm_size=pow2 total_msg_size=any intra_sched_ring
iallgather intra comm_size=any total_msg_size<81920 intra_sched_brucks
iallgather intra comm_size=any total_msg_size=any intra_sched_ring
iallgather inter inter_sched_local_gather_remote_bcast
iallgatherv intra comm_size=pow2 total_msg_size<524288 intra_sched_recursive_doubling
iallgatherv intra comm_size=pow2 total_msg_size=any intra_sched_ring
iallgatherv intra comm_size=any total_msg_size<81920 intra_sched_brucks
iallgatherv intra comm_size=any total_msg_size=any intra_sched_ring
iallgatherv inter inter_sched_remote_gather_local_bcast
ibcast intra comm_hierarchy=parent intra_sched_smp
ibcast intra comm_hierarchy=any comm_size<8 avg_msg_size=any intra_sched_binomial
ibcast intra comm_hierarchy=any comm_size=pow2 avg_msg_size<12288 intra_sched_binomial
ibcast intra comm_hierarchy=any comm_size=pow2 avg_msg_size<524288 intra_sched_scatter_recursive_doubling_allgather
ibcast intra comm_hierarchy=any comm_size=pow2 avg_msg_size=any intra_sched_scatter_ring_allgather
ibcast intra comm_hierarchy=any comm_size=any avg_msg_size<12288 intra_sched_binomial
ibcast intra comm_hierarchy=any comm_size=any avg_msg_size=any intra_sched_scatter_ring_allgather
ibcast inter inter_sched_flat
ireduce intra comm_hierarchy=parent is_commutative=yes intra_sched_smp
ireduce intra comm_hierarchy=parent is_commutative=no intra_sched_binomial
ireduce intra comm_hierarchy=any avg_msg_size<=2048 intra_sched_binomial
ireduce intra comm_hierarchy=any avg_msg_size=any is_op_built_in=yes count<pow2 intra_sched_binomial
ireduce intra comm_hierarchy=any avg_msg_size=any is_op_built_in=yes count=any intra_sched_reduce_scatter_gather
ireduce intra comm_hierarchy=any avg_msg_size=any is_op_built_in=no intra_sched_binomial
ireduce inter inter_sched_local_reduce_remote_send
ireduce_scatter intra is_commutative=yes total_msg_size<524288 intra_sched_recursive_halving
ireduce_scatter intra is_commutative=yes total_msg_size=any intra_sched_pairwise
ireduce_scatter intra is_commutative=no is_block_regular=yes comm_size=pow2 intra_sched_noncommutative
ireduce_scatter intra is_commutative=no is_block_regular=yes comm_size=any intra_sched_recursive_doubling
ireduce_scatter intra is_commutative=no is_block_regular=no intra_sched_recursive_doubling
ireduce_scatter inter inter_sched_remote_reduce_local_scatterv
igather intra intra_sched_binomial
igather inter total_msg_size<2048 inter_sched_short
igather inter total_msg_size=any inter_sched_long
iscatter intra intra_sched_binomial
iscatter inter total_msg_size<2048 inter_sched_remote_send_local_scatter
iscatter inter total_msg_size=any inter_sched_linear
igatherv allcomm_sched_linear
iscatterv allcomm_sched_linear
iexscan intra_sched_recursive_doubling
ialltoall intra is_sendbuf_inplace=yes intra_sched_inplace
ialltoall intra is_sendbuf_inplace=no comm_size<8 avg_msg_size<=32768 intra_sched_permuted_sendrecv
ialltoall intra is_sendbuf_inplace=no comm_size<8 avg_msg_size=any intra_sched_pairwise
ialltoall intra is_sendbuf_inplace=no comm_size=any avg_msg_size<=2048 intra_sched_brucks
ialltoall intra is_sendbuf_inplace=no comm_size=any avg_msg_size<=32768 intra_sched_permuted_sendrecv
ialltoall intra is_sendbuf_inplace=no comm_size=any avg_msg_size=any intra_sched_pairwise
ialltoall inter inter_sched_pairwise_exchange
ialltoallv intra is_sendbuf_inplace=yes intra_sched_inplace
ialltoallv intra is_sendbuf_inplace=no intra_sched_blocked
ialltoallv inter inter_sched_pairwise_exchange
ialltoallw intra is_sendbuf_inplace=yes intra_sched_inplace
ialltoallw intra is_sendbuf_inplace=no intra_sched_blocked
ialltoallw inter inter_sched_pairwise_exchange
ireduce_scatter_block intra is_commutative=yes total_msg_size<524288 intra_sched_recursive_halving
ireduce_scatter_block intra is_commutative=yes total_msg_size=any intra_sched_pairwise
ireduce_scatter_block intra is_commutative=no comm_size=pow2 intra_sched_noncommutative
ireduce_scatter_block intra is_commutative=no comm_size=any intra_sched_recursive_doubling
ireduce_scatter_block inter inter_sched_remote_reduce_local_scatterv
iscan comm_hierarchy=parent intra_sched_smp
iscan comm_hierarchy=any intra_sched_recursive_doubling
ineighbor_allgather allcomm_sched_linear
ineighbor_allgatherv allcomm_sched_linear
ineighbor_alltoall allcomm_sched_linear
ineighbor_alltoallv allcomm_sched_linear
ineighbor_alltoallw allcomm_sched_linear)";

std::string condition(std::string_view word) {
    return word == "intra" || word == "inter" ? fmt::format("comm_type={}", word) : std::string(word);
}

std::string native_name(std::string_view collective, std::string_view algorithm) {
    std::string name = fmt::format("{}_{}", collective, algorithm);
    name.front() = static_cast<char>(name.front() - 'a' + 'A');
    return name;
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

}  // namespace

mpich_tree mpich_leaf(std::string_view native) {
    mpich_tree leaf;
    leaf[fmt::format("algorithm=MPIR_{}", native)] = mpich_tree::object();
    return leaf;
}

mpich_tree mpich_own_trees() {
    mpich_tree all;
    for (std::string_view lines = mpich_own; !lines.empty();) {
        std::string_view line = take(lines, '\n');
        const std::string_view collective = take(line, ' ');
        mpich_tree* at = &all[fmt::format("collective={}", collective)];
        while (line.find(' ') != std::string_view::npos) at = &(*at)[condition(take(line, ' '))];
        *at = mpich_leaf(native_name(collective, line));
    }
    return all;
}

mpich_tree& mpich_tuned_place(mpich_tree& all, collective what) {
    mpich_tree& intra = all[fmt::format("collective={}", traits(what).name)]["comm_type=intra"];
    return what == collective::alltoall ? intra["is_sendbuf_inplace=no"] : intra;
}

std::string mpich_own_choice(collective what, std::int32_t ranks, std::int64_t bytes) {
    const std::int64_t chunk = bytes / traits(what).sized_chunks(ranks);
    for (std::string_view lines = mpich_own; !lines.empty();) {
        std::string_view line = take(lines, '\n');
        const std::string_view collective = take(line, ' ');
        bool all_hold = collective == traits(what).name;
        while (all_hold && line.find(' ') != std::string_view::npos)
            all_hold = holds(take(line, ' '), ranks, chunk, bytes);
        if (all_hold) return native_name(collective, line);
    }
    return "";
}

}  // namespace rubato::tune
