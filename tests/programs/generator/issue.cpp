#include "issue.hpp"

#if defined(OPEN_MPI)
#include <mpi-ext.h>
#define INIT_OF(name) MPIX_##name##_init
#else
#define INIT_OF(name) MPI_##name##_init
#endif

#include <array>

namespace random_program {

#define FORMS(name, nonblocking_name, ...)                                                                       \
    switch (how) {                                                                                               \
        case form::blocking: return MPI_##name(__VA_ARGS__ __VA_OPT__(, ) a.comm);                               \
        case form::nonblocking: return MPI_##nonblocking_name(__VA_ARGS__ __VA_OPT__(, ) a.comm, &request);      \
        case form::persistent: return INIT_OF(name)(__VA_ARGS__ __VA_OPT__(, ) a.comm, MPI_INFO_NULL, &request); \
    }                                                                                                            \
    break

int issue(const arguments& a, form how, MPI_Request& request) {
    const argument& s = a.send;
    const argument& r = a.recv;
    switch (a.what) {
        case collective::barrier: FORMS(Barrier, Ibarrier);
        case collective::bcast: FORMS(Bcast, Ibcast, r.data, r.count, r.type, a.root);
        case collective::reduce: FORMS(Reduce, Ireduce, s.data, r.data, r.count, r.type, a.op, a.root);
        case collective::allreduce: FORMS(Allreduce, Iallreduce, s.data, r.data, r.count, r.type, a.op);
        case collective::scatter: FORMS(Scatter, Iscatter, s.data, s.count, s.type, r.data, r.count, r.type, a.root);
        case collective::scatterv:
            FORMS(Scatterv, Iscatterv, s.data, s.counts.data(), s.displacements.data(), s.type, r.data, r.count, r.type,
                  a.root);
        case collective::gather: FORMS(Gather, Igather, s.data, s.count, s.type, r.data, r.count, r.type, a.root);
        case collective::gatherv:
            FORMS(Gatherv, Igatherv, s.data, s.count, s.type, r.data, r.counts.data(), r.displacements.data(), r.type,
                  a.root);
        case collective::allgather: FORMS(Allgather, Iallgather, s.data, s.count, s.type, r.data, r.count, r.type);
        case collective::allgatherv:
            FORMS(Allgatherv, Iallgatherv, s.data, s.count, s.type, r.data, r.counts.data(), r.displacements.data(),
                  r.type);
        case collective::alltoall: FORMS(Alltoall, Ialltoall, s.data, s.count, s.type, r.data, r.count, r.type);
        case collective::alltoallv:
            FORMS(Alltoallv, Ialltoallv, s.data, s.counts.data(), s.displacements.data(), s.type, r.data,
                  r.counts.data(), r.displacements.data(), r.type);
        case collective::reduce_scatter:
            FORMS(Reduce_scatter, Ireduce_scatter, s.data, r.data, r.counts.data(), r.type, a.op);
        case collective::reduce_scatter_block:
            FORMS(Reduce_scatter_block, Ireduce_scatter_block, s.data, r.data, r.count, r.type, a.op);
        case collective::scan: FORMS(Scan, Iscan, s.data, r.data, r.count, r.type, a.op);
        case collective::exscan: FORMS(Exscan, Iexscan, s.data, r.data, r.count, r.type, a.op);
    }
    return MPI_ERR_OTHER;
}

const char* name_of(collective what) {
    constexpr std::array names{
        "barrier", "bcast",     "reduce",     "allreduce", "scatter",   "scatterv",       "gather",
        "gatherv", "allgather", "allgatherv", "alltoall",  "alltoallv", "reduce_scatter", "reduce_scatter_block",
        "scan",    "exscan"};
    return names[static_cast<std::size_t>(what)];
}

}  // namespace random_program
