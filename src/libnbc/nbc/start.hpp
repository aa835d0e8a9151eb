// How functions of LibNBC's interface start something, and the time that this takes.
#pragma once

#include "engine/mpi/inner_communicator.hpp"
#include "libnbc/nbc/handles.hpp"

#include <memory>
#include <vector>

namespace rubato::libnbc {

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

[[noreturn]] inline void refuse_topology() {
    throw engine::misuse(MPI_ERR_TOPOLOGY, "a communicator without neighbours",
                         "MPI gives it no topology, or an edge of its graph goes one way only",
                         "make one with MPI_Cart_create or MPI_Dist_graph_create_adjacent");
}

/// The body of a function whose time is added up.
template <class F>
int timed(const char* name, double& into, F f) {
    return answer(name, [&] {
        const stopwatch watch(into);
        f();
    });
}

/// The body of the function `name`. `make` makes the operation on the communicator, once that is known.
template <class Make>
int start(const char* name, MPI_Comm comm, NBC_Handle* handle, Make make) {
    return timed(name, spent.start, [&] {
        if (handle != nullptr) *handle = {};
        known& k = prepared(comm);
        if (handle == nullptr) engine::inner_communicator(*k.ours).pass();  // other ranks may make the call
        NBC_Handle& into = check_handle(handle);
        give(into, make(k), k);
    });
}

/// The chunks of a v-form, or of a w-form with datatypes and displacements in bytes, as LibNBC has them.
struct narrow_chunks {
    const int* counts = nullptr;
    const int* places = nullptr;
    const MPI_Datatype* types = nullptr;
    const MPI_Aint* byte_places = nullptr;  ///< instead of places
};
/// Without datatypes there are no chunks.
inline narrow_chunks typed(const int* counts, const int* places, const MPI_Datatype* types) {
    return types == nullptr ? narrow_chunks{} : narrow_chunks{counts, places, types};
}
inline narrow_chunks typed(const int* counts, const MPI_Aint* places, const MPI_Datatype* types) {
    return types == nullptr ? narrow_chunks{} : narrow_chunks{counts, nullptr, types, places};
}

// What is refused here is counted, as other ranks may make the call.

/// Starts it. Where no algorithm is named, Rubato chooses.
std::unique_ptr<operation> start_collective(mpi::communicator& on, mpi::selection how, const mpi::call& c,
                                            narrow_chunks send, narrow_chunks recv);

}  // namespace rubato::libnbc

// The name that tools may put their own in front of.
#define NBC_ALIAS(name) \
    extern "C" RUBATO_NBC_API decltype(PNBC_##name) NBC_##name __attribute__((weak, alias("PNBC_" #name)))
