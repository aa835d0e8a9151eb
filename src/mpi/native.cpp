// The MPI library's own collectives, blocking or not.
#include "mpi/calls.hpp"
#include "mpi/datatype.hpp"
#include "mpi/narrow.hpp"

namespace rubato::mpi {
namespace {

/// A w-form. Blocks if `request` is null.
void make_typed(MPI_Comm comm, const call& c, const narrow_counts& n, MPI_Request* request) {
    const auto run = [&](auto blocking, auto nonblocking, const auto& from, const auto& to, const char* name) {
        const auto made = [&](auto function, auto... more) {
            return function(c.send, n.send_counts.data(), from.data(), n.send_types.data(), c.recv,
                            n.recv_counts.data(), to.data(), n.recv_types.data(), comm, more...);
        };
        check(request == nullptr ? made(blocking) : made(nonblocking, request), name);
    };
    if (traits(c.what).on_graph)
        run(MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, n.send_bytes, n.recv_bytes, "MPI_Neighbor_alltoallw");
    else
        run(MPI_Alltoallw, MPI_Ialltoallw, n.send_places, n.recv_places, "MPI_Alltoallw");
}

/// Blocks if `request` is null.
void make(MPI_Comm comm, const call& c, const narrow_counts& n, MPI_Request* request) {
    // calls.def uses these names.
    const void* const send = c.send;
    void* const recv = c.recv;
    const MPI_Datatype send_type = c.send_type;
    const MPI_Datatype recv_type = c.recv_type;
    const MPI_Op op = c.op;
    const int root = c.root;
    const int send_count = n.sends;
    const int recv_count = n.recvs;
    const int* const send_counts = n.send_counts.data();
    const int* const send_places = n.send_places.data();
    const int* const recv_counts = n.recv_counts.data();
    const int* const recv_places = n.recv_places.data();
#define CALL(what, name, ...)                                                   \
    case collective::what:                                                      \
        if (request == nullptr)                                                 \
            check(MPI_##name(ARGUMENTS(__VA_ARGS__)), "MPI_" #name);            \
        else                                                                    \
            check(MPI_I##what(ARGUMENTS(__VA_ARGS__), request), "MPI_I" #what); \
        break;
    if (n.typed) return make_typed(comm, c, n, request);
    switch (c.what) {
#include "mpi/calls.def"
        case collective::neighbor_reduce:
            throw error("a native neighbor_reduce", "MPI has none", "use one of Rubato's algorithms");
    }
}

}  // namespace

void run_native(MPI_Comm comm, const call& c) { make(comm, c, narrow_counts(c), nullptr); }

native_call::native_call(MPI_Comm comm, const call& c)
    : comm_(comm), call_(c), counts_(std::make_unique<narrow_counts>(c)) {}
native_call::~native_call() = default;

void native_call::start() { make(comm_, call_, *counts_, &request_); }

bool native_call::test() {
    int done = 0;
    check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
}

void native_call::wait() { check(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait"); }

}  // namespace rubato::mpi
