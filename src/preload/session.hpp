// The drop-in between MPI_Init and MPI_Finalize.
#pragma once

#include "observe/recorder.hpp"
#include "preload/autopilot.hpp"
#include "preload/settings.hpp"
#include "rubato/clock.hpp"

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_set>

namespace rubato::mpi {
class private_communicator;
}

namespace rubato::preload {

/// The addresses of a loaded file.
struct address_range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;

    bool holds(const void* address) const {
        const auto a = reinterpret_cast<std::uintptr_t>(address);
        return a >= begin && a < end;
    }
};

class session {
public:
    /// Collective over MPI_COMM_WORLD. Throws `error`, on all ranks, if a setting is wrong.
    session();
    ~session();
    session(const session&) = delete;
    session& operator=(const session&) = delete;

    int rank() const { return rank_; }
    int keyval() const { return keyval_; }
    /// Null if this rank records nothing, or no new communicators.
    observe::recorder* records() { return records_new_ ? recorder_.get() : nullptr; }
    const autopilot::settings& pilots() const { return pilots_; }
    bool forces() const { return settings_.mode == mode::force; }
    /// Whether blocking calls of this kind may be made by Rubato.
    bool replaces(collective what) const { return replaces_[static_cast<std::size_t>(what)]; }
    /// Whether a call comes from Rubato's own library, such as from the background thread, not from the program.
    bool is_own(const void* site) const { return own_.holds(site); }
    std::uint32_t next_number() { return numbered_.fetch_add(1) + 1; }
    /// Whether this rank can afford another pilot: programs may keep making communicators.
    bool affords_pilot() const;
    void count_pilot(time_ns took);
    void forget_pilot() { --pilots_alive_; }

    /// Collective: puts together what the ranks recorded and writes it.
    void end() noexcept;
    /// One line on standard error, the first time.
    void warn(std::string_view what) noexcept;
    /// Records a decision; equal ones of several communicators only once.
    void explain(const decision& d) noexcept;
    /// Stops recording new communicators: a record that begins later here than on other ranks cannot be compared.
    void record_no_more() noexcept;

private:
    /// At the same time: each has two communicators, and MPICH allows 2048.
    static constexpr int most_pilots = 128;
    /// The first pilots need not be affordable.
    static constexpr int free_pilots = 8;

    void agree_on_settings();
    void start_recording();
    void add_common_time();
    void note_network();
    void write_file();

    std::unique_ptr<mpi::private_communicator> comm_;
    int rank_ = 0;
    int ranks_ = 1;
    int keyval_;
    settings settings_{};
    autopilot::settings pilots_{};
    std::array<bool, collective_count> replaces_{};
    address_range own_{};
    common_clock clock_{};
    std::unique_ptr<observe::recorder> recorder_{};
    std::mutex explaining_{};
    std::unordered_set<std::size_t> explained_{};  // hashes
    std::atomic<std::uint32_t> numbered_{0};
    std::atomic<bool> warned_{false};
    std::atomic<bool> records_new_{true};
    effort effort_{};
    std::atomic<int> pilots_alive_{0};
    std::atomic<int> pilots_made_{0};
    std::atomic<time_ns> pilot_took_{};
};

/// Null before MPI_Init has ended and once MPI_Finalize has begun.
inline constinit std::atomic<session*> running{nullptr};

/// Ends the program, with status 2 and a line on standard error, unless the MPI library is the one that this file was
/// built for. Before MPI_Init.
void check_library();
/// Called by the first entry of MPI_Init, after the native call. Ends the program with status 2 if a setting is wrong.
void begin_session() noexcept;
void end_session() noexcept;

}  // namespace rubato::preload
