// Rubato's collectives on MPI communicators.
#pragma once

#include "rubato/model.hpp"
#include "rubato/mpi_call.hpp"
#include "rubato/mpi_settings.hpp"
#include "rubato/tuned_rules.hpp"

#include <list>
#include <memory>
#include <ranges>
#include <span>
#include <thread>
#include <vector>

namespace rubato::engine {
struct queued_call;
struct named_call;
class inner_communicator;
}  // namespace rubato::engine

namespace rubato::mpi {

/// A call without its buffers and handles; see communicator::outline_of.
struct outline {
    std::shared_ptr<const engine::named_call> what{};
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
class request;

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
    friend class engine::inner_communicator;
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
    request(communicator::state& where, engine::queued_call& call) : where_(&where), call_(&call) {}
    void end() noexcept;

    communicator::state* where_ = nullptr;
    engine::queued_call* call_ = nullptr;
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
