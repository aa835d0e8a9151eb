// LibNBC's calls among neighbours, on communicators with a topology.
#include "engine/mpi/process_topology.hpp"
#include "libnbc/nbc/start.hpp"
#include "rubato/nbc_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <vector>

namespace rubato::libnbc {
namespace {

using engine::check;
using engine::misuse;

/// The schedule of one rank that sends to one and receives from one; either may be none, or both this rank.
NBC_Schedule shift(const void* send, int send_count, MPI_Datatype send_type, int to, void* recv, int recv_count,
                   MPI_Datatype recv_type, int from, int me) {
    NBC_Schedule made = nullptr;
    const auto done = [](int code) {
        if (code != NBC_OK)
            throw misuse(code == NBC_DATATYPE_NOT_SUPPORTED ? MPI_ERR_TYPE : MPI_ERR_ARG, "no shift",
                         "an argument is wrong", "see what was said before");
    };
    done(NBC_Sched_create(&made));
    try {
        void* const data = const_cast<void*>(send);
        if (to == me && from == me) {
            done(NBC_Sched_copy(data, send_count, send_type, recv, recv_count, recv_type, &made));
        } else {
            if (to != MPI_PROC_NULL) done(NBC_Sched_send(data, send_count, send_type, to, &made));
            if (from != MPI_PROC_NULL) done(NBC_Sched_recv(recv, recv_count, recv_type, from, &made));
        }
        done(NBC_Sched_commit(&made));
    } catch (...) {
        NBC_Sched_free(&made);
        throw;
    }
    return made;
}

}  // namespace
}  // namespace rubato::libnbc

using namespace rubato;
using namespace rubato::libnbc;

int PNBC_Ineighbor_xchg(void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                        MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle) {
    return PNBC_Ineighbor_alltoall(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, comm, handle);
}

int PNBC_Ineighbor_xchgv(void* sendbuf, int* sendcounts, int* sdispls, MPI_Datatype sendtype, void* recvbuf,
                         int* recvcounts, int* rdispls, MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle) {
    return PNBC_Ineighbor_alltoallv(sendbuf, sendcounts, sdispls, sendtype, recvbuf, recvcounts, rdispls, recvtype,
                                    comm, handle);
}

int PNBC_Icart_shift_xchg(void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                          MPI_Datatype recvtype, int direction, int disp, MPI_Comm comm, NBC_Handle* handle) {
    return timed("NBC_Icart_shift_xchg", spent.start, [&] {
        if (handle != nullptr) *handle = {};
        engine::check_communicator(comm);
        if (engine::topology_of(comm) != MPI_CART)
            throw misuse(MPI_ERR_TOPOLOGY, "a communicator without a grid", "data is shifted along a dimension of one",
                         "make one with MPI_Cart_create");
        NBC_Schedule made = nullptr;
        std::exception_ptr wrong;
        try {
            int from = MPI_PROC_NULL;
            int to = MPI_PROC_NULL;
            engine::check(MPI_Cart_shift(comm, direction, disp, &from, &to), "MPI_Cart_shift");
            made = shift(sendbuf, sendcount, sendtype, to, recvbuf, recvcount, recvtype, from, engine::rank_in(comm));
        } catch (...) {
            wrong = std::current_exception();
        }
        // Without a schedule it is refused, and counted: other ranks may have started theirs.
        const int code = NBC_Start(handle, comm, wrong ? nullptr : &made);
        if (wrong) std::rethrow_exception(wrong);
        if (code == NBC_OK) return;
        NBC_Sched_free(&made);
        throw misuse(MPI_ERR_ARG, "no shift", "it could not be started", "see what was said before");
    });
}

int PNBC_Comm_neighbors_count(MPI_Comm comm, int* indegree, int* outdegree, int* weighted) {
    return answer("NBC_Comm_neighbors_count", [&] {
        if (indegree == nullptr || outdegree == nullptr || weighted == nullptr)
            throw misuse(MPI_ERR_ARG, "no place for the result", "the call has three",
                         "pass the addresses of variables");
        engine::check_communicator(comm);
        const int kind = engine::topology_of(comm);
        if (kind == MPI_UNDEFINED) refuse_topology();
        const engine::degrees around = engine::degrees_of(comm);
        *indegree = around.sources;
        *outdegree = around.destinations;
        *weighted = 0;
        if (kind == MPI_DIST_GRAPH)
            engine::check(MPI_Dist_graph_neighbors_count(comm, indegree, outdegree, weighted),
                          "MPI_Dist_graph_neighbors_count");
    });
}

int PNBC_Comm_neighbors(MPI_Comm comm, int maxindegree, int* sources, int* sourceweights, int maxoutdegree,
                        int* destinations, int* destweights) {
    return answer("NBC_Comm_neighbors", [&] {
        engine::check_communicator(comm);
        const int kind = engine::topology_of(comm);
        if (kind == MPI_UNDEFINED) refuse_topology();
        if (kind == MPI_DIST_GRAPH)
            return engine::check(MPI_Dist_graph_neighbors(comm, maxindegree, sources, sourceweights, maxoutdegree,
                                                          destinations, destweights),
                                 "MPI_Dist_graph_neighbors");
        // The same ranks on both sides.
        std::vector<int> around(static_cast<std::size_t>(engine::degrees_of(comm).sources));
        if (kind == MPI_CART) {
            for (std::size_t d = 0; d < around.size() / 2; ++d)
                engine::check(MPI_Cart_shift(comm, static_cast<int>(d), 1, &around[2 * d], &around[2 * d + 1]),
                              "MPI_Cart_shift");
        } else if (!around.empty()) {
            engine::check(
                MPI_Graph_neighbors(comm, engine::rank_in(comm), static_cast<int>(around.size()), around.data()),
                "MPI_Graph_neighbors");
        }
        const auto copy = [&around](int* to, int most) {
            if (to == nullptr && most > 0 && !around.empty())
                throw misuse(MPI_ERR_ARG, "no place for the neighbours", fmt::format("there are {}", around.size()),
                             "pass an array");
            std::copy_n(around.begin(), std::clamp<std::ptrdiff_t>(most, 0, std::ssize(around)), to);
        };
        copy(sources, maxindegree);
        copy(destinations, maxoutdegree);
    });
}

NBC_ALIAS(Ineighbor_xchg);
NBC_ALIAS(Ineighbor_xchgv);
NBC_ALIAS(Icart_shift_xchg);
NBC_ALIAS(Comm_neighbors_count);
NBC_ALIAS(Comm_neighbors);
