// The drop-in between MPI_Init and MPI_Finalize.
#pragma once

#include "preload/address_range.hpp"
#include "preload/communicator_table.hpp"
#include "preload/settings.hpp"
#include "preload/watchdog.hpp"
#include "rubato/clock.hpp"

#include <atomic>
#include <memory>

namespace rubato::mpi {
class private_communicator;
}

namespace rubato::preload {

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
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    communicator_table& communicators() { return communicators_; }
    fleet& pilots() { return pilots_; }
    /// The calls of Rubato's own threads are none of the program's.
    bool is_own(const void* site) const { return own_.holds(site); }

    /// Null if this rank records nothing.
    observe::recorder* recorder() { return notes_.recorder(); }
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
    void remember();
    void add_common_time();
    void note_network();
    bool write_parts(const std::vector<std::vector<std::byte>>& received) const;
    void write_file();

    time_ns begin_;  // when MPI_Init was called
    std::unique_ptr<mpi::private_communicator> comm_;
    int rank_ = 0;
    int ranks_ = 1;
    std::uint64_t run_ = 0;              // of this run alone; equal on all ranks
    std::vector<std::int32_t> hosts_{};  // of each rank
    settings settings_{};
    address_range own_{};  // of librubato_mpi
    common_clock clock_{};
    journal notes_{};
    fleet pilots_{};
    remembered_runs runs_{};
    communicator_table communicators_{notes_, pilots_, runs_};
    std::unique_ptr<watchdog> dog_{};
};

/// Null before MPI_Init has ended and once MPI_Finalize has begun.
inline constinit std::atomic<session*> running{nullptr};

/// Ends the program, with status 2 and a line on standard error, unless the MPI library is the one that this file was
/// built for. Before MPI_Init.
void check_library();
/// Called by the first entry of MPI_Init, after the native call. Ends the program with status 2 if a setting is wrong.
void begin_session(time_ns begin) noexcept;
void end_session() noexcept;

}  // namespace rubato::preload
