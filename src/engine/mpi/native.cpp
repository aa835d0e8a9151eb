// The MPI library's own collectives, blocking or not.
#include "engine/mpi/calls.hpp"
#include "engine/mpi/datatype.hpp"
#include "rubato/mpi.hpp"

#include <fmt/format.h>

#include <climits>

namespace rubato::mpi {

inline int narrow(std::int64_t count) {
    if (count < INT_MIN || count > INT_MAX)
        throw error(fmt::format("a count of {}", count), "the MPI library's collectives take 32 bits",
                    "use a larger datatype, or one of rubato's algorithms");
    return static_cast<int>(count);
}

inline std::vector<int> narrow(std::span<const std::int64_t> counts) {
    std::vector<int> result;
    result.reserve(counts.size() + 1);  // see copy_of
    for (const std::int64_t n : counts) result.push_back(narrow(n));
    return result;
}

/// Never at a null pointer: Open MPI refuses one even if there are no neighbours.
template <class To, class From>
std::vector<To> copy_of(std::span<const From> values) {
    std::vector<To> result;
    result.reserve(values.size() + 1);
    result.assign(values.begin(), values.end());
    return result;
}

struct narrow_counts {
    explicit narrow_counts(const call& c)
        : sends(narrow(c.send_count)),
          recvs(narrow(c.recv_count)),
          typed(!c.send_chunks.types.empty() || !c.recv_chunks.types.empty()),
          send_counts(narrow(c.send_chunks.counts)),
          recv_counts(narrow(c.recv_chunks.counts)) {
        if (typed) {
            send_types = copy_of<MPI_Datatype>(c.send_chunks.types);
            recv_types = copy_of<MPI_Datatype>(c.recv_chunks.types);
        }
        if (typed && traits(c.what).on_graph) {
            send_bytes = copy_of<MPI_Aint>(c.send_chunks.displacements);
            recv_bytes = copy_of<MPI_Aint>(c.recv_chunks.displacements);
        } else {
            send_places = narrow(c.send_chunks.displacements);
            recv_places = narrow(c.recv_chunks.displacements);
        }
    }

    int sends, recvs;
    bool typed;  ///< a w-form
    std::vector<int> send_counts, recv_counts;
    std::vector<int> send_places{}, recv_places{};
    std::vector<MPI_Aint> send_bytes{}, recv_bytes{};  ///< instead of these, of a w-form among neighbours
    std::vector<MPI_Datatype> send_types{}, recv_types{};
};

namespace {

/// A w-form. Blocks if `request` is null.
void make_typed(MPI_Comm comm, const call& c, const narrow_counts& n, MPI_Request* request) {
    const auto run = [&](auto blocking, auto nonblocking, const auto& from, const auto& to, const char* name) {
        const auto made = [&](auto function, auto... more) {
            return function(c.send, n.send_counts.data(), from.data(), n.send_types.data(), c.recv,
                            n.recv_counts.data(), to.data(), n.recv_types.data(), comm, more...);
        };
        engine::check(request == nullptr ? made(blocking) : made(nonblocking, request), name);
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
#define CALL(what, name, ...)                                                           \
    case collective::what:                                                              \
        if (request == nullptr)                                                         \
            engine::check(MPI_##name(ARGUMENTS(__VA_ARGS__)), "MPI_" #name);            \
        else                                                                            \
            engine::check(MPI_I##what(ARGUMENTS(__VA_ARGS__), request), "MPI_I" #what); \
        break;
    if (n.typed) return make_typed(comm, c, n, request);
    switch (c.what) {
#include "engine/mpi/calls.def"
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
    engine::check(MPI_Test(&request_, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
}

void native_call::wait() { engine::check(MPI_Wait(&request_, MPI_STATUS_IGNORE), "MPI_Wait"); }

}  // namespace rubato::mpi
