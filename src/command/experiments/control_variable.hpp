// The MPI library's own settings, through MPI_T, which must have been initialised.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

/// Nothing if there is no such variable.
std::optional<int> control_variable(const std::string& name);
/// Throws if there is none, or if it does not have the value afterwards.
void set_control_variable(const std::string& name, int value);

/// Whether Open MPI obeys a choice of its algorithms in this run.
bool algorithms_can_be_forced();
/// Throws if it does not: it would accept a choice and ignore it.
void check_algorithms_can_be_forced();

struct native_algorithm {
    int number = 0;  ///< in coll/tuned
    std::string name{};
};
/// What coll/tuned has for a collective ("gather"); empty if there is no choice.
std::vector<native_algorithm> native_algorithms(const std::string& collective);

/// A copy of `world` on which Open MPI uses one of its algorithms for a collective, by number; 0: what it
/// chooses itself. With a segment size in bytes where that algorithm has one. Throws if Open MPI would ignore the
/// choice.
MPI_Comm forced_communicator(const std::string& collective, int algorithm, std::optional<int> segment = {});
