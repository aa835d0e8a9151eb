// The MPI library's own settings, through MPI_T.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>

/// Nothing if there is no such variable. MPI_T must have been initialised.
std::optional<int> control_variable(const std::string& name);
/// Throws if there is none, or if it does not have the value afterwards.
void set_control_variable(const std::string& name, int value);

/// A copy of MPI_COMM_WORLD on which Open MPI uses one of its algorithms for a collective ("gather"), by number in
/// coll/tuned; 0: what it chooses itself. With a segment size where that algorithm has one. Throws if Open MPI would
/// ignore the choice.
MPI_Comm forced_communicator(const std::string& collective, int algorithm, std::optional<int> segment = {});
