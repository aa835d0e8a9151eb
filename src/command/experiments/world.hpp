// The communicator on which everything is measured, and what is known of it.
#pragma once

#include "reports/results/results.hpp"

#include <mpi.h>

#include <functional>

namespace rubato::command {

/// All ranks, in the order of MPI_COMM_WORLD.
inline MPI_Comm world = MPI_COMM_WORLD;

/// While it lives, `world` has these neighbours; empty: it stays as it is. Collective.
class neighbourhood {
public:
    explicit neighbourhood(const std::string& graph_text);
    ~neighbourhood();
    neighbourhood(const neighbourhood&) = delete;
    neighbourhood& operator=(const neighbourhood&) = delete;
};

/// The first line of what the MPI library says of itself.
std::string library_version();
/// What can be found out about this run, its hosts and its MPI library. Collective.
reports::conditions conditions_here();

/// This rank in `world`, and how many there are.
int own_rank();
int count_ranks();
/// The numbers of all ranks of `world`, combined. Collective.
std::int64_t among_ranks(std::int64_t mine, MPI_Op op);
/// The text of the first rank that has one, sent to all ranks.
std::string said_by_one(const std::string& mine);
/// Throws on all ranks what one of them throws, such as for a file that is missing on one host.
void throw_together(const std::function<void()>& what);

}  // namespace rubato::command
