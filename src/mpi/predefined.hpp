// MPI's own datatypes and operators, as far as reductions use them. They mean the same on all ranks, so ranks know them
// by their places in these tables.
#pragma once

#include <mpi.h>

#include <atomic>
#include <cstdint>
#include <span>

namespace rubato::mpi {

struct predefined_type {
    MPI_Datatype type;
    bool exact;  ///< the result of a reduction does not depend on the order of its operands
};
std::span<const predefined_type> predefined_types();

/// All of them commute.
struct predefined_op {
    MPI_Op op;
    bool idempotent;  ///< x*x = x, so that counting a contribution twice does no harm
};
std::span<const predefined_op> predefined_ops();

/// Its place in the table, or -1.
std::int32_t number_of_type(MPI_Datatype type);
std::int32_t number_of_op(MPI_Op op);

/// Whether this process has already found that the operator fits the datatype; by their numbers.
std::atomic<bool>& known_to_combine(std::int32_t type, std::int32_t op);

}  // namespace rubato::mpi
