#include "mpi/datatype.hpp"
#include "mpi/narrow.hpp"

namespace rubato::mpi {

void run_native(MPI_Comm comm, const call& c) {
    const narrow_counts n(c);
    switch (c.what) {
        case collective::barrier: check(MPI_Barrier(comm), "MPI_Barrier"); break;
        case collective::bcast: check(MPI_Bcast(c.recv, n.recvs, c.recv_type, c.root, comm), "MPI_Bcast"); break;
        case collective::reduce:
            check(MPI_Reduce(c.send, c.recv, n.recvs, c.recv_type, c.op, c.root, comm), "MPI_Reduce");
            break;
        case collective::allreduce:
            check(MPI_Allreduce(c.send, c.recv, n.recvs, c.recv_type, c.op, comm), "MPI_Allreduce");
            break;
        case collective::scatter:
            check(MPI_Scatter(c.send, n.sends, c.send_type, c.recv, n.recvs, c.recv_type, c.root, comm), "MPI_Scatter");
            break;
        case collective::gather:
            check(MPI_Gather(c.send, n.sends, c.send_type, c.recv, n.recvs, c.recv_type, c.root, comm), "MPI_Gather");
            break;
        case collective::allgather:
            check(MPI_Allgather(c.send, n.sends, c.send_type, c.recv, n.recvs, c.recv_type, comm), "MPI_Allgather");
            break;
        case collective::alltoall:
            check(MPI_Alltoall(c.send, n.sends, c.send_type, c.recv, n.recvs, c.recv_type, comm), "MPI_Alltoall");
            break;
        case collective::reduce_scatter_block:
            check(MPI_Reduce_scatter_block(c.send, c.recv, n.recvs, c.recv_type, c.op, comm),
                  "MPI_Reduce_scatter_block");
            break;
        case collective::scan: check(MPI_Scan(c.send, c.recv, n.recvs, c.recv_type, c.op, comm), "MPI_Scan"); break;
        case collective::exscan:
            check(MPI_Exscan(c.send, c.recv, n.recvs, c.recv_type, c.op, comm), "MPI_Exscan");
            break;
        case collective::scatterv:
            check(MPI_Scatterv(c.send, n.send_counts.data(), n.send_places.data(), c.send_type, c.recv, n.recvs,
                               c.recv_type, c.root, comm),
                  "MPI_Scatterv");
            break;
        case collective::gatherv:
            check(MPI_Gatherv(c.send, n.sends, c.send_type, c.recv, n.recv_counts.data(), n.recv_places.data(),
                              c.recv_type, c.root, comm),
                  "MPI_Gatherv");
            break;
        case collective::allgatherv:
            check(MPI_Allgatherv(c.send, n.sends, c.send_type, c.recv, n.recv_counts.data(), n.recv_places.data(),
                                 c.recv_type, comm),
                  "MPI_Allgatherv");
            break;
        case collective::alltoallv:
            check(MPI_Alltoallv(c.send, n.send_counts.data(), n.send_places.data(), c.send_type, c.recv,
                                n.recv_counts.data(), n.recv_places.data(), c.recv_type, comm),
                  "MPI_Alltoallv");
            break;
        case collective::reduce_scatter:
            check(MPI_Reduce_scatter(c.send, c.recv, n.recv_counts.data(), c.recv_type, c.op, comm),
                  "MPI_Reduce_scatter");
            break;
    }
}

}  // namespace rubato::mpi
