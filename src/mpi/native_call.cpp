#include "mpi/datatype.hpp"
#include "mpi/narrow.hpp"

namespace rubato::mpi {

native_call::native_call(MPI_Comm comm, const call& c)
    : comm_(comm), call_(c), counts_(std::make_unique<narrow_counts>(c)) {}
native_call::~native_call() = default;

void native_call::start() {
    const narrow_counts& n = *counts_;
    switch (call_.what) {
        case collective::barrier: check(MPI_Ibarrier(comm_, &request_), "MPI_Ibarrier"); break;
        case collective::bcast:
            check(MPI_Ibcast(call_.recv, n.recvs, call_.recv_type, call_.root, comm_, &request_), "MPI_Ibcast");
            break;
        case collective::reduce:
            check(MPI_Ireduce(call_.send, call_.recv, n.recvs, call_.recv_type, call_.op, call_.root, comm_, &request_),
                  "MPI_Ireduce");
            break;
        case collective::allreduce:
            check(MPI_Iallreduce(call_.send, call_.recv, n.recvs, call_.recv_type, call_.op, comm_, &request_),
                  "MPI_Iallreduce");
            break;
        case collective::scatter:
            check(MPI_Iscatter(call_.send, n.sends, call_.send_type, call_.recv, n.recvs, call_.recv_type, call_.root,
                               comm_, &request_),
                  "MPI_Iscatter");
            break;
        case collective::gather:
            check(MPI_Igather(call_.send, n.sends, call_.send_type, call_.recv, n.recvs, call_.recv_type, call_.root,
                              comm_, &request_),
                  "MPI_Igather");
            break;
        case collective::allgather:
            check(MPI_Iallgather(call_.send, n.sends, call_.send_type, call_.recv, n.recvs, call_.recv_type, comm_,
                                 &request_),
                  "MPI_Iallgather");
            break;
        case collective::alltoall:
            check(MPI_Ialltoall(call_.send, n.sends, call_.send_type, call_.recv, n.recvs, call_.recv_type, comm_,
                                &request_),
                  "MPI_Ialltoall");
            break;
        case collective::reduce_scatter_block:
            check(
                MPI_Ireduce_scatter_block(call_.send, call_.recv, n.recvs, call_.recv_type, call_.op, comm_, &request_),
                "MPI_Ireduce_scatter_block");
            break;
        case collective::scan:
            check(MPI_Iscan(call_.send, call_.recv, n.recvs, call_.recv_type, call_.op, comm_, &request_), "MPI_Iscan");
            break;
        case collective::exscan:
            check(MPI_Iexscan(call_.send, call_.recv, n.recvs, call_.recv_type, call_.op, comm_, &request_),
                  "MPI_Iexscan");
            break;
        case collective::scatterv:
            check(MPI_Iscatterv(call_.send, n.send_counts.data(), n.send_places.data(), call_.send_type, call_.recv,
                                n.recvs, call_.recv_type, call_.root, comm_, &request_),
                  "MPI_Iscatterv");
            break;
        case collective::gatherv:
            check(MPI_Igatherv(call_.send, n.sends, call_.send_type, call_.recv, n.recv_counts.data(),
                               n.recv_places.data(), call_.recv_type, call_.root, comm_, &request_),
                  "MPI_Igatherv");
            break;
        case collective::allgatherv:
            check(MPI_Iallgatherv(call_.send, n.sends, call_.send_type, call_.recv, n.recv_counts.data(),
                                  n.recv_places.data(), call_.recv_type, comm_, &request_),
                  "MPI_Iallgatherv");
            break;
        case collective::alltoallv:
            check(MPI_Ialltoallv(call_.send, n.send_counts.data(), n.send_places.data(), call_.send_type, call_.recv,
                                 n.recv_counts.data(), n.recv_places.data(), call_.recv_type, comm_, &request_),
                  "MPI_Ialltoallv");
            break;
        case collective::reduce_scatter:
            check(MPI_Ireduce_scatter(call_.send, call_.recv, n.recv_counts.data(), call_.recv_type, call_.op, comm_,
                                      &request_),
                  "MPI_Ireduce_scatter");
            break;
    }
}

bool native_call::test() {
    int done = 0;
    check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
}

void native_call::wait() { check(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait"); }

}  // namespace rubato::mpi
