// The members that look like MPI's functions. Each is the caller's place in the record.
#include "rubato/mpi.hpp"

namespace rubato::mpi {

void communicator::barrier(const selection& how) { run(how, {collective::barrier}, __builtin_return_address(0)); }

void communicator::bcast(const selection& how, void* data, std::int64_t count, MPI_Datatype type, int root) {
    run(how, {collective::bcast, data, count, {}, type, data, count, {}, type, MPI_OP_NULL, root},
        __builtin_return_address(0));
}

void communicator::reduce(const selection& how, const void* send, void* recv, std::int64_t count, MPI_Datatype type,
                          MPI_Op op, int root) {
    run(how, {collective::reduce, send, count, {}, type, recv, count, {}, type, op, root}, __builtin_return_address(0));
}

void communicator::allreduce(const selection& how, const void* send, void* recv, std::int64_t count, MPI_Datatype type,
                             MPI_Op op) {
    run(how, {collective::allreduce, send, count, {}, type, recv, count, {}, type, op}, __builtin_return_address(0));
}

void communicator::scatter(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                           void* recv, std::int64_t recv_count, MPI_Datatype recv_type, int root) {
    run(how, {collective::scatter, send, send_count, {}, send_type, recv, recv_count, {}, recv_type, MPI_OP_NULL, root},
        __builtin_return_address(0));
}

void communicator::gather(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                          void* recv, std::int64_t recv_count, MPI_Datatype recv_type, int root) {
    run(how, {collective::gather, send, send_count, {}, send_type, recv, recv_count, {}, recv_type, MPI_OP_NULL, root},
        __builtin_return_address(0));
}

void communicator::allgather(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                             void* recv, std::int64_t recv_count, MPI_Datatype recv_type) {
    run(how, {collective::allgather, send, send_count, {}, send_type, recv, recv_count, {}, recv_type},
        __builtin_return_address(0));
}

void communicator::alltoall(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                            void* recv, std::int64_t recv_count, MPI_Datatype recv_type) {
    run(how, {collective::alltoall, send, send_count, {}, send_type, recv, recv_count, {}, recv_type},
        __builtin_return_address(0));
}

void communicator::reduce_scatter_block(const selection& how, const void* send, void* recv, std::int64_t recv_count,
                                        MPI_Datatype type, MPI_Op op) {
    run(how, {collective::reduce_scatter_block, send, recv_count, {}, type, recv, recv_count, {}, type, op},
        __builtin_return_address(0));
}

void communicator::scan(const selection& how, const void* send, void* recv, std::int64_t count, MPI_Datatype type,
                        MPI_Op op) {
    run(how, {collective::scan, send, count, {}, type, recv, count, {}, type, op}, __builtin_return_address(0));
}

void communicator::exscan(const selection& how, const void* send, void* recv, std::int64_t count, MPI_Datatype type,
                          MPI_Op op) {
    run(how, {collective::exscan, send, count, {}, type, recv, count, {}, type, op}, __builtin_return_address(0));
}

void communicator::scatterv(const selection& how, const void* send, const chunks& send_chunks, MPI_Datatype send_type,
                            void* recv, std::int64_t recv_count, MPI_Datatype recv_type, int root) {
    run(how,
        {collective::scatterv, send, 0, send_chunks, send_type, recv, recv_count, {}, recv_type, MPI_OP_NULL, root},
        __builtin_return_address(0));
}

void communicator::gatherv(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                           void* recv, const chunks& recv_chunks, MPI_Datatype recv_type, int root) {
    run(how, {collective::gatherv, send, send_count, {}, send_type, recv, 0, recv_chunks, recv_type, MPI_OP_NULL, root},
        __builtin_return_address(0));
}

void communicator::allgatherv(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                              void* recv, const chunks& recv_chunks, MPI_Datatype recv_type) {
    run(how, {collective::allgatherv, send, send_count, {}, send_type, recv, 0, recv_chunks, recv_type},
        __builtin_return_address(0));
}

void communicator::alltoallv(const selection& how, const void* send, const chunks& send_chunks, MPI_Datatype send_type,
                             void* recv, const chunks& recv_chunks, MPI_Datatype recv_type) {
    run(how, {collective::alltoallv, send, 0, send_chunks, send_type, recv, 0, recv_chunks, recv_type},
        __builtin_return_address(0));
}

void communicator::reduce_scatter(const selection& how, const void* send, void* recv,
                                  std::span<const std::int64_t> counts, MPI_Datatype type, MPI_Op op) {
    run(how, {collective::reduce_scatter, send, 0, {}, type, recv, 0, {counts, {}}, type, op},
        __builtin_return_address(0));
}

}  // namespace rubato::mpi
