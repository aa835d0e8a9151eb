#include "datatype.hpp"
#include "rubato/mpi.hpp"

#include <fmt/format.h>

#include <climits>

namespace rubato::mpi {
namespace {

int narrow(std::int64_t count) {
    if (count < INT_MIN || count > INT_MAX)
        throw error(fmt::format("a count of {}", count), "the MPI library's collectives take 32 bits",
                    "use a larger datatype, or one of rubato's algorithms");
    return static_cast<int>(count);
}

std::vector<int> narrow(std::span<const std::int64_t> counts) {
    std::vector<int> result;
    for (const std::int64_t n : counts) result.push_back(narrow(n));
    return result;
}

}  // namespace

void run_native(MPI_Comm comm, const call& c) {
    const int sends = narrow(c.send_count);
    const int recvs = narrow(c.recv_count);
    const std::vector<int> send_counts = narrow(c.send_chunks.counts);
    const std::vector<int> send_places = narrow(c.send_chunks.displacements);
    const std::vector<int> recv_counts = narrow(c.recv_chunks.counts);
    const std::vector<int> recv_places = narrow(c.recv_chunks.displacements);
    switch (c.what) {
        case collective::barrier: check(MPI_Barrier(comm), "MPI_Barrier"); break;
        case collective::bcast: check(MPI_Bcast(c.recv, recvs, c.recv_type, c.root, comm), "MPI_Bcast"); break;
        case collective::reduce:
            check(MPI_Reduce(c.send, c.recv, recvs, c.recv_type, c.op, c.root, comm), "MPI_Reduce");
            break;
        case collective::allreduce:
            check(MPI_Allreduce(c.send, c.recv, recvs, c.recv_type, c.op, comm), "MPI_Allreduce");
            break;
        case collective::scatter:
            check(MPI_Scatter(c.send, sends, c.send_type, c.recv, recvs, c.recv_type, c.root, comm), "MPI_Scatter");
            break;
        case collective::gather:
            check(MPI_Gather(c.send, sends, c.send_type, c.recv, recvs, c.recv_type, c.root, comm), "MPI_Gather");
            break;
        case collective::allgather:
            check(MPI_Allgather(c.send, sends, c.send_type, c.recv, recvs, c.recv_type, comm), "MPI_Allgather");
            break;
        case collective::alltoall:
            check(MPI_Alltoall(c.send, sends, c.send_type, c.recv, recvs, c.recv_type, comm), "MPI_Alltoall");
            break;
        case collective::reduce_scatter_block:
            check(MPI_Reduce_scatter_block(c.send, c.recv, recvs, c.recv_type, c.op, comm), "MPI_Reduce_scatter_block");
            break;
        case collective::scan: check(MPI_Scan(c.send, c.recv, recvs, c.recv_type, c.op, comm), "MPI_Scan"); break;
        case collective::exscan: check(MPI_Exscan(c.send, c.recv, recvs, c.recv_type, c.op, comm), "MPI_Exscan"); break;
        case collective::scatterv:
            check(MPI_Scatterv(c.send, send_counts.data(), send_places.data(), c.send_type, c.recv, recvs, c.recv_type,
                               c.root, comm),
                  "MPI_Scatterv");
            break;
        case collective::gatherv:
            check(MPI_Gatherv(c.send, sends, c.send_type, c.recv, recv_counts.data(), recv_places.data(), c.recv_type,
                              c.root, comm),
                  "MPI_Gatherv");
            break;
        case collective::allgatherv:
            check(MPI_Allgatherv(c.send, sends, c.send_type, c.recv, recv_counts.data(), recv_places.data(),
                                 c.recv_type, comm),
                  "MPI_Allgatherv");
            break;
        case collective::alltoallv:
            check(MPI_Alltoallv(c.send, send_counts.data(), send_places.data(), c.send_type, c.recv, recv_counts.data(),
                                recv_places.data(), c.recv_type, comm),
                  "MPI_Alltoallv");
            break;
    }
}

}  // namespace rubato::mpi
