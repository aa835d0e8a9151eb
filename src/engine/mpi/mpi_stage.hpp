// A player's stage on a private MPI communicator: messages, exchanges, announcements, and the call's buffers.
#pragma once

#include "engine/execute/player.hpp"
#include "engine/execute/recording.hpp"
#include "engine/mpi/buffers.hpp"
#include "engine/mpi/mailbox.hpp"
#include "engine/mpi/mpi_transport.hpp"

#include <deque>
#include <functional>

namespace rubato::engine {

/// How a call is made; equal on all ranks, except for the size of chunks that differ.
intent intent_of(const call_facts& c, const mpi::selection& how, const std::vector<std::int32_t>& hosts,
                 const std::shared_ptr<const graph>& neighbours);

/// A roll that is called for a call that was made.
struct roll_for_call {
    std::exception_ptr refused{};  // what is wrong with this rank's arguments
    time_ns patience{};
    bool begun = false;  // it is known who the keeper is
};

struct made_call {
    bool under_way = false;  // made, and its result was not asked for
    bool passed = false;     // nobody makes it
    call_facts facts{};
    intent what{};
    std::optional<roll_for_call> rolls{};             // until the verdict is there
    std::function<void(std::exception_ptr)> ended{};  // nobody asks for the call: this is told
    std::vector<MPI_Datatype> types{};                // its own, that the caller may free before it has ended
};

class mpi_stage;

class mpi_call_resources final : public call_resources {
public:
    explicit mpi_call_resources(mpi_stage& on);

    bool prepare_early(const intent& what, const plan& p, std::uint64_t number) override;
    void prepare(const void* given, plan_cache::entry& entry, std::uint64_t number, bool begun) override;
    std::unique_ptr<improvisation> improvise(const intent& what, const void* given, std::uint64_t number) override;
    const layout& sizes() const override { return buffers_.sizes(); }
    const memory& where() const override { return buffers_.where(); }
    transport& messages() override;
    std::int64_t bytes_on(rank other) const override;
    std::exception_ptr finish() override;
    void abandon() noexcept override;

    made_call made{};

private:
    mpi_stage& on_;
    mpi_transport transport_;
    std::optional<recording> recording_{};
    buffers buffers_{};
    const call_facts* call_ = nullptr;  // of the rank that has arrived
};

class mpi_stage final : public stage {
public:
    /// `most_early`: bytes of scratch for an operation whose rank has not arrived.
    mpi_stage(MPI_Comm comm, int me, int ranks, tag_layout tags, std::size_t most_early);

    ~mpi_stage() override;
    mpi_stage(const mpi_stage&) = delete;
    mpi_stage& operator=(const mpi_stage&) = delete;

    /// The sizes of an operation that is expected, for prepare_early.
    void name(layout sizes, std::uint64_t number) { named_ = {std::move(sizes), number}; }
    /// Records the steps of later operations.
    void record(const common_clock& clock) {
        clock_ = &clock;
        recorded_.clear();
    }
    const std::vector<recorded_step>& recorded() const { return recorded_; }
    /// For roll calls.
    roll_call::post& roll_post() { return roll_post_; }
    /// The rank makes no more calls: receives announcements and messages that were sent here and that nobody will use.
    /// Does not wait; false if some are still to come. All ranks call it, each when it likes, until it is true.
    bool drain();

    std::unique_ptr<call_resources> make_resources() override { return std::make_unique<mpi_call_resources>(*this); }
    void look(bool wait) override { messages_.look(wait); }
    std::uint64_t most_at_once() const override { return tags_.operations(); }
    void exchange(std::int64_t mine) override;
    bool exchanged(std::vector<std::int64_t>& all, bool wait) override;
    void tell(rank to, std::vector<std::int64_t> told) override { announcements_.send(to, std::move(told)); }
    bool hear(std::vector<std::int64_t>& told) override;

private:
    friend class mpi_call_resources;
    struct posted {
        MPI_Request request = MPI_REQUEST_NULL;
        std::vector<std::int64_t> data{};
        std::int64_t mine = 0;
    };
    void count_sent();
    bool drop_message();

    MPI_Comm comm_;
    int me_;
    int ranks_;
    tag_layout tags_;
    std::size_t most_early_;
    message_pool messages_;
    const common_clock* clock_ = nullptr;  // null: no steps are recorded
    std::vector<recorded_step> recorded_{};
    struct {
        layout sizes{};
        std::optional<std::uint64_t> number{};
    } named_{};
    std::deque<posted> exchanges_{};
    /// How many messages were sent here, once all ranks have said it.
    struct counting {
        std::vector<std::int64_t> sent{};
        std::int64_t expected = 0;
        MPI_Request request = MPI_REQUEST_NULL;
    };
    std::unique_ptr<counting> counts_{};  // null: not yet
    std::int64_t dropped_ = 0;
    mailbox announcements_;
    mailbox roll_post_;
};

}  // namespace rubato::engine
