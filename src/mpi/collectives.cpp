// The makers of calls, and the members that look like MPI's functions. Each member records the place of its caller.
#include "rubato/mpi.hpp"

namespace rubato::mpi {

call call::barrier() { return {.what = collective::barrier}; }

call call::bcast(void* data, std::int64_t count, MPI_Datatype type, int root) {
    return {.what = collective::bcast, .recv = data, .recv_count = count, .recv_type = type, .root = root};
}

call call::reduce(const void* send, void* recv, std::int64_t count, MPI_Datatype type, MPI_Op op, int root) {
    return {.what = collective::reduce,
            .send = send,
            .recv = recv,
            .recv_count = count,
            .recv_type = type,
            .op = op,
            .root = root};
}

call call::allreduce(const void* send, void* recv, std::int64_t count, MPI_Datatype type, MPI_Op op) {
    return {
        .what = collective::allreduce, .send = send, .recv = recv, .recv_count = count, .recv_type = type, .op = op};
}

call call::scatter(const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                   std::int64_t recv_count, MPI_Datatype recv_type, int root) {
    return {.what = collective::scatter,
            .send = send,
            .send_count = send_count,
            .send_type = send_type,
            .recv = recv,
            .recv_count = recv_count,
            .recv_type = recv_type,
            .root = root};
}

call call::gather(const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                  std::int64_t recv_count, MPI_Datatype recv_type, int root) {
    return {.what = collective::gather,
            .send = send,
            .send_count = send_count,
            .send_type = send_type,
            .recv = recv,
            .recv_count = recv_count,
            .recv_type = recv_type,
            .root = root};
}

call call::allgather(const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                     std::int64_t recv_count, MPI_Datatype recv_type) {
    return {.what = collective::allgather,
            .send = send,
            .send_count = send_count,
            .send_type = send_type,
            .recv = recv,
            .recv_count = recv_count,
            .recv_type = recv_type};
}

call call::alltoall(const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                    std::int64_t recv_count, MPI_Datatype recv_type) {
    return {.what = collective::alltoall,
            .send = send,
            .send_count = send_count,
            .send_type = send_type,
            .recv = recv,
            .recv_count = recv_count,
            .recv_type = recv_type};
}

call call::reduce_scatter_block(const void* send, void* recv, std::int64_t recv_count, MPI_Datatype type, MPI_Op op) {
    return {.what = collective::reduce_scatter_block,
            .send = send,
            .recv = recv,
            .recv_count = recv_count,
            .recv_type = type,
            .op = op};
}

call call::scan(const void* send, void* recv, std::int64_t count, MPI_Datatype type, MPI_Op op) {
    return {.what = collective::scan, .send = send, .recv = recv, .recv_count = count, .recv_type = type, .op = op};
}

call call::exscan(const void* send, void* recv, std::int64_t count, MPI_Datatype type, MPI_Op op) {
    return {.what = collective::exscan, .send = send, .recv = recv, .recv_count = count, .recv_type = type, .op = op};
}

call call::scatterv(const void* send, const chunks& send_chunks, MPI_Datatype send_type, void* recv,
                    std::int64_t recv_count, MPI_Datatype recv_type, int root) {
    return {.what = collective::scatterv,
            .send = send,
            .send_chunks = send_chunks,
            .send_type = send_type,
            .recv = recv,
            .recv_count = recv_count,
            .recv_type = recv_type,
            .root = root};
}

call call::gatherv(const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                   const chunks& recv_chunks, MPI_Datatype recv_type, int root) {
    return {.what = collective::gatherv,
            .send = send,
            .send_count = send_count,
            .send_type = send_type,
            .recv = recv,
            .recv_chunks = recv_chunks,
            .recv_type = recv_type,
            .root = root};
}

call call::allgatherv(const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                      const chunks& recv_chunks, MPI_Datatype recv_type) {
    return {.what = collective::allgatherv,
            .send = send,
            .send_count = send_count,
            .send_type = send_type,
            .recv = recv,
            .recv_chunks = recv_chunks,
            .recv_type = recv_type};
}

call call::alltoallv(const void* send, const chunks& send_chunks, MPI_Datatype send_type, void* recv,
                     const chunks& recv_chunks, MPI_Datatype recv_type) {
    return {.what = collective::alltoallv,
            .send = send,
            .send_chunks = send_chunks,
            .send_type = send_type,
            .recv = recv,
            .recv_chunks = recv_chunks,
            .recv_type = recv_type};
}

call call::reduce_scatter(const void* send, void* recv, std::span<const std::int64_t> counts, MPI_Datatype type,
                          MPI_Op op) {
    return {.what = collective::reduce_scatter,
            .send = send,
            .recv = recv,
            .recv_chunks = {counts, {}},
            .recv_type = type,
            .op = op};
}

namespace {

/// The same arguments mean the same among neighbours.
call among_neighbours(call c, collective what) {
    c.what = what;
    return c;
}

}  // namespace

call call::neighbor_allgather(const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                              std::int64_t recv_count, MPI_Datatype recv_type) {
    return among_neighbours(allgather(send, send_count, send_type, recv, recv_count, recv_type),
                            collective::neighbor_allgather);
}

call call::neighbor_alltoall(const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                             std::int64_t recv_count, MPI_Datatype recv_type) {
    return among_neighbours(alltoall(send, send_count, send_type, recv, recv_count, recv_type),
                            collective::neighbor_alltoall);
}

call call::neighbor_allgatherv(const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                               const chunks& recv_chunks, MPI_Datatype recv_type) {
    return among_neighbours(allgatherv(send, send_count, send_type, recv, recv_chunks, recv_type),
                            collective::neighbor_allgatherv);
}

call call::neighbor_alltoallv(const void* send, const chunks& send_chunks, MPI_Datatype send_type, void* recv,
                              const chunks& recv_chunks, MPI_Datatype recv_type) {
    return among_neighbours(alltoallv(send, send_chunks, send_type, recv, recv_chunks, recv_type),
                            collective::neighbor_alltoallv);
}

call call::neighbor_reduce(const void* send, void* recv, std::int64_t count, MPI_Datatype type, MPI_Op op) {
    return among_neighbours(allreduce(send, recv, count, type, op), collective::neighbor_reduce);
}

void communicator::barrier(const selection& how) { run(how, call::barrier()); }

void communicator::bcast(const selection& how, void* data, std::int64_t count, MPI_Datatype type, int root) {
    run(how, call::bcast(data, count, type, root));
}

void communicator::reduce(const selection& how, const void* send, void* recv, std::int64_t count, MPI_Datatype type,
                          MPI_Op op, int root) {
    run(how, call::reduce(send, recv, count, type, op, root));
}

void communicator::allreduce(const selection& how, const void* send, void* recv, std::int64_t count, MPI_Datatype type,
                             MPI_Op op) {
    run(how, call::allreduce(send, recv, count, type, op));
}

void communicator::scatter(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                           void* recv, std::int64_t recv_count, MPI_Datatype recv_type, int root) {
    run(how, call::scatter(send, send_count, send_type, recv, recv_count, recv_type, root));
}

void communicator::gather(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                          void* recv, std::int64_t recv_count, MPI_Datatype recv_type, int root) {
    run(how, call::gather(send, send_count, send_type, recv, recv_count, recv_type, root));
}

void communicator::allgather(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                             void* recv, std::int64_t recv_count, MPI_Datatype recv_type) {
    run(how, call::allgather(send, send_count, send_type, recv, recv_count, recv_type));
}

void communicator::alltoall(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                            void* recv, std::int64_t recv_count, MPI_Datatype recv_type) {
    run(how, call::alltoall(send, send_count, send_type, recv, recv_count, recv_type));
}

void communicator::reduce_scatter_block(const selection& how, const void* send, void* recv, std::int64_t recv_count,
                                        MPI_Datatype type, MPI_Op op) {
    run(how, call::reduce_scatter_block(send, recv, recv_count, type, op));
}

void communicator::scan(const selection& how, const void* send, void* recv, std::int64_t count, MPI_Datatype type,
                        MPI_Op op) {
    run(how, call::scan(send, recv, count, type, op));
}

void communicator::exscan(const selection& how, const void* send, void* recv, std::int64_t count, MPI_Datatype type,
                          MPI_Op op) {
    run(how, call::exscan(send, recv, count, type, op));
}

void communicator::scatterv(const selection& how, const void* send, const chunks& send_chunks, MPI_Datatype send_type,
                            void* recv, std::int64_t recv_count, MPI_Datatype recv_type, int root) {
    run(how, call::scatterv(send, send_chunks, send_type, recv, recv_count, recv_type, root));
}

void communicator::gatherv(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                           void* recv, const chunks& recv_chunks, MPI_Datatype recv_type, int root) {
    run(how, call::gatherv(send, send_count, send_type, recv, recv_chunks, recv_type, root));
}

void communicator::allgatherv(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                              void* recv, const chunks& recv_chunks, MPI_Datatype recv_type) {
    run(how, call::allgatherv(send, send_count, send_type, recv, recv_chunks, recv_type));
}

void communicator::alltoallv(const selection& how, const void* send, const chunks& send_chunks, MPI_Datatype send_type,
                             void* recv, const chunks& recv_chunks, MPI_Datatype recv_type) {
    run(how, call::alltoallv(send, send_chunks, send_type, recv, recv_chunks, recv_type));
}

void communicator::reduce_scatter(const selection& how, const void* send, void* recv,
                                  std::span<const std::int64_t> counts, MPI_Datatype type, MPI_Op op) {
    run(how, call::reduce_scatter(send, recv, counts, type, op));
}

void communicator::neighbor_allgather(const selection& how, const void* send, std::int64_t send_count,
                                      MPI_Datatype send_type, void* recv, std::int64_t recv_count,
                                      MPI_Datatype recv_type) {
    run(how, call::neighbor_allgather(send, send_count, send_type, recv, recv_count, recv_type));
}

void communicator::neighbor_alltoall(const selection& how, const void* send, std::int64_t send_count,
                                     MPI_Datatype send_type, void* recv, std::int64_t recv_count,
                                     MPI_Datatype recv_type) {
    run(how, call::neighbor_alltoall(send, send_count, send_type, recv, recv_count, recv_type));
}

void communicator::neighbor_allgatherv(const selection& how, const void* send, std::int64_t send_count,
                                       MPI_Datatype send_type, void* recv, const chunks& recv_chunks,
                                       MPI_Datatype recv_type) {
    run(how, call::neighbor_allgatherv(send, send_count, send_type, recv, recv_chunks, recv_type));
}

void communicator::neighbor_alltoallv(const selection& how, const void* send, const chunks& send_chunks,
                                      MPI_Datatype send_type, void* recv, const chunks& recv_chunks,
                                      MPI_Datatype recv_type) {
    run(how, call::neighbor_alltoallv(send, send_chunks, send_type, recv, recv_chunks, recv_type));
}

void communicator::neighbor_reduce(const selection& how, const void* send, void* recv, std::int64_t count,
                                   MPI_Datatype type, MPI_Op op) {
    run(how, call::neighbor_reduce(send, recv, count, type, op));
}

}  // namespace rubato::mpi
