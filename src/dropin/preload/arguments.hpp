// The arguments of a collective as the program gave them, and the bytes that follow from them. Arguments that MPI calls
// not significant on a rank are ignored.
#pragma once

#include "dropin/preload/communicator_table.hpp"
#include "engine/mpi/datatype.hpp"
#include "rubato/mpi.hpp"

#include <numeric>
#include <type_traits>

namespace rubato::dropin {

/// As rubato::mpi::call has it; counts as wide as those of the entry.
template <class Count, class Place>
struct arguments {
    const void* send = nullptr;
    Count send_count = 0;
    const Count* send_counts = nullptr;
    const Place* send_places = nullptr;
    MPI_Datatype send_type = MPI_DATATYPE_NULL;
    const MPI_Datatype* send_types = nullptr;  ///< of a w-form
    void* recv = nullptr;
    Count recv_count = 0;
    const Count* recv_counts = nullptr;
    const Place* recv_places = nullptr;
    MPI_Datatype recv_type = MPI_DATATYPE_NULL;
    const MPI_Datatype* recv_types = nullptr;
    MPI_Op op = MPI_OP_NULL;
    int root = 0;
};

/// A handle as a number.
template <class Handle>
std::uint64_t bits_of(Handle h) {
    if constexpr (std::is_pointer_v<Handle>)
        return reinterpret_cast<std::uintptr_t>(h);
    else
        return static_cast<std::uint64_t>(h);
}

/// A rank without neighbours may pass no datatypes in a w-form.
inline std::int64_t size_of_type(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL) return 0;
    MPI_Count bytes = 0;
    const int code = PMPI_Type_size_x(type, &bytes);
    if (engine::blames_argument(code)) return 0;  // the native call reports it
    engine::check(code, "MPI_Type_size_x");
    return bytes;
}

template <class Count>
std::int64_t sum(const Count* counts, int n) {
    return std::accumulate(counts, counts + n, std::int64_t{0});
}

/// The side whose count and type give the size on this rank; none if the rank takes no part, as some do not on an
/// inter-communicator.
enum class side : std::uint8_t { none, send, recv };

template <collective What, class Arguments>
side telling_side(const Arguments& a, const communicator_state& where) {
    constexpr const collective_traits& t = traits(What);
    if (!t.moves_data() || (t.rooted && where.inter && a.root == MPI_PROC_NULL)) return side::none;
    if (t.one_count()) return side::recv;
    if (!t.rooted) return t.irregular && a.send != MPI_IN_PLACE ? side::send : side::recv;
    // The size of the rank's own chunk, unless the rank is a root that has none.
    const bool is_root = where.inter ? a.root == MPI_ROOT : a.root == where.rank;
    const bool has_none = is_root && (where.inter || (t.spreads() ? a.recv : a.send) == MPI_IN_PLACE);
    return t.spreads() != has_none ? side::recv : side::send;
}

/// For the watchdog, without asking MPI: how many elements this rank gives, where all ranks must give as many bytes.
struct elements {
    std::int64_t count = -1;
    MPI_Datatype type = MPI_DATATYPE_NULL;
};
template <collective What, class Arguments>
elements comparable_elements(const Arguments& a, const communicator_state& where) {
    constexpr const collective_traits& t = traits(What);
    if (t.irregular || t.on_graph || where.inter) return {};
    const side tells = telling_side<What>(a, where);
    if (tells == side::none) return {};
    return tells == side::send ? elements{static_cast<std::int64_t>(a.send_count), a.send_type}
                               : elements{static_cast<std::int64_t>(a.recv_count), a.recv_type};
}

/// Bytes for the recorder: of the vector, or of one rank's chunk; for v-forms, the sum over this rank's own chunks. The
/// arguments must be valid.
template <collective What, class Arguments>
std::int64_t local_bytes(const Arguments& a, const communicator_state& where) {
    constexpr const collective_traits& t = traits(What);
    const side tells = telling_side<What>(a, where);
    if (tells == side::none) return 0;
    const bool sends = tells == side::send;
    const auto* const counts = sends ? a.send_counts : a.recv_counts;
    if (const MPI_Datatype* const types = sends ? a.send_types : a.recv_types; types != nullptr) {
        const int chunks = !t.on_graph ? where.peers : sends ? where.neighbours.destinations : where.neighbours.sources;
        std::int64_t bytes = 0;
        for (int i = 0; i < chunks; ++i)
            if (counts[i] > 0) bytes += counts[i] * size_of_type(types[i]);
        return bytes;
    }
    std::int64_t count = sends ? a.send_count : a.recv_count;
    if (t.on_graph && counts != nullptr)
        count = sum(counts, sends ? where.neighbours.destinations : where.neighbours.sources);
    else if (t.measured_by_input())
        count = sum(counts, where.size);
    else if (counts != nullptr && (where.inter || (t.wide_input && t.wide_output)))
        count = sum(counts, where.peers);
    else if (counts != nullptr)
        count = counts[where.rank];
    return count * size_of_type(sends ? a.send_type : a.recv_type);
}

}  // namespace rubato::dropin
