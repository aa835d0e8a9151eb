// Waiting for requests of which Rubato completes some.
#include "mpi/process.hpp"
#include "preload/guard.hpp"
#include "preload/native_requests.hpp"
#include "preload/next.hpp"
#include "preload/own_requests.hpp"
#include "preload/persistent.hpp"
#include "preload/session.hpp"

#include <thread>

namespace rubato::preload {
namespace {

/// Rubato's own calls, in any thread, are none of the program's.
bool is_programs(const void* site) {
    const session* const now = running.load(std::memory_order_acquire);
    return now != nullptr && !now->is_own(site) && !is_inside(site);
}

bool some_are_ours() { return own_requests().some_under_way(); }

void go_on() {
    const guard passing;
    (void)mpi::under_way_here().help(nullptr, false);
}

/// MPI_Testall. That of MPICH 4.0.2 reports errors that there are not if some requests are generalised and others
/// persistent messages.
int test_all(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {
#ifdef MPICH_VERSION
    for (int i = 0; i < count; ++i) {
        const int code = PMPI_Request_get_status(requests[i], flag, MPI_STATUS_IGNORE);
        if (code != MPI_SUCCESS || *flag == 0) return code;
    }
    *flag = 1;
    return PMPI_Waitall(count, requests, statuses);
#else
    return PMPI_Testall(count, requests, flag, statuses);
#endif
}

/// `attempt` is the form that does not wait; true if there is nothing to wait for any more.
template <class Native, class Attempt>
int wait(const Native& native, const Attempt& attempt) {
    while (some_are_ours()) {
        int code = MPI_SUCCESS;
        {
            const guard passing;
            if (attempt(code) || code != MPI_SUCCESS) return code;
        }
        go_on();
        std::this_thread::yield();  // one that it waits for may need this core
    }
    return native();
}

template <class Native>
int test(const Native& native) {
    if (some_are_ours()) go_on();
    return native();
}

}  // namespace
}  // namespace rubato::preload

using namespace rubato::preload;

#define WAITING(function, parameters, values, count, requests, attempt)       \
    extern "C" RUBATO_API int function parameters {                           \
        static const auto next = next_function(function, #function);          \
        if (!is_programs(__builtin_return_address(0))) return next values;    \
        const completed_requests noting(count, requests, true);               \
        calls_under_way calls(count, requests);                               \
        (requests) = calls.get();                                             \
        return wait([&] { return next values; }, [&](int& code) { attempt }); \
    }
#define TESTING(function, parameters, values, count, requests)             \
    extern "C" RUBATO_API int function parameters {                        \
        static const auto next = next_function(function, #function);       \
        if (!is_programs(__builtin_return_address(0))) return next values; \
        const completed_requests noting(count, requests);                  \
        calls_under_way calls(count, requests);                            \
        (requests) = calls.get();                                          \
        return test([&] { return next values; });                          \
    }

#define ENTRIES(prefix)                                                                                              \
    WAITING(prefix##_Wait, (MPI_Request * request, MPI_Status * status), (request, status), 1, request, {            \
        int flag = 0;                                                                                                \
        code = PMPI_Test(request, &flag, status);                                                                    \
        return flag != 0;                                                                                            \
    })                                                                                                               \
    WAITING(prefix##_Waitall, (int count, MPI_Request* requests, MPI_Status* statuses), (count, requests, statuses), \
            count, requests, {                                                                                       \
                int flag = 0;                                                                                        \
                code = test_all(count, requests, &flag, statuses);                                                   \
                return flag != 0;                                                                                    \
            })                                                                                                       \
    WAITING(prefix##_Waitany, (int count, MPI_Request* requests, int* index, MPI_Status* status),                    \
            (count, requests, index, status), count, requests, {                                                     \
                int flag = 0;                                                                                        \
                code = PMPI_Testany(count, requests, index, &flag, status);                                          \
                return flag != 0;                                                                                    \
            })                                                                                                       \
    WAITING(prefix##_Waitsome, (int count, MPI_Request* requests, int* ended, int* indices, MPI_Status* statuses),   \
            (count, requests, ended, indices, statuses), count, requests, {                                          \
                code = PMPI_Testsome(count, requests, ended, indices, statuses);                                     \
                return ended != nullptr && *ended != 0;                                                              \
            })                                                                                                       \
    TESTING(prefix##_Test, (MPI_Request * request, int* flag, MPI_Status* status), (request, flag, status), 1,       \
            request)                                                                                                 \
    extern "C" RUBATO_API int prefix##_Testall(int count, MPI_Request* requests, int* flag, MPI_Status* statuses) {  \
        static const auto next = next_function(prefix##_Testall, #prefix "_Testall");                                \
        if (!is_programs(__builtin_return_address(0))) return next(count, requests, flag, statuses);                 \
        const completed_requests noting(count, requests);                                                            \
        calls_under_way calls(count, requests);                                                                      \
        requests = calls.get();                                                                                      \
        return test([&] {                                                                                            \
            if (!own_requests().some_known()) return next(count, requests, flag, statuses);                          \
            const guard passing;                                                                                     \
            return test_all(count, requests, flag, statuses);                                                        \
        });                                                                                                          \
    }                                                                                                                \
    TESTING(prefix##_Testany, (int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status),         \
            (count, requests, index, flag, status), count, requests)                                                 \
    TESTING(prefix##_Testsome, (int count, MPI_Request* requests, int* ended, int* indices, MPI_Status* statuses),   \
            (count, requests, ended, indices, statuses), count, requests)                                            \
    extern "C" RUBATO_API int prefix##_Request_get_status(MPI_Request request, int* flag, MPI_Status* status) {      \
        static const auto next = next_function(prefix##_Request_get_status, #prefix "_Request_get_status");          \
        if (!is_programs(__builtin_return_address(0))) return next(request, flag, status);                           \
        calls_under_way calls(1, &request);                                                                          \
        return test([&] { return next(*calls.get(), flag, status); });                                               \
    }

ENTRIES(MPI)
ENTRIES(PMPI)
