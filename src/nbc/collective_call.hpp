// Operations of LibNBC's interface that are Rubato's collectives.
#pragma once

#include "nbc/handles.hpp"

#include <memory>

namespace rubato::nbc {

/// The counts and displacements of a v-form, as LibNBC has them.
struct narrow_chunks {
    const int* counts = nullptr;
    const int* places = nullptr;
};

/// One side of an alltoallw: chunks, each of its own datatype, at places in bytes.
struct typed_chunks {
    void* address;
    const int* counts;
    const int* places;
    const MPI_Datatype* types;

    std::byte* chunk(std::size_t i) const { return static_cast<std::byte*>(address) + places[i]; }
};

// What is refused here is counted, as other ranks may make the call.

/// Starts it. Where no algorithm is named, Rubato chooses.
std::unique_ptr<operation> start_collective(mpi::communicator& on, mpi::selection how, const mpi::call& c,
                                            narrow_chunks send, narrow_chunks recv);
/// By an alltoallv of bytes, packed before and unpacked at the end.
std::unique_ptr<operation> start_alltoallw(mpi::communicator& on, const typed_chunks& send, const typed_chunks& recv);

}  // namespace rubato::nbc
