// The names by which Fortran programs call collectives. They only note the place of the call: the MPI library's own
// functions of these names translate handles and buffers and then call the entries for C. All their arguments are
// addresses.
#include "dropin/preload/gateway.hpp"
#include "engine/mpi/calls.hpp"
#include "rubato/core.hpp"

#define PARAMETERS_2 void *a, void *b
#define PARAMETERS_3 PARAMETERS_2, void* c
#define PARAMETERS_4 PARAMETERS_3, void* d
#define PARAMETERS_5 PARAMETERS_4, void* e
#define PARAMETERS_6 PARAMETERS_5, void* f
#define PARAMETERS_7 PARAMETERS_6, void* g
#define PARAMETERS_8 PARAMETERS_7, void* h
#define PARAMETERS_9 PARAMETERS_8, void* i
#define PARAMETERS_10 PARAMETERS_9, void* j
#define PARAMETERS_11 PARAMETERS_10, void* k
#define PARAMETERS_12 PARAMETERS_11, void* l
#define VALUES_2 a, b
#define VALUES_3 VALUES_2, c
#define VALUES_4 VALUES_3, d
#define VALUES_5 VALUES_4, e
#define VALUES_6 VALUES_5, f
#define VALUES_7 VALUES_6, g
#define VALUES_8 VALUES_7, h
#define VALUES_9 VALUES_8, i
#define VALUES_10 VALUES_9, j
#define VALUES_11 VALUES_10, k
#define VALUES_12 VALUES_11, l

#define ENTRY(function, count)                                       \
    extern "C" RUBATO_API void function(JOIN(PARAMETERS_, count)) {  \
        static const auto next = next_function(function, #function); \
        const fortran_call passing(__builtin_return_address(0));     \
        next(JOIN(VALUES_, count));                                  \
    }

// mpif.h and the module mpi, with one underscore or, from some compilers, two; the module mpi_f08 of Open MPI and of
// MPICH. Names without underscore are left out: no usual compiler makes them, and programs may have functions of their
// own with these names.
#define ENTRIES(name, count)    \
    ENTRY(name##_, count)       \
    ENTRY(name##__, count)      \
    ENTRY(name##_f08_, count)   \
    ENTRY(name##_f08ts_, count) \
    ENTRY(name##_f08ts_large_, count)

using namespace rubato::dropin;

// The error code comes after the arguments; before it, non-blocking forms have a request, persistent ones also an info.
#define FORMS(name, ...)                                                               \
    ENTRIES(mpi_##name, COUNT_OF(ARGUMENTS(__VA_ARGS__), error))                       \
    ENTRIES(mpi_i##name, COUNT_OF(ARGUMENTS(__VA_ARGS__), request, error))             \
    ENTRIES(mpi_##name##_init, COUNT_OF(ARGUMENTS(__VA_ARGS__), info, request, error)) \
    ENTRIES(mpix_##name##_init, COUNT_OF(ARGUMENTS(__VA_ARGS__), info, request, error))
#define CALL(what, name, ...) FORMS(what __VA_OPT__(, ) __VA_ARGS__)
#include "engine/mpi/calls.def"
FORMS(alltoallw, TYPED_CHUNKS)
FORMS(neighbor_alltoallw, TYPED_CHUNKS)
