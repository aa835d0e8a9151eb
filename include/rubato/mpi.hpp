// Rubato's collectives on MPI communicators.
#pragma once

#include "rubato/algorithm.hpp"
#include "rubato/plan_cache.hpp"

#include <mpi.h>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::mpi {

/// An MPI call failed.
class RUBATO_API mpi_error : public error {
public:
    mpi_error(std::string_view call, int code);
    int code() const { return code_; }

private:
    int code_;
};

/// Which algorithm, and how. Must be the same on all ranks of a call.
struct selection {
    /// Throws if there is no such id.
    selection(const char* id) : use(&find_algorithm(id)) {}
    selection(const std::string& id) : use(&find_algorithm(id)) {}
    selection(std::string_view id) : use(&find_algorithm(id)) {}
    selection(const algorithm& a) : use(&a) {}

    const algorithm* use;
    std::uint32_t segments = 1;
    std::vector<std::int32_t> radix{};
    std::vector<time_ns> arrivals{};
    time_ns round_time{};  ///< see problem
};

/// The chunks of a v-form's buffer, in elements, one of each per rank.
struct chunks {
    std::span<const std::int64_t> counts{};
    std::span<const std::int64_t> displacements{};
};

/// A collective call as MPI has it; `send` or `recv` may be MPI_IN_PLACE where MPI allows it. Where MPI has one buffer,
/// count or datatype for both sides (bcast, reductions), it is the one of `recv`. What MPI does not call significant on
/// a rank is not looked at.
struct call {
    collective what = collective::barrier;
    const void* send = nullptr;
    std::int64_t send_count = 0;
    chunks send_chunks{};
    MPI_Datatype send_type = MPI_BYTE;
    void* recv = nullptr;
    std::int64_t recv_count = 0;
    chunks recv_chunks{};
    MPI_Datatype recv_type = MPI_BYTE;
    MPI_Op op = MPI_OP_NULL;
    int root = 0;
};

/// The MPI library's own collective for the same call. Throws if a count does not fit in MPI's int.
RUBATO_API void run_native(MPI_Comm comm, const call& c);

/// Rubato on one communicator: a private communicator, plans already made, scratch memory. Not for several threads at
/// once; several of these may be used by several threads if MPI allows it. Counts are 64 bits wide. Making one and
/// destroying it are collective; destroy it before MPI_Finalize. The members throw `error`. A call that is refused for
/// its arguments leaves it usable; after a failed message it is not, and other ranks may hang, as with a failed MPI
/// call.
class RUBATO_API communicator {
public:
    /// Collective over `user`, which must not be an inter-communicator. Arrivals are rounded as rank 0 says.
    explicit communicator(MPI_Comm user, plan_cache::settings plans = {});
    ~communicator();
    communicator(communicator&&) noexcept;
    communicator& operator=(communicator&&) noexcept;

    int rank() const;
    int size() const;
    /// How often a plan was found instead of made, and what plans take.
    plan_cache::statistics plans() const;

    void run(const selection& how, const call& c);

    void barrier(const selection& how);
    void bcast(const selection& how, void* data, std::int64_t count, MPI_Datatype type, int root);
    void reduce(const selection& how, const void* send, void* recv, std::int64_t count, MPI_Datatype type, MPI_Op op,
                int root);
    void allreduce(const selection& how, const void* send, void* recv, std::int64_t count, MPI_Datatype type,
                   MPI_Op op);
    void scatter(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                 std::int64_t recv_count, MPI_Datatype recv_type, int root);
    void gather(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                std::int64_t recv_count, MPI_Datatype recv_type, int root);
    void allgather(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                   std::int64_t recv_count, MPI_Datatype recv_type);
    void alltoall(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                  std::int64_t recv_count, MPI_Datatype recv_type);
    void reduce_scatter_block(const selection& how, const void* send, void* recv, std::int64_t recv_count,
                              MPI_Datatype type, MPI_Op op);
    void scan(const selection& how, const void* send, void* recv, std::int64_t count, MPI_Datatype type, MPI_Op op);
    void exscan(const selection& how, const void* send, void* recv, std::int64_t count, MPI_Datatype type, MPI_Op op);
    void scatterv(const selection& how, const void* send, const chunks& send_chunks, MPI_Datatype send_type, void* recv,
                  std::int64_t recv_count, MPI_Datatype recv_type, int root);
    void gatherv(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                 const chunks& recv_chunks, MPI_Datatype recv_type, int root);
    void allgatherv(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                    const chunks& recv_chunks, MPI_Datatype recv_type);
    void alltoallv(const selection& how, const void* send, const chunks& send_chunks, MPI_Datatype send_type,
                   void* recv, const chunks& recv_chunks, MPI_Datatype recv_type);

private:
    class state;
    std::unique_ptr<state> state_;
};

}  // namespace rubato::mpi
