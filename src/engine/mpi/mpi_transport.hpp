// The engine's messages as MPI requests on a private communicator.
#pragma once

#include "engine/execute/engine.hpp"
#include "engine/mpi/datatype.hpp"

#include <chrono>
#include <exception>
#include <vector>

namespace rubato::engine {

/// A tag is the number of the operation, the signature of its plan, and the number of the message, all wrapped around.
/// Messages of one tag are sent and received in order, so wrapping is safe as long as no two operations that share tags
/// are under way at once. Ranks with different plans have different signatures, so that no message of one plan is taken
/// for one of the other.
class tag_layout {
public:
    explicit tag_layout(int upper_bound);

    int first_tag(std::uint64_t operation, std::uint32_t signature = 0) const {
        return static_cast<int>((operation % operations_ * signatures_ + signature) * messages_);
    }
    int tag(int first, std::uint32_t message) const { return first + static_cast<int>(message % messages_); }
    /// Operations with different tags.
    std::uint64_t operations() const { return operations_; }
    /// Of a plan that cuts chunks into so many parts, which follow from the size of the call.
    std::uint32_t signature(std::uint32_t parts) const { return parts % modulus_; }
    std::uint32_t signatures() const { return signatures_; }
    /// Tags of no operation.
    int beside(int which) const { return static_cast<int>(operations_ * signatures_ * messages_) + which; }

private:
    std::uint64_t operations_;
    std::uint32_t signatures_;
    std::uint32_t modulus_;
    std::uint32_t messages_;
};

/// Keeps the messages whose request is still there.
template <class Message>
void drop_completed(std::vector<MPI_Request>& requests, std::vector<Message>& messages) {
    std::size_t kept = 0;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (requests[i] == MPI_REQUEST_NULL) continue;
        requests[kept] = requests[i];
        messages[kept++] = messages[i];
    }
    requests.resize(kept);
    messages.resize(kept);
}

class mpi_transport;

/// The messages under way of all operations on a communicator, so that one look finds what has completed.
class message_pool {
public:
    explicit message_pool(int ranks) : sent_to_(static_cast<std::size_t>(ranks)) {}

    /// For one more: what is under way must be known, also without memory.
    void make_room();
    void add(MPI_Request request, mpi_transport& of, std::uint32_t step, rank peer, bool receives);
    void count_send(rank to) { ++sent_to_[static_cast<std::size_t>(to.value)]; }
    /// Tells the transports which of their messages have completed; with `wait`, waits until one has. Throws `error`
    /// if none has for a second, and one that should have has another plan's signature: ranks have passed different
    /// sizes.
    void look(bool wait);
    /// Waits for all messages of one transport, if there are no others; else for one.
    void wait_for_all(const mpi_transport& of);
    /// After a failure: nothing is written to anybody's memory any more. What was being sent may still be read.
    void abandon(const mpi_transport& of) noexcept;
    /// For calls that will never be made: cancels their receives.
    void cancel_receives();
    /// After that: whether all sends have left.
    bool sends_have_left();
    /// Messages to each rank, and from all of them.
    const std::vector<std::int64_t>& sent_to() const { return sent_to_; }
    std::int64_t received() const { return received_; }

private:
    struct under_way {
        mpi_transport* of;
        std::uint32_t step;
        rank peer;
        bool receives;
    };
    void note_completed(std::size_t i);
    void note_none_completed();

    std::vector<MPI_Request> requests_{};
    std::vector<under_way> messages_{};  // of each request
    std::vector<int> indices_{};
    std::vector<MPI_Status> statuses_{};
    std::vector<std::int64_t> sent_to_;
    std::int64_t received_ = 0;
    std::uint32_t in_vain_ = 0;                                  // looks since a message has completed
    std::chrono::steady_clock::time_point looked_for_others_{};  // then, or for messages of other plans
};

/// The messages of one operation.
class mpi_transport final : public transport {
public:
    mpi_transport(MPI_Comm comm, tag_layout tags, message_pool& all) : comm_(comm), tags_(tags), all_(all) {}

    /// For the next operation: what a unit is, how units are combined, which tags to use. `parts`: of its plan.
    void bind(const type_info& unit, MPI_Op op, std::uint64_t operation, std::uint32_t parts);
    /// Throws if another rank has a plan with other parts.
    void check_plan_of(rank peer) const;
    /// Another rank has announced other lengths than this one's.
    void note_other_lengths() { too_long_ = MPI_ERR_TRUNCATE; }
    /// After an operation: `truncated` if a message was longer than this rank expected.
    std::exception_ptr wrong_lengths();
    /// See message_pool.
    void abandon() noexcept { all_.abandon(*this); }
    /// A message has completed, or failed.
    void note_completed(std::uint32_t step) { completed_.push_back(step); }
    void note_failed(MPI_Request& request, int code);

    void send(std::uint32_t step, const std::byte* data, std::int64_t units, rank to, std::uint32_t message) override;
    void recv(std::uint32_t step, std::byte* data, std::int64_t units, rank from, std::uint32_t message) override;
    void poll(std::vector<std::uint32_t>& completed, bool wait) override;
    void wait(std::vector<std::uint32_t>& completed) override;
    void take(std::vector<std::uint32_t>& completed) override;
    void combine(const std::byte* left, std::byte* into, std::int64_t units) override;
    void copy(const std::byte* from, std::byte* to, std::int64_t units) override;

private:
    template <class Post>
    void post(std::uint32_t step, rank peer, bool receives, std::int64_t units, Post p);

    MPI_Comm comm_;
    tag_layout tags_;
    message_pool& all_;
    type_info unit_{};
    MPI_Op op_ = MPI_OP_NULL;
    std::uint64_t operation_ = 0;
    std::uint32_t signature_ = 0;
    int first_tag_ = 0;
    std::vector<std::uint32_t> completed_{};  // that nobody was told of yet
    int too_long_ = MPI_SUCCESS;              // what MPI said of a message
};

}  // namespace rubato::engine
