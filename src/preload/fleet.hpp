// The autopilots of this process taken together: how they work, how many there are, what they have cost.
#pragma once

#include "preload/autopilot.hpp"
#include "preload/settings.hpp"

#include <atomic>
#include <list>
#include <mutex>
#include <optional>

namespace rubato::preload {

/// An autopilot of the fleet. Its communicator, or one persistent request after the other, uses it until it is retired.
struct fleet_pilot {
    /// Takes what it has learned.
    using keeper = std::function<void(std::vector<experience>)>;

    std::optional<autopilot> pilot{};
    keeper keep{};                     ///< none: another rank keeps it
    std::atomic<bool> in_use{false};   ///< by a persistent request
    std::atomic<bool> retired{false};  ///< its communicator was freed
};

class fleet {
public:
    /// The settings, and in mode rules the rules, that all ranks have agreed on. Before anything else.
    /// `clock` is common to all ranks; `begin`, on the own clock, is when MPI_Init was called.
    void prepare(const settings& how, std::shared_ptr<const rules> by, own_clock clock, time_ns begin);
    /// Of each rank of the world.
    void know_hosts(std::vector<std::int32_t> hosts) { how_.hosts = std::move(hosts); }
    /// Making an autopilot takes about as long.
    void expect(time_ns expected) { took_ = expected; }

    const autopilot::settings& how() const { return how_; }
    bool forces() const { return !how_.finds_out(); }
    /// On the clock of all ranks.
    time_ns now() const { return how_.clock(); }
    /// Whether any calls may be made by Rubato: then ranks must know the same of every communicator.
    bool directs() const { return directs_; }
    /// Whether blocking calls of this kind may be made by Rubato.
    bool replaces(collective what) const { return replaces_[static_cast<std::size_t>(what)]; }

    /// The same for non-blocking calls.
    bool replaces_started(collective what) const { return forces() && replaces(what); }
    /// Non-blocking calls cannot make an autopilot, so it is made with the communicator where these are to be made.
    bool makes_pilots_early() const { return forces() && starts_; }

    /// Whether the background thread lets the MPI library go on with non-blocking calls.
    void help_started(bool yes) { helps_started_ = yes; }
    bool helps_started() const { return helps_started_; }

    /// In calls: the program may change.
    static constexpr std::uint64_t longest_wait = 1000;
    /// Programs may keep making communicators.
    bool full() const { return alive_ >= most; }
    /// Calls until this rank can afford another autopilot, if the program goes on as before: 0 if it can now. The
    /// communicator has made `calls` that an autopilot could make.
    /// An autopilot that is known to win `gain` in a call may come at once, if it takes less.
    /// `in_calls`: where there is little to win, on one host, what counts is the time that was spent in these calls,
    /// and not how long the program has been running.
    std::uint64_t calls_to_wait(std::uint64_t calls, time_ns gain, std::optional<time_ns> in_calls) const;
    /// Collective over `comm`.
    fleet_pilot& make(MPI_Comm comm, const autopilot::settings& how, autopilot::explainer explain,
                      fleet_pilot::keeper keep);
    /// Freeing a communicator is local, and ending an autopilot is not: so it ends later, when ranks come by. Calls
    /// nobody and needs no memory, as MPI may call this.
    void retire(fleet_pilot& p) {
        p.retired = true;
        some_retired_ = true;
    }
    /// Goes on with the ends of those that are retired. Waits for nobody, and costs next to nothing if there are none.
    void end_retired() noexcept {
        if (some_retired_) (void)go_on_ending();
    }
    /// A persistent request needs it no more.
    void give_back(fleet_pilot& p) {
        p.in_use = false;      // if it is retired, another thread may end it now
        some_retired_ = true;  // perhaps it is
    }
    /// Retires and ends all. Collective over all ranks.
    void end_all() noexcept;

private:
    /// At once: each has a communicator, and MPICH no more than 2048.
    static constexpr int most = 128;

    /// False if some of them are left.
    bool go_on_ending() noexcept;
    /// Whether it has.
    bool ends(fleet_pilot& p);

    autopilot::settings how_{};
    std::array<bool, collective_count> replaces_{};
    bool directs_ = false;
    bool starts_ = false;  // the user wants the background thread
    bool helps_started_ = false;
    effort effort_{};
    std::atomic<int> alive_{0};
    std::atomic<time_ns> took_{};
    std::mutex mutex_{};
    std::list<fleet_pilot> all_{};
    std::atomic<bool> some_retired_{false};
};

}  // namespace rubato::preload
