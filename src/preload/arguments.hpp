// The arguments of a collective as the program gave them, and what they come to. What MPI does not call significant on
// a rank is not looked at.
#pragma once

#include "preload/communicator_state.hpp"
#include "rubato/mpi.hpp"

#include <numeric>

namespace rubato::preload {

/// As rubato::mpi::call has it; counts as wide as those of the entry.
template <class Count, class Place>
struct arguments {
    const void* send = nullptr;
    Count send_count = 0;
    const Count* send_counts = nullptr;
    const Place* send_places = nullptr;
    MPI_Datatype send_type = MPI_DATATYPE_NULL;
    void* recv = nullptr;
    Count recv_count = 0;
    const Count* recv_counts = nullptr;
    const Place* recv_places = nullptr;
    MPI_Datatype recv_type = MPI_DATATYPE_NULL;
    MPI_Op op = MPI_OP_NULL;
    int root = 0;
};

inline std::int64_t size_of_type(MPI_Datatype type) {
    MPI_Count bytes = 0;
    PMPI_Type_size_x(type, &bytes);
    return bytes;
}

template <class Count>
std::int64_t sum(const Count* counts, int n) {
    return std::accumulate(counts, counts + n, std::int64_t{0});
}

constexpr bool has_root(collective what) {
    using enum collective;
    return what == bcast || what == reduce || what == scatter || what == gather || what == scatterv || what == gatherv;
}

/// The side whose count and type tell the size on this rank: neither if it takes no part, as some do between two
/// groups.
enum class side : std::uint8_t { none, send, recv };

template <collective What, class Arguments>
side telling_side(const Arguments& a, const communicator_state& where) {
    bool is_root = false;
    if constexpr (has_root(What)) {
        if (where.inter && a.root == MPI_PROC_NULL) return side::none;
        is_root = where.inter ? a.root == MPI_ROOT : a.root == where.rank;
    }
    switch (What) {
        case collective::barrier: return side::none;
        case collective::scatter: return is_root ? side::send : side::recv;
        case collective::scatterv: return is_root && (where.inter || a.recv == MPI_IN_PLACE) ? side::send : side::recv;
        case collective::gather: return is_root ? side::recv : side::send;
        case collective::gatherv: return is_root && (where.inter || a.send == MPI_IN_PLACE) ? side::recv : side::send;
        case collective::allgatherv:
        case collective::alltoallv: return a.send == MPI_IN_PLACE ? side::recv : side::send;
        default: return side::recv;
    }
}

/// Bytes as the recorder wants them: of the vector, or of one rank's chunk; of v-forms, this rank's own in all. The
/// arguments must be valid.
template <collective What, class Arguments>
std::int64_t local_bytes(const Arguments& a, const communicator_state& where) {
    const side tells = telling_side<What>(a, where);
    if (tells == side::none) return 0;
    const bool sends = tells == side::send;
    const auto* const counts = sends ? a.send_counts : a.recv_counts;
    std::int64_t count = sends ? a.send_count : a.recv_count;
    if (What == collective::reduce_scatter)
        count = sum(counts, where.size);
    else if (What == collective::alltoallv || (counts != nullptr && where.inter))
        count = sum(counts, where.peers);
    else if (counts != nullptr)
        count = counts[where.rank];
    return count * size_of_type(sends ? a.send_type : a.recv_type);
}

}  // namespace rubato::preload
