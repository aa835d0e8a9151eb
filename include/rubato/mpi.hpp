// Rubato's collectives on MPI communicators.
#pragma once

#include "rubato/algorithm.hpp"
#include "rubato/background.hpp"
#include "rubato/clock.hpp"
#include "rubato/model.hpp"
#include "rubato/tuned_rules.hpp"

#include <mpi.h>

#include <list>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <thread>
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

/// How a communicator works.
struct settings {
    // Rank 0's, of all ranks:
    std::string predictor = "average:window=5";  ///< of arrivals; `rubato predict --help` lists them
    std::int32_t exchange_every = 8;             ///< calls of an operation: how often ranks tell when they arrived
    /// Smaller operations, in bytes, are not announced, and nobody exchanges for them unless all say beforehand when
    /// they will come. V-forms, whose sizes differ, count as large.
    std::int64_t from_bytes = std::int64_t{4} << 10;
    time_ns quantum{};  ///< arrivals are rounded to multiples of it; 0: half of the round time
    // Of this rank:
    std::size_t most_plans = std::size_t{64} << 20;  ///< bytes of plans that are kept
    std::size_t most_early = std::size_t{64} << 20;  ///< bytes kept for a rank that has not arrived
    bool background = true;                          ///< let the process's background thread work for it
    own_clock clock = own_time;
    bool clock_is_common = false;       ///< it shows the same on all ranks already; on all ranks or none
    std::vector<std::int32_t> hosts{};  ///< of each rank, see problem; empty, on all ranks or none: as MPI reports them
    /// Of each rank, see problem: algorithms then take near ranks one after the other. Rank 0's are used, as places_in
    /// (rubato/reorder.hpp) finds them; empty: nothing is known of the network.
    std::vector<std::int32_t> places{};
};

/// Of the background thread of this process, which is started when a communicator first needs it. Unless this is
/// called, they are read from the environment: RUBATO_BACKGROUND (auto, on or off), RUBATO_BACKGROUND_CORE,
/// RUBATO_BACKGROUND_NICE and RUBATO_BACKGROUND_INTERVAL. Throws once the thread is in use.
RUBATO_API void set_background(const background_settings& how);

struct named_call;
/// A call without its buffers and handles; see communicator::outline_of.
struct outline {
    std::shared_ptr<const named_call> what{};
};

/// How often a plan was found instead of made, and what plans take.
struct plan_statistics {
    std::uint64_t hits = 0;
    std::uint64_t misses = 0;
    std::size_t plans = 0;
    std::size_t bytes = 0;

    double hit_rate() const { return hits == 0 ? 0 : static_cast<double>(hits) / static_cast<double>(hits + misses); }
};

class persistent_call;
class looked_at_calls;
class request;
struct started_call;

/// Rubato on one communicator: a private communicator, plans already made, scratch memory, a clock that its ranks
/// share, a record of this rank's arrivals and exits. Not for several threads at once; several communicators may be
/// used by several threads if MPI allows it. Counts are 64 bits wide. Making one and destroying it are collective;
/// destroy it before MPI_Finalize. The members throw `error`. The communicator stays usable after a call that is
/// refused for its arguments or had a message that was too long (`truncated`). After any other failed message it is not
/// usable, and other ranks may hang, as with a failed MPI call. They may also hang where lengths differ so much that
/// ranks cut their data into different numbers of segments.
///
/// Algorithms whose id ends in "+early" begin before this rank calls them, in the background thread, if the rank has
/// named them (expect) or another rank that has arrived has announced them. That needs MPI_THREAD_MULTIPLE; with less,
/// they make progress only in calls of any member, such as progress().
class RUBATO_API communicator {
public:
    /// Collective over `user`, which must not be an inter-communicator.
    explicit communicator(MPI_Comm user, settings how = {});
    ~communicator();
    communicator(communicator&&) noexcept;
    communicator& operator=(communicator&&) noexcept;

    int rank() const;
    int size() const;
    /// The host of each rank, as problem::hosts has it.
    const std::vector<std::int32_t>& hosts() const;
    /// Who has data for whom, if MPI gives the communicator a topology; else null.
    const std::shared_ptr<const graph>& neighbours() const;
    plan_statistics plans() const;
    const common_clock& clock() const;
    /// How many collectives had begun here when the rank arrived.
    std::uint64_t begun_early() const;
    /// The arrivals that the plan of the last collective used; empty if it used none.
    std::vector<time_ns> planned_by() const;

    /// Records from now on when the steps of collectives begin and end here, on the common clock; forgets earlier ones.
    void record_steps();
    /// Empty if they are not recorded. Algorithms that choose while they run record no steps.
    std::vector<recorded_step> recorded_steps() const;

    /// Collective: measures clocks again. They drift apart, so call it now and then, while no call is under way.
    void synchronise();

    /// Collective: from now on, where no algorithm is named, Rubato chooses by simulation under this model of the
    /// network (rank 0's is used), with the arrivals that planned the last call of the same operation; early forms only
    /// if all ranks have a background thread. Without a model, and where chunks differ, it chooses by size alone.
    void use_model(const model& network);
    /// `inside`: the cost of messages within a host, a model of the same kind. Algorithms that treat these messages
    /// differently are considered only with it, as their gain is not known otherwise.
    void use_model(const model& network, const model& inside);
    /// Collective: from now on these rules (rank 0's are used) go before a model, where no algorithm is named and
    /// chunks are equal. Empty ones: none. If they name an algorithm whose ranks may get different bits, rank 0 says so
    /// on standard error, once.
    void use_rules(const rules& by);
    /// What the last collective used; null before the first.
    const algorithm* last_used() const;

