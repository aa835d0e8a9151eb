// Collective calls as MPI has them, and how they are made.
#pragma once

#include "rubato/algorithm.hpp"

#include <mpi.h>

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#if (defined(RUBATO_FOR_OPEN_MPI) && !defined(OPEN_MPI)) || (defined(RUBATO_FOR_MPICH) && !defined(MPICH_VERSION))
#error "this Rubato is for another MPI than <mpi.h> is: use rubato_mpi with Open MPI, rubato_mpich with MPICH"
#endif

namespace rubato::mpi {

/// An MPI call failed.
class RUBATO_API mpi_error : public error {
public:
    mpi_error(std::string_view call, int code);
    int code() const { return code_; }

private:
    int code_;
};

/// A message of another rank was longer than this rank expected. The call has ended, with wrong data; the communicator
/// can still be used. Ranks hang if one of them expects data in an alltoallv or neighbor_alltoallv and the other has a
/// count of 0 for it, or the reverse: then nothing is sent. With MPICH the program ends instead if the user's
/// communicator had MPI_ERRORS_ARE_FATAL when Rubato's was made.
class RUBATO_API truncated : public mpi_error {
public:
    explicit truncated(int code) : mpi_error("a message", code) {}
};

/// Arrivals that are seen, not predicted: whoever comes to the call says so to one rank, the keeper. When nobody has
/// come for `patience`, and at the latest four times as long after the keeper came, the keeper tells everybody who is
/// there, and the plan is the one for "these are here, those are late". Everybody waits for that, so it is for large
/// vectors and ranks that are late by more than the patience. The keeper is the rank that came first the last time that
/// all know of; if it is late itself, it answers in its background thread, or the others wait for it. If ranks call
/// different collectives, or one of those who are there has wrong arguments, all ranks throw `error`, and the
/// communicator can still be used; a rank that comes later with another call throws alone, and the others may hang.
struct roll_call_options {
    time_ns patience = std::chrono::milliseconds(1);
};

/// Which algorithm, and how. Must be the same on all ranks of a call.
struct selection {
    /// Left to Rubato: see communicator::use_model.
    selection() = default;
    /// Throws if there is no such id.
    selection(const char* id) : use(&find_algorithm(id)) {}
    selection(const std::string& id) : use(&find_algorithm(id)) {}
    selection(std::string_view id) : use(&find_algorithm(id)) {}
    selection(const algorithm& a) : use(&a) {}

    const algorithm* use = nullptr;
    std::uint32_t segments = 1;  ///< 0: Rubato chooses, as it does without an algorithm
    std::vector<std::int32_t> radix{};
    /// For algorithms that use them; empty: predicted from the arrivals that ranks have exchanged.
    std::vector<time_ns> arrivals{};
    time_ns round_time{};  ///< see problem
    /// For algorithms that use them; empty: as MPI reports them.
    std::vector<std::int32_t> hosts{};
    /// For algorithms that use arrivals, instead of these.
    std::optional<roll_call_options> roll_call{};
};

/// The chunks of a v-form's buffer, in elements, one of each per rank or neighbour. If types are given, an alltoallv is
/// what MPI calls alltoallw: each chunk has its own datatype, displacements are in bytes, and the buffer's type is
/// ignored.
struct chunks {
    std::span<const std::int64_t> counts{};
    std::span<const std::int64_t> displacements{};
    std::span<const MPI_Datatype> types{};
};

/// A collective call as MPI has it; `send` or `recv` may be MPI_IN_PLACE where MPI allows it. Where MPI has one buffer,
/// count or datatype for both sides (bcast, reductions), it is the one of `recv`; so are the counts of a
/// reduce_scatter, which has no displacements. Arguments that MPI calls not significant on a rank are ignored.
struct RUBATO_API call {
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

    static call barrier();
    static call bcast(void* data, std::int64_t count, MPI_Datatype type, int root);
    static call reduce(const void* send, void* recv, std::int64_t count, MPI_Datatype type, MPI_Op op, int root);
    static call allreduce(const void* send, void* recv, std::int64_t count, MPI_Datatype type, MPI_Op op);
    static call scatter(const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                        std::int64_t recv_count, MPI_Datatype recv_type, int root);
    static call gather(const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                       std::int64_t recv_count, MPI_Datatype recv_type, int root);
    static call allgather(const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                          std::int64_t recv_count, MPI_Datatype recv_type);
    static call alltoall(const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                         std::int64_t recv_count, MPI_Datatype recv_type);
    static call reduce_scatter_block(const void* send, void* recv, std::int64_t recv_count, MPI_Datatype type,
                                     MPI_Op op);
    static call scan(const void* send, void* recv, std::int64_t count, MPI_Datatype type, MPI_Op op);
    static call exscan(const void* send, void* recv, std::int64_t count, MPI_Datatype type, MPI_Op op);
    static call scatterv(const void* send, const chunks& send_chunks, MPI_Datatype send_type, void* recv,
                         std::int64_t recv_count, MPI_Datatype recv_type, int root);
    static call gatherv(const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                        const chunks& recv_chunks, MPI_Datatype recv_type, int root);
    static call allgatherv(const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                           const chunks& recv_chunks, MPI_Datatype recv_type);
    static call alltoallv(const void* send, const chunks& send_chunks, MPI_Datatype send_type, void* recv,
                          const chunks& recv_chunks, MPI_Datatype recv_type);
    static call reduce_scatter(const void* send, void* recv, std::span<const std::int64_t> counts, MPI_Datatype type,
                               MPI_Op op);

    // Among neighbours, on a communicator with a topology. Chunks are in the order of MPI's neighbours.
    static call neighbor_allgather(const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                                   std::int64_t recv_count, MPI_Datatype recv_type);
    static call neighbor_alltoall(const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                                  std::int64_t recv_count, MPI_Datatype recv_type);
    static call neighbor_allgatherv(const void* send, std::int64_t send_count, MPI_Datatype send_type, void* recv,
                                    const chunks& recv_chunks, MPI_Datatype recv_type);
    static call neighbor_alltoallv(const void* send, const chunks& send_chunks, MPI_Datatype send_type, void* recv,
                                   const chunks& recv_chunks, MPI_Datatype recv_type);
    static call neighbor_reduce(const void* send, void* recv, std::int64_t count, MPI_Datatype type, MPI_Op op);
};

/// For a sparse exchange: data for a rank, and data of one.
struct sparse_send {
    int to = 0;
    std::span<const std::byte> data{};
};
struct sparse_receipt {
    int from = 0;
    std::vector<std::byte> data{};
};
/// How it is made. Consensus: messages and a barrier that nobody waits in (Hoefler, Siebert, Lumsdaine 2010). Counts:
/// ranks first sum up who gets how many messages. Alltoall: everybody tells everybody a size, then an alltoallv.
enum class sparse_way : std::uint8_t { chosen, consensus, counts, alltoall };

/// The MPI library's own collective for the same call. Throws if a count does not fit in MPI's int.
RUBATO_API void run_native(MPI_Comm comm, const call& c);

struct narrow_counts;

/// The same by the MPI library's own non-blocking collective. Once started, it must be waited for.
class RUBATO_API native_call {
public:
    /// Throws if a count does not fit in MPI's int.
    native_call(MPI_Comm comm, const call& c);
    ~native_call();
    native_call(const native_call&) = delete;
    native_call& operator=(const native_call&) = delete;

    void start();
    bool test();
    void wait();

private:
    MPI_Comm comm_;
    call call_;
    std::unique_ptr<narrow_counts> counts_;  // MPI reads them until the call has ended
    MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace rubato::mpi
