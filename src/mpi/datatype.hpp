// What Rubato must know of a datatype, and moving its elements locally.
#pragma once

#include "rubato/core.hpp"

#include <mpi.h>

#include <cstddef>

namespace rubato::mpi {

/// Every MPI return code passes here.
RUBATO_API void check(int code, const char* call);

struct type_info {
    MPI_Datatype type = MPI_BYTE;
    std::int64_t size = 1;
    std::ptrdiff_t extent = 1;
    std::ptrdiff_t true_lower = 0;
    std::ptrdiff_t true_extent = 1;
    bool dense = true;  ///< elements lie in memory as in a message, without gaps, one after the other
};
type_info inspect(MPI_Datatype type);
/// The size of an element alone, which is quicker to find.
std::int64_t element_bytes(MPI_Datatype type);
/// Throws what MPI says of a datatype that was not committed; errors on `comm` must be returned.
void check_committed(MPI_Datatype type, MPI_Comm comm);

/// Bytes that n elements span in memory, and where element 0 is if they begin at the first of these bytes.
std::size_t footprint(const type_info& t, std::int64_t n);
std::ptrdiff_t origin(const type_info& t, std::int64_t n);

/// n elements to or from the contiguous bytes of a message; comm only tells MPI who would read them.
void pack(const type_info& t, const void* elements, std::int64_t n, std::byte* bytes, MPI_Comm comm);
void unpack(const type_info& t, const std::byte* bytes, void* elements, std::int64_t n, MPI_Comm comm);
/// Other than dense elements are copied by a message of this rank to itself on `comm`, which must be ours.
void copy_elements(const type_info& t, const void* from, void* to, std::int64_t n, MPI_Comm comm);

/// As many elements as MPI's int cannot count, as one element of a new type; to be freed.
MPI_Datatype large_type(std::int64_t n, const type_info& t);

}  // namespace rubato::mpi
