#include "common/mpi_call.hpp"

#include <fmt/format.h>

#include <limits>

namespace applications {
namespace {

using rubato::collective;

int narrow(std::int64_t n) {
    if (n > std::numeric_limits<int>::max())
        throw rubato::error(fmt::format("a message of {} elements", n), "MPI counts with int", "give smaller sizes");
    return static_cast<int>(n);
}

std::vector<int> narrow(std::span<const std::int64_t> all) {
    std::vector<int> result;
    for (const std::int64_t n : all) result.push_back(narrow(n));
    return result;
}

/// Errors end the program, as MPI does by default.
template <class Blocking, class Started, class... Arguments>
void make(Blocking* block, Started* start, MPI_Request* request, Arguments... arguments) {
    if (request == nullptr)
        block(arguments...);
    else
        start(arguments..., request);
}

}  // namespace

mpi_call::mpi_call(MPI_Comm comm, const rubato::mpi::call& c, bool blocking)
    : send_counts_(narrow(c.send_chunks.counts)),
      send_places_(narrow(c.send_chunks.displacements)),
      recv_counts_(narrow(c.recv_chunks.counts)),
      recv_places_(narrow(c.recv_chunks.displacements)) {
    MPI_Request* const request = blocking ? nullptr : &request_;
    const int sends = narrow(c.send_count);
    const int recvs = narrow(c.recv_count);
    switch (c.what) {
        case collective::allreduce:
            make(MPI_Allreduce, MPI_Iallreduce, request, c.send, c.recv, recvs, c.recv_type, c.op, comm);
            break;
        case collective::reduce:
            make(MPI_Reduce, MPI_Ireduce, request, c.send, c.recv, recvs, c.recv_type, c.op, c.root, comm);
            break;
        case collective::scatter:
            make(MPI_Scatter, MPI_Iscatter, request, c.send, sends, c.send_type, c.recv, recvs, c.recv_type, c.root,
                 comm);
            break;
        case collective::gather:
            make(MPI_Gather, MPI_Igather, request, c.send, sends, c.send_type, c.recv, recvs, c.recv_type, c.root,
                 comm);
            break;
        case collective::gatherv:
            make(MPI_Gatherv, MPI_Igatherv, request, c.send, sends, c.send_type, c.recv, recv_counts_.data(),
                 recv_places_.data(), c.recv_type, c.root, comm);
            break;
        case collective::alltoall:
            make(MPI_Alltoall, MPI_Ialltoall, request, c.send, sends, c.send_type, c.recv, recvs, c.recv_type, comm);
            break;
        case collective::neighbor_alltoallv:
            make(MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, request, c.send, send_counts_.data(),
                 send_places_.data(), c.send_type, c.recv, recv_counts_.data(), recv_places_.data(), c.recv_type, comm);
            break;
        default:
            throw rubato::error("this collective is not called here", "no application has needed it so far",
                                "add it to examples/common/mpi_call.cpp");
    }
}

void mpi_call::wait() { MPI_Wait(&request_, MPI_STATUS_IGNORE); }

}  // namespace applications
