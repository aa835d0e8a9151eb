#include "mpi_counts.hpp"

#include <dlfcn.h>
#include <mpi.h>

#include <atomic>
#include <vector>

namespace {

std::atomic<long> requests{0};
std::atomic<long> communicators{0};
std::atomic<long> messages{0};

/// Counts the requests that a call ends.
class ending {
public:
    ending(int n, const MPI_Request* all) : now_(all), before_(all, all + n) {}
    ~ending() {
        for (std::size_t i = 0; i < before_.size(); ++i)
            if (before_[i] != MPI_REQUEST_NULL && now_[i] == MPI_REQUEST_NULL) --requests;
    }
    ending(const ending&) = delete;
    ending& operator=(const ending&) = delete;

private:
    const MPI_Request* now_;
    std::vector<MPI_Request> before_;
};

/// The MPI library's function, which the function of that name here hides.
template <class F>
F* library_function(F&, const char* name) {
    return reinterpret_cast<F*>(dlsym(RTLD_NEXT, name));
}

int made(int code) {
    if (code == MPI_SUCCESS) ++communicators;
    return code;
}

}  // namespace

rubato::testing::mpi_counts rubato::testing::count_mpi() { return {requests, communicators, messages}; }

extern "C" {

int MPI_Isend(const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request* request) {
    ++requests;
    ++messages;
    return PMPI_Isend(data, n, type, to, tag, comm, request);
}
int MPI_Send(const void* data, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    ++messages;
    return PMPI_Send(data, n, type, to, tag, comm);
}
int MPI_Irecv(void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Request* request) {
    ++requests;
    --messages;
    return PMPI_Irecv(data, n, type, from, tag, comm, request);
}
int MPI_Recv(void* data, int n, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
    --messages;
    return PMPI_Recv(data, n, type, from, tag, comm, status);
}
int MPI_Test_cancelled(const MPI_Status* status, int* yes) {
    const int code = PMPI_Test_cancelled(status, yes);
    if (*yes != 0) ++messages;  // a receive that took none
    return code;
}
// Rubato calls these by both names.
int PMPI_Iallgather(const void* send, int n, MPI_Datatype type, void* recv, int m, MPI_Datatype recv_type,
                    MPI_Comm comm, MPI_Request* request) {
    static const auto next = library_function(PMPI_Iallgather, "PMPI_Iallgather");
    ++requests;
    return next(send, n, type, recv, m, recv_type, comm, request);
}
int MPI_Iallgather(const void* send, int n, MPI_Datatype type, void* recv, int m, MPI_Datatype recv_type, MPI_Comm comm,
                   MPI_Request* request) {
    return PMPI_Iallgather(send, n, type, recv, m, recv_type, comm, request);
}
int PMPI_Ireduce_scatter_block(const void* send, void* recv, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                               MPI_Request* request) {
    static const auto next = library_function(PMPI_Ireduce_scatter_block, "PMPI_Ireduce_scatter_block");
    ++requests;
    return next(send, recv, n, type, op, comm, request);
}
int PMPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
    static const auto next = library_function(PMPI_Test, "PMPI_Test");
    const ending e(1, request);
    return next(request, done, status);
}
int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) { return PMPI_Test(request, done, status); }
int PMPI_Wait(MPI_Request* request, MPI_Status* status) {
    static const auto next = library_function(PMPI_Wait, "PMPI_Wait");
    const ending e(1, request);
    return next(request, status);
}
int MPI_Wait(MPI_Request* request, MPI_Status* status) { return PMPI_Wait(request, status); }
int MPI_Testall(int n, MPI_Request* all, int* done, MPI_Status* statuses) {
    const ending e(n, all);
    return PMPI_Testall(n, all, done, statuses);
}
int MPI_Waitall(int n, MPI_Request* all, MPI_Status* statuses) {
    const ending e(n, all);
    return PMPI_Waitall(n, all, statuses);
}
int MPI_Waitsome(int n, MPI_Request* all, int* done, int* which, MPI_Status* statuses) {
    const ending e(n, all);
    return PMPI_Waitsome(n, all, done, which, statuses);
}
int MPI_Testsome(int n, MPI_Request* all, int* done, int* which, MPI_Status* statuses) {
    const ending e(n, all);
    return PMPI_Testsome(n, all, done, which, statuses);
}
int MPI_Request_free(MPI_Request* request) {
    const ending e(1, request);
    return PMPI_Request_free(request);
}
int MPI_Comm_create(MPI_Comm of, MPI_Group group, MPI_Comm* comm) { return made(PMPI_Comm_create(of, group, comm)); }
int MPI_Comm_split(MPI_Comm of, int color, int key, MPI_Comm* comm) {
    return made(PMPI_Comm_split(of, color, key, comm));
}
int MPI_Comm_split_type(MPI_Comm of, int type, int key, MPI_Info info, MPI_Comm* comm) {
    return made(PMPI_Comm_split_type(of, type, key, info, comm));
}
int MPI_Comm_free(MPI_Comm* comm) {
    --communicators;
    return PMPI_Comm_free(comm);
}

}  // extern "C"
