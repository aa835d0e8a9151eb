// The default algorithms, by size alone, as in MPI libraries; `choose` finds what is best for given arrivals on a given
// network. Below 64 KiB latency dominates, above it bandwidth; segments of 16 KiB keep a pipeline full.
#include "engine/mpi/choice.hpp"

#include <algorithm>

namespace rubato::engine {
namespace {

constexpr std::int64_t large = std::int64_t{64} << 10;
constexpr std::int64_t small = std::int64_t{2} << 10;
constexpr std::int64_t segment = std::int64_t{16} << 10;
constexpr std::int64_t most_segments = 4096;
constexpr std::int32_t few = 4;  // ranks that may all send to one at once

std::string_view id_for(collective what, std::int32_t ranks, std::int64_t bytes) {
    const bool many = bytes >= large;
    const bool pipeline = many && bytes / segment >= ranks;  // a chain must be full most of the time
    const bool tree = bytes < small && ranks > 8;
    switch (what) {
        case collective::barrier: return "barrier/dissemination";
        case collective::bcast:
            return pipeline ? "bcast/chain+early" : many ? "bcast/binomial+early" : "bcast/binomial";
        case collective::reduce:
            return pipeline ? "reduce/chain+early" : many ? "reduce/binomial+early" : "reduce/binomial";
        case collective::allreduce: return many ? "allreduce/rabenseifner" : "allreduce/recursive_doubling";
        case collective::scatter: return tree ? "scatter/binomial" : "scatter/sorted_linear+early";
        case collective::gather: return tree ? "gather/binomial" : "gather/sorted_linear_sync+early";
        case collective::allgather: return many ? "allgather/ring" : "allgather/bruck";
        case collective::alltoall:
            // Bruck's sends fewer messages, and each chunk several times.
            return bytes < small ? "alltoall/bruck" : ranks <= few ? "alltoall/direct" : "alltoall/pairwise";
        case collective::reduce_scatter_block: return "reduce_scatter_block/halving";
        case collective::scan: return "scan/recursive_doubling";
        case collective::exscan: return "exscan/recursive_doubling";
        case collective::scatterv: return "scatterv/sorted_linear+early";
        case collective::gatherv: return "gatherv/sorted_linear_sync+early";
        case collective::allgatherv: return "allgatherv/ring";
        case collective::alltoallv: return "alltoallv/pairwise";
        case collective::reduce_scatter: return "reduce_scatter/halving";
        case collective::neighbor_allgather: return "neighbor_allgather/direct";
        case collective::neighbor_alltoall: return "neighbor_alltoall/direct";
        case collective::neighbor_allgatherv: return "neighbor_allgatherv/direct";
        case collective::neighbor_alltoallv: return "neighbor_alltoallv/direct";
        case collective::neighbor_reduce: return "neighbor_reduce/direct";
    }
    throw error("a collective of no kind", "there is no algorithm for it", "name one of 'rubato algorithms'");
}

}  // namespace

std::uint32_t default_segments(const algorithm& a, std::int64_t bytes) {
    return a.segmented ? static_cast<std::uint32_t>(std::clamp<std::int64_t>(bytes / segment, 1, most_segments)) : 1;
}

const algorithm& default_algorithm(collective what, std::int32_t ranks, std::int64_t bytes) {
    return find_algorithm(id_for(what, ranks, bytes));
}

}  // namespace rubato::engine
