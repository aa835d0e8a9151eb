// MPI's own datatypes and operators, as far as reductions use them. They mean the same on all ranks, so ranks know them
// by their places in these tables.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <span>

namespace rubato::engine {

/// Datatypes that the same operators combine; bits, as an operator is for several kinds.
namespace of_kind {
inline constexpr std::uint16_t character = 1;
inline constexpr std::uint16_t integer = 2;
inline constexpr std::uint16_t fortran_integer = 4;
inline constexpr std::uint16_t address = 8;  ///< also MPI_COUNT and MPI_OFFSET
inline constexpr std::uint16_t floating = 16;
inline constexpr std::uint16_t complex = 32;
inline constexpr std::uint16_t logical = 64;
inline constexpr std::uint16_t byte = 128;
inline constexpr std::uint16_t pair = 256;  ///< a value and its place
}  // namespace of_kind

struct predefined_type {
    MPI_Datatype type;
    std::uint16_t kind;
    bool exact;  ///< the result of a reduction does not depend on the order of its operands
};
std::span<const predefined_type> predefined_types();

/// All of them commute.
struct predefined_op {
    MPI_Op op;
    bool idempotent;      ///< x*x = x, so that counting a contribution twice does no harm
    std::uint16_t kinds;  ///< of datatypes that it combines
};
std::span<const predefined_op> predefined_ops();

/// Its place in the table, or -1.
std::int32_t number_of_type(MPI_Datatype type);
std::int32_t number_of_op(MPI_Op op);

/// Whether MPI defines a reduction of this datatype by this operator, which may be the program's own. Libraries define
/// some more, which differ. All ranks find the same.
bool combines(MPI_Datatype type, MPI_Op op);

}  // namespace rubato::engine
