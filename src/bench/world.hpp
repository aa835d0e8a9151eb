// The communicator on which everything is measured.
#pragma once

#include <mpi.h>

#include <string>

namespace rubato::bench {

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

}  // namespace rubato::bench
