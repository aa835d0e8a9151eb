// The entries by which a program begins, makes communicators, and ends.
#include "preload/guard.hpp"
#include "preload/loaded_symbols.hpp"
#include "preload/next.hpp"
#include "preload/session.hpp"
#include "preload/thread_level.hpp"

#include <cstdlib>

namespace rubato::preload {
namespace {

std::string_view variable(const char* name) {
    const char* const text = std::getenv(name);
    return text != nullptr ? text : "";
}

/// Open MPI 4 makes no windows over TCP with MPI_THREAD_MULTIPLE. So a program that may want some gets that level only
/// if somebody asks for it.
bool raises_level() {
    return raises_thread_level(variable) && (variable("RUBATO_BACKGROUND") == "on" || !may_make_windows());
}

template <class Native>
int begin(const void* site, const Native& native) {
    if (is_inside(site)) return native();
    const guard passing;
    check_library();
    const rubato::time_ns begun = rubato::own_time();
    const int code = native();
    if (code == MPI_SUCCESS) begin_session(begun);
    return code;
}

template <class Native>
int end(const void* site, const Native& native) {
    if (is_inside(site)) return native();
    const guard passing;
    end_session();
    return native();
}

/// Makes the state of a new communicator here, where ranks create communicators in the same order. Their first uses may
/// come in any order, with several threads or non-blocking calls.
template <class Native>
int create(const void* site, MPI_Comm* made, const Native& native) {
    session* const now = running.load(std::memory_order_acquire);
    const int code = native();
    if (now == nullptr || code != MPI_SUCCESS || is_inside(site)) return code;
    const guard passing;
    now->communicators().prepare(*made);
    return code;
}

}  // namespace
}  // namespace rubato::preload

using namespace rubato::preload;

// NAME, parameters, values: `made` is the new communicator.
#define CREATORS(ROW, prefix)                                                                               \
    ROW(prefix##_Comm_dup, (MPI_Comm comm, MPI_Comm * made), (comm, made))                                  \
    ROW(prefix##_Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm * made), (comm, info, made))   \
    ROW(prefix##_Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm * made), (comm, group, made))       \
    ROW(prefix##_Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made),              \
        (comm, group, tag, made))                                                                           \
    ROW(prefix##_Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made), (comm, color, key, made)) \
    ROW(prefix##_Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made),        \
        (comm, type, key, info, made))                                                                      \
    ROW(prefix##_Cart_create,                                                                               \
        (MPI_Comm comm, int n, const int* sizes, const int* periods, int reorder, MPI_Comm* made),          \
        (comm, n, sizes, periods, reorder, made))

#define CREATOR(function, parameters, values)                                          \
    extern "C" RUBATO_API int function parameters {                                    \
        static const auto next = next_function(function, #function);                   \
        return create(__builtin_return_address(0), made, [&] { return next values; }); \
    }

#define ENTRIES(prefix)                                                                                            \
    extern "C" RUBATO_API int prefix##_Init(int* argc, char*** argv) {                                             \
        static const auto next = next_function(prefix##_Init, #prefix "_Init");                                    \
        static const auto next_thread = next_function(prefix##_Init_thread, #prefix "_Init_thread");               \
        return begin(__builtin_return_address(0), [&] {                                                            \
            int provided = 0;                                                                                      \
            return raises_level() ? next_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided) : next(argc, argv);    \
        });                                                                                                        \
    }                                                                                                              \
    extern "C" RUBATO_API int prefix##_Init_thread(int* argc, char*** argv, int required, int* provided) {         \
        static const auto next = next_function(prefix##_Init_thread, #prefix "_Init_thread");                      \
        return begin(__builtin_return_address(0),                                                                  \
                     [&] { return next(argc, argv, raises_level() ? MPI_THREAD_MULTIPLE : required, provided); }); \
    }                                                                                                              \
    extern "C" RUBATO_API int prefix##_Finalize() {                                                                \
        static const auto next = next_function(prefix##_Finalize, #prefix "_Finalize");                            \
        return end(__builtin_return_address(0), [] { return next(); });                                            \
    }

ENTRIES(MPI)
ENTRIES(PMPI)
CREATORS(CREATOR, MPI)
CREATORS(CREATOR, PMPI)
