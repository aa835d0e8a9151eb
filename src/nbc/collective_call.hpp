// Operations of LibNBC's interface that are Rubato's collectives.
#pragma once

#include "nbc/handles.hpp"

#include <memory>
#include <vector>

namespace rubato::nbc {

/// The chunks of a v-form, or of a w-form with datatypes and displacements in bytes, as LibNBC has them.
struct narrow_chunks {
    const int* counts = nullptr;
    const int* places = nullptr;
    const MPI_Datatype* types = nullptr;
    const MPI_Aint* byte_places = nullptr;  ///< instead of places
};
/// Without datatypes there are no chunks.
inline narrow_chunks typed(const int* counts, const int* places, const MPI_Datatype* types) {
    return types == nullptr ? narrow_chunks{} : narrow_chunks{counts, places, types};
}
inline narrow_chunks typed(const int* counts, const MPI_Aint* places, const MPI_Datatype* types) {
    return types == nullptr ? narrow_chunks{} : narrow_chunks{counts, nullptr, types, places};
}

// What is refused here is counted, as other ranks may make the call.

/// Starts it. Where no algorithm is named, Rubato chooses.
std::unique_ptr<operation> start_collective(mpi::communicator& on, mpi::selection how, const mpi::call& c,
                                            narrow_chunks send, narrow_chunks recv);

}  // namespace rubato::nbc
