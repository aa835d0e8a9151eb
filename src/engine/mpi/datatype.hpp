// What Rubato must know of a datatype, and moving its elements locally.
#pragma once

#include "rubato/core.hpp"

#include <mpi.h>

#include <cstddef>

namespace rubato::engine {

/// Every MPI return code passes here.
RUBATO_API void check(int code, const char* call);
/// Whether the error is about what the program has passed, so that the native call finds it, too. Other errors may be
/// this rank's alone.
bool blames_argument(int code);

struct type_info {
    MPI_Datatype type = MPI_BYTE;
    std::int64_t size = 1;
    std::ptrdiff_t extent = 1;
    std::ptrdiff_t true_lower = 0;
    std::ptrdiff_t true_extent = 1;
    bool dense = true;  ///< elements lie in memory as in a message, without gaps, one after the other
};
type_info inspect(MPI_Datatype type);
/// Only the size of an element, which is faster to find.
std::int64_t element_bytes(MPI_Datatype type);
/// Nobody can free it.
bool is_predefined(MPI_Datatype type);
/// Throws MPI's error for a datatype that was not committed; errors on `comm` must be returned.
void check_committed(MPI_Datatype type, MPI_Comm comm);

/// Bytes that n elements span in memory, and where element 0 is if they begin at the first of these bytes.
std::size_t footprint(const type_info& t, std::int64_t n);
std::ptrdiff_t origin(const type_info& t, std::int64_t n);

/// n elements to or from the contiguous bytes of a message. MPI needs comm, which must be ours, to know who could read
/// them, or to copy elements of more than 2 GiB.
void pack(const type_info& t, const void* elements, std::int64_t n, std::byte* bytes, MPI_Comm comm);
void unpack(const type_info& t, const std::byte* bytes, void* elements, std::int64_t n, MPI_Comm comm);
/// Elements that are not dense are copied by a message of this rank to itself on `comm`, which must be ours.
void copy_elements(const type_info& t, const void* from, void* to, std::int64_t n, MPI_Comm comm);

/// More elements than MPI's int can count, as one element of a new type, which the caller must free.
MPI_Datatype large_type(std::int64_t n, const type_info& t);

}  // namespace rubato::engine
