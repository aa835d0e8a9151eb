// The makers of calls, and the members that look like MPI's functions: both from the rows of calls.def. Where MPI has
// an array of counts and one of displacements, these have chunks.
#include "engine/mpi/calls.hpp"
#include "rubato/mpi.hpp"

namespace rubato::mpi {

call call::barrier() { return {.what = collective::barrier}; }
void communicator::barrier(const selection& how) { run(how, call::barrier()); }

call call::reduce_scatter(const void* send, void* recv, std::span<const std::int64_t> counts, MPI_Datatype type,
                          MPI_Op op) {
    return {.what = collective::reduce_scatter,
            .send = send,
            .recv = recv,
            .recv_chunks = {counts, {}},
            .recv_type = type,
            .op = op};
}
void communicator::reduce_scatter(const selection& how, const void* send, void* recv,
                                  std::span<const std::int64_t> counts, MPI_Datatype type, MPI_Op op) {
    run(how, call::reduce_scatter(send, recv, counts, type, op));
}

#define COUNT std::int64_t
#define MAKER_AND_MEMBER(what_, ...)                                                                             \
    call call::what_(EACH(PARAMETER, __VA_ARGS__)) { return {.what = collective::what_, MEMBERS(__VA_ARGS__)}; } \
    void communicator::what_(const selection& how, EACH(PARAMETER, __VA_ARGS__)) { run(how, call::what_(__VA_ARGS__)); }

MAKER_AND_MEMBER(scatterv, send, send_chunks, send_type, recv, recv_count, recv_type, root)
MAKER_AND_MEMBER(gatherv, send, send_count, send_type, recv, recv_chunks, recv_type, root)
MAKER_AND_MEMBER(allgatherv, send, send_count, send_type, recv, recv_chunks, recv_type)
MAKER_AND_MEMBER(alltoallv, send, send_chunks, send_type, recv, recv_chunks, recv_type)
MAKER_AND_MEMBER(neighbor_allgatherv, send, send_count, send_type, recv, recv_chunks, recv_type)
MAKER_AND_MEMBER(neighbor_alltoallv, send, send_chunks, send_type, recv, recv_chunks, recv_type)
MAKER_AND_MEMBER(neighbor_reduce, send, recv, recv_count, recv_type, op)

#define CALL_WITHOUT_COUNT(...)
#define CALL_WITH_CHUNKS(...)
#define CALL(what, name, ...) MAKER_AND_MEMBER(what, __VA_ARGS__)
#include "engine/mpi/calls.def"
#undef MAKER_AND_MEMBER
#undef COUNT

}  // namespace rubato::mpi
