// The entries for C: MPI_X and PMPI_X of every collective, in its three forms. The Fortran libraries call them, too:
// Open MPI's calls PMPI_X, MPICH's MPI_X.
#include "dropin/preload/entry.hpp"
#include "engine/mpi/calls.hpp"

static const void* site_of(const void* caller) {
    const void* const site = rubato::dropin::take_fortran_site();
    return site != nullptr ? site : caller;
}

/// `parameters` and `values` are in parentheses; the other arguments say what they mean.
#define ENTER(function, what, how, parameters, values, request, ...)                                                 \
    ENTRY_POINT(function, parameters,                                                                                \
                return enter<collective::what, form::how>(site_of(site), comm, arguments<COUNT, PLACE>{__VA_ARGS__}, \
                                                          request, [&] { return next values; });)
#define BLOCKING(function, what, ...) \
    ENTER(function, what, blocking, (PARAMETERS(__VA_ARGS__)), (ARGUMENTS(__VA_ARGS__)), nullptr, MEMBERS(__VA_ARGS__))
#define NONBLOCKING(function, what, ...)                                                 \
    ENTER(function, what, nonblocking, (PARAMETERS(__VA_ARGS__), MPI_Request * request), \
          (ARGUMENTS(__VA_ARGS__), request), request, MEMBERS(__VA_ARGS__))
#define PERSISTENT(function, what, ...)                                                                           \
    ENTRY_POINT(function, (PARAMETERS(__VA_ARGS__), MPI_Info info, MPI_Request * request),                        \
                return make<collective::what>(site_of(site), comm, arguments<COUNT, PLACE>{MEMBERS(__VA_ARGS__)}, \
                                              request, [&] { return next(ARGUMENTS(__VA_ARGS__), info, request); });)

#ifdef MPICH_VERSION
#define INIT(prefix, name) prefix##_##name##_init
#else
// No header declares these functions in every version.
#define INIT(prefix, name) prefix##X_##name##_init
#define COUNT int
#define PLACE int
#define CALL(what, name, ...)                                                                        \
    extern "C" int MPIX_##name##_init(PARAMETERS(__VA_ARGS__), MPI_Info info, MPI_Request* request); \
    extern "C" int PMPIX_##name##_init(PARAMETERS(__VA_ARGS__), MPI_Info info, MPI_Request* request);
#include "engine/mpi/calls.def"
extern "C" int MPIX_Alltoallw_init(PARAMETERS(TYPED_CHUNKS), MPI_Info info, MPI_Request* request);
extern "C" int PMPIX_Alltoallw_init(PARAMETERS(TYPED_CHUNKS), MPI_Info info, MPI_Request* request);
#undef PLACE
#define PLACE MPI_Aint
extern "C" int MPIX_Neighbor_alltoallw_init(PARAMETERS(TYPED_CHUNKS), MPI_Info info, MPI_Request* request);
extern "C" int PMPIX_Neighbor_alltoallw_init(PARAMETERS(TYPED_CHUNKS), MPI_Info info, MPI_Request* request);
#undef COUNT
#undef PLACE
#endif

using namespace rubato;
using namespace rubato::dropin;

#define COUNT int
#define PLACE int
#define FORMS(what, name, plain, ...)                            \
    BLOCKING(MPI_##name, what __VA_OPT__(, ) __VA_ARGS__)        \
    BLOCKING(PMPI_##name, what __VA_OPT__(, ) __VA_ARGS__)       \
    NONBLOCKING(MPI_I##plain, what __VA_OPT__(, ) __VA_ARGS__)   \
    NONBLOCKING(PMPI_I##plain, what __VA_OPT__(, ) __VA_ARGS__)  \
    PERSISTENT(INIT(MPI, name), what __VA_OPT__(, ) __VA_ARGS__) \
    PERSISTENT(INIT(PMPI, name), what __VA_OPT__(, ) __VA_ARGS__)
#define CALL(what, name, ...) FORMS(what, name, what __VA_OPT__(, ) __VA_ARGS__)
#include "engine/mpi/calls.def"
FORMS(alltoallv, Alltoallw, alltoallw, TYPED_CHUNKS)
#undef PLACE
#define PLACE MPI_Aint
FORMS(neighbor_alltoallv, Neighbor_alltoallw, neighbor_alltoallw, TYPED_CHUNKS)
#undef COUNT
#undef PLACE
#undef FORMS

// Counts of 64 bits, since MPI 4.
#if MPI_VERSION >= 4
#define COUNT MPI_Count
#define PLACE MPI_Aint
#define FORMS(what, name, plain, ...)                                \
    BLOCKING(MPI_##name##_c, what __VA_OPT__(, ) __VA_ARGS__)        \
    BLOCKING(PMPI_##name##_c, what __VA_OPT__(, ) __VA_ARGS__)       \
    NONBLOCKING(MPI_I##plain##_c, what __VA_OPT__(, ) __VA_ARGS__)   \
    NONBLOCKING(PMPI_I##plain##_c, what __VA_OPT__(, ) __VA_ARGS__)  \
    PERSISTENT(MPI_##name##_init_c, what __VA_OPT__(, ) __VA_ARGS__) \
    PERSISTENT(PMPI_##name##_init_c, what __VA_OPT__(, ) __VA_ARGS__)
#define CALL(what, name, ...) FORMS(what, name, what __VA_OPT__(, ) __VA_ARGS__)
#define CALL_WITHOUT_COUNT(...)
#include "engine/mpi/calls.def"
FORMS(alltoallv, Alltoallw, alltoallw, TYPED_CHUNKS)
FORMS(neighbor_alltoallv, Neighbor_alltoallw, neighbor_alltoallw, TYPED_CHUNKS)
#endif