    /// The next collective on this communicator will be this one. It may begin at once, unless roll is called for it;
    /// its buffers are not used before the call. A different call is an error, after which the communicator is not
    /// usable. Either all ranks expect it or none: a rank that expects a collective does not announce it to others.
    void expect(const outline& what);
    void expect(const selection& how, const call& c) { expect(outline_of(how, c)); }
    outline outline_of(const selection& how, const call& c) const;
    /// Makes progress without waiting; for programs without a background thread.
    void progress();
    /// The rank computes until its next collective: the computation begins, a fraction of it (above 0, below 1) is
    /// done, it ends. The fraction tells the other ranks when this one will arrive.
    void processing_start();
    void edge(double fraction);
    void processing_end();

    /// A call to be made again and again, with the same buffers. The communicator must outlive it.
    persistent_call prepare(const selection& how, const call& c);

    void run(const selection& how, const call& c);
    /// Begins the call and returns. Any number of calls may be under way; all ranks start them, and make blocking ones,
    /// in the same order, and wait for them in any. Buffers and chunks must stay as they are until it has ended. It
    /// makes progress in the background thread if MPI has MPI_THREAD_MULTIPLE, and in any call to this communicator or
    /// its requests; a user's own operator is called only in the latter.
    [[nodiscard]] request start(const selection& how, const call& c);

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
    void reduce_scatter(const selection& how, const void* send, void* recv, std::span<const std::int64_t> counts,
                        MPI_Datatype type, MPI_Op op);

    /// Everybody knows for whom it has data, and nobody from whom data comes: returns what has come, by rank, and what
    /// came from one rank in the order in which that has given it. Collective; all ranks name the same way. Where
    /// Rubato chooses, it tries every way twice for about so many partners, and then takes the fastest.
    std::vector<sparse_receipt> exchange_sparse(std::span<const sparse_send> sends,
                                                sparse_way how = sparse_way::chosen);

    void neighbor_allgather(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                            void* recv, std::int64_t recv_count, MPI_Datatype recv_type);
    void neighbor_alltoall(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                           void* recv, std::int64_t recv_count, MPI_Datatype recv_type);
    void neighbor_allgatherv(const selection& how, const void* send, std::int64_t send_count, MPI_Datatype send_type,
                             void* recv, const chunks& recv_chunks, MPI_Datatype recv_type);
    void neighbor_alltoallv(const selection& how, const void* send, const chunks& send_chunks, MPI_Datatype send_type,
                            void* recv, const chunks& recv_chunks, MPI_Datatype recv_type);
    /// Combines the vectors of the ranks from which this rank has data, each once, in the order of ranks. A rank
    /// without any keeps what is in `recv`. Not in place; MPI has no such call.
    void neighbor_reduce(const selection& how, const void* send, void* recv, std::int64_t count, MPI_Datatype type,
                         MPI_Op op);

private:
    friend class persistent_call;
    friend class request;
    friend class looked_at_calls;
    class state;
    std::unique_ptr<state> state_;
};

/// A collective that was started. The communicator must outlive it.
class RUBATO_API request {
public:
    /// Of nothing: it has ended.
    request() = default;
    request(request&& other) noexcept;
    /// Waits for the old one.
    request& operator=(request&& other) noexcept;
    ~request();

    /// Makes progress without waiting; true if the call has ended. Throws if it has failed; then it has ended, too.
    bool test();
    void wait();
    bool ended() const { return call_ == nullptr; }

private:
    friend class communicator;
    friend class persistent_call;
    request(communicator::state& where, started_call& call) : where_(&where), call_(&call) {}
    void end() noexcept;

    communicator::state* where_ = nullptr;
    started_call* call_ = nullptr;
};

/// Waits for all of them.
template <std::ranges::input_range Requests>
void wait_all(Requests&& requests) {
    for (request& r : requests) r.wait();
}
/// True if all of them have ended.
template <std::ranges::input_range Requests>
bool test_all(Requests&& requests) {
    bool all = true;
    for (request& r : requests) all &= r.test();
    return all;
}
/// The first one found that was under way and has ended; the end of the range if none is under way.
template <std::ranges::forward_range Requests>
auto wait_any(Requests&& requests) {
    for (;;) {
        bool waits = false;
        for (auto r = std::ranges::begin(requests); r != std::ranges::end(requests); ++r) {
            if (r->ended()) continue;
            if (r->test()) return r;
            waits = true;
        }
        if (!waits) return std::ranges::next(std::ranges::begin(requests), std::ranges::end(requests));
        std::this_thread::yield();
    }
}

/// See communicator::prepare. One run of it at a time.
class RUBATO_API persistent_call {
public:
    persistent_call(persistent_call&&) = default;
    /// Waits for the old one.
    persistent_call& operator=(persistent_call&& other) noexcept;

    /// This will be the next call, and may begin; its buffers are not touched before start.
    void expect();
    /// See communicator::start. Plans are kept by the communicator, and made anew when arrivals have changed.
    void start();
    bool test();
    void wait();

private:
    friend class communicator;
    persistent_call(communicator& where, const selection& how, const call& c);

    communicator::state* where_;
    selection how_;
    call call_;
    std::list<std::vector<std::int64_t>> own_{};        // its chunks,
    std::list<std::vector<MPI_Datatype>> own_types_{};  // and their types
    request under_way_{};
};

}  // namespace rubato::mpi
