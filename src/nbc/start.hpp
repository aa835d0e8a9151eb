// How functions of LibNBC's interface start something, and the time that this takes.
#pragma once

#include "mpi/looked_at_calls.hpp"
#include "nbc/handles.hpp"

namespace rubato::nbc {

/// Seconds spent in calls, see NBC_Print_times.
struct times_spent {
    double start = 0;
    double test = 0;
    double wait = 0;
};
inline times_spent spent{};

class stopwatch {
public:
    explicit stopwatch(double& into) : into_(into) {}
    ~stopwatch() { into_ += MPI_Wtime() - begin_; }
    stopwatch(const stopwatch&) = delete;
    stopwatch& operator=(const stopwatch&) = delete;

private:
    double& into_;
    double begin_ = MPI_Wtime();
};

/// The body of the function `name`. `make` makes the operation on the communicator, once that is known.
template <class Make>
int start(const char* name, MPI_Comm comm, NBC_Handle* handle, Make make) {
    return answer(name, [&] {
        const stopwatch watch(spent.start);
        if (handle != nullptr) *handle = {};
        known& k = prepared(comm);
        if (handle == nullptr) mpi::looked_at_calls(*k.ours).pass();  // other ranks may make the call
        NBC_Handle& into = check_handle(handle);
        give(into, make(k), k);
    });
}

}  // namespace rubato::nbc

// The name that tools may put their own in front of.
#define NBC_ALIAS(name) \
    extern "C" RUBATO_NBC_API decltype(PNBC_##name) NBC_##name __attribute__((weak, alias("PNBC_" #name)))
