// Waiting for requests of which Rubato completes some.
#include "dropin/preload/gateway.hpp"
#include "dropin/preload/native_requests.hpp"
#include "dropin/preload/own_requests.hpp"
#include "dropin/preload/persistent.hpp"
#include "dropin/preload/session.hpp"
#include "engine/mpi/process.hpp"

#include <thread>

namespace rubato::dropin {
namespace {

void go_on() {
    const guard passing;
    (void)engine::under_way_here().help(nullptr, false);
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
    while (own_requests().some_under_way()) {
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
    if (own_requests().some_under_way()) go_on();
    return native();
}

}  // namespace
}  // namespace rubato::dropin

using namespace rubato::dropin;

// What waits for requests, or tests them.
#define COMPLETING(name, parameters, values, count, requests, waits, ...)                                \
    ENTRY_POINTS(                                                                                        \
        name, parameters, if (session_of_call(site) == nullptr) return next values;                      \
        const completed_requests noting(count, requests, waits); calls_under_way calls(count, requests); \
        (requests) = calls.get(); const auto native = [&] { return next values; }; __VA_ARGS__)
/// `attempt` is the form that does not wait; it sets `code`.
#define WAITING(name, parameters, values, count, requests, attempt) \
    COMPLETING(name, parameters, values, count, requests, true, return wait(native, [&](int& code) { attempt });)
#define TESTING(name, parameters, values, count, requests) \
    COMPLETING(name, parameters, values, count, requests, false, return test(native);)

WAITING(Wait, (MPI_Request * request, MPI_Status* status), (request, status), 1, request, {
    int flag = 0;
    code = PMPI_Test(request, &flag, status);
    return flag != 0;
})
WAITING(Waitall, (int count, MPI_Request* requests, MPI_Status* statuses), (count, requests, statuses), count, requests,
        {
            int flag = 0;
            code = test_all(count, requests, &flag, statuses);
            return flag != 0;
        })
WAITING(Waitany, (int count, MPI_Request* requests, int* index, MPI_Status* status), (count, requests, index, status),
        count, requests, {
            int flag = 0;
            code = PMPI_Testany(count, requests, index, &flag, status);
            return flag != 0;
        })
WAITING(Waitsome, (int count, MPI_Request* requests, int* ended, int* indices, MPI_Status* statuses),
        (count, requests, ended, indices, statuses), count, requests, {
            code = PMPI_Testsome(count, requests, ended, indices, statuses);
            return ended != nullptr && *ended != 0;
        })
TESTING(Test, (MPI_Request * request, int* flag, MPI_Status* status), (request, flag, status), 1, request)
COMPLETING(Testall, (int count, MPI_Request* requests, int* flag, MPI_Status* statuses),
           (count, requests, flag, statuses), count, requests, false, return test([&] {
               if (!own_requests().some_known()) return native();
               const guard passing;
               return test_all(count, requests, flag, statuses);
           });)
TESTING(Testany, (int count, MPI_Request* requests, int* index, int* flag, MPI_Status* status),
        (count, requests, index, flag, status), count, requests)
TESTING(Testsome, (int count, MPI_Request* requests, int* ended, int* indices, MPI_Status* statuses),
        (count, requests, ended, indices, statuses), count, requests)
ENTRY_POINTS(Request_get_status, (MPI_Request request, int* flag, MPI_Status* status), {
    if (session_of_call(site) == nullptr) return next(request, flag, status);
    calls_under_way calls(1, &request);
    return test([&] { return next(*calls.get(), flag, status); });
})
