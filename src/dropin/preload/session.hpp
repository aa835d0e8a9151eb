// The drop-in between MPI_Init and MPI_Finalize.
#pragma once

#include "dropin/preload/communicator_table.hpp"
#include "dropin/preload/gateway.hpp"
#include "dropin/preload/settings.hpp"
#include "dropin/preload/watchdog.hpp"
#include "engine/mpi/private_communicator.hpp"
#include "rubato/clock.hpp"

#include <atomic>
#include <memory>

namespace rubato::dropin {

/// Ranks have different builds of Rubato.
struct different_builds : error {
    different_builds()
        : error("ranks have different builds of Rubato",
                "their plans or messages may differ, so the program runs without it",
                "install the same build on all hosts") {}
};

class session {
public:
    /// Collective over MPI_COMM_WORLD. Throws `error`, on all ranks, if a setting is wrong, and `different_builds`.
    explicit session(time_ns begin);
    ~session();

    communicator_table& communicators() { return communicators_; }
    autopilots& pilots() { return pilots_; }
    /// The calls of Rubato's own threads are none of the program's.
    bool is_own(const void* site) const { return own_.holds(site); }

    /// Null if this rank records nothing.
    dropin::recorder* recorder() { return notes_.recorder(); }
    /// Null: there is none.
    watchdog* dog() const { return dog_.get(); }

    /// Collective: puts together what the ranks recorded and writes it.
    void end() noexcept;

private:
    void compare_builds() const;
    void agree_on_settings();
    void help_started();
    void start_recording();
    void start_watching();
    void add_common_time();
    void note_network();
    bool write_parts(const std::vector<std::vector<std::byte>>& received) const;
    void write_file();

    time_ns begin_;  // when MPI_Init was called
    std::unique_ptr<engine::private_communicator> comm_;
    int rank_ = 0;
    int ranks_ = 1;
    std::uint64_t run_ = 0;              // of this run alone; equal on all ranks
    std::vector<std::int32_t> hosts_{};  // of each rank
    settings settings_{};
    address_range own_{};  // of librubato_mpi
    common_clock clock_{};
    journal notes_{};
    autopilots pilots_{};
    remembered_runs runs_{};
    communicator_table communicators_{notes_, pilots_, runs_};
    std::unique_ptr<watchdog> dog_{};
};

/// Null before MPI_Init has ended and once MPI_Finalize has begun.
inline constinit std::atomic<session*> running{nullptr};
/// For a call at `site`; null also if the call is Rubato's own, in any thread, or made within an entry.
inline session* session_of_call(const void* site) {
    session* const now = running.load(std::memory_order_acquire);
    return now == nullptr || now->is_own(site) || is_inside(site) ? nullptr : now;
}

/// Called by the first entry of MPI_Init, after the native call. Ends the program with status 2 if a setting is wrong.
void begin_session(time_ns begin) noexcept;
void end_session() noexcept;

}  // namespace rubato::dropin
