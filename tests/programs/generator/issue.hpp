// Every collective in its three forms.
#pragma once

#include <mpi.h>

#include <vector>

namespace random_program {

enum class collective {
    barrier,
    bcast,
    reduce,
    allreduce,
    scatter,
    scatterv,
    gather,
    gatherv,
    allgather,
    allgatherv,
    alltoall,
    alltoallv,
    reduce_scatter,
    reduce_scatter_block,
    scan,
    exscan
};

enum class form { blocking, nonblocking, persistent };

/// What one rank passes on one side.
struct argument {
    void* data = nullptr;
    int count = 0;
    std::vector<int> counts{};
    std::vector<int> displacements{};
    MPI_Datatype type = MPI_DATATYPE_NULL;
};

/// What one rank passes; bcast takes the receiving side, reductions the sending side's data and the receiving one's
/// type.
struct arguments {
    collective what;
    argument send{}, recv{};
    MPI_Op op = MPI_OP_NULL;
    int root = 0;
    MPI_Comm comm = MPI_COMM_NULL;
};

/// An MPI error code. Blocking calls leave the request alone; persistent ones are made, not started.
int issue(const arguments& a, form how, MPI_Request& request);

const char* name_of(collective what);

}  // namespace random_program
