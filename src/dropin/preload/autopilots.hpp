// The autopilots of this process taken together: how they work, how many there are, what they have cost.
//
// Autopilots must be affordable: at a call that could be replaced the ranks of a communicator agree after how many more
// calls each process will have time for one; there are at most 128. MPI_Comm_free waits for nobody: programs free
// communicators in different orders, or before a barrier on one rank and after it on another. So MPI, when it deletes
// the attribute, only marks the autopilot as retired. Retired ones go on to their end when a communicator or an
// autopilot is made, side by side, and all end in MPI_Finalize. Communicators with ranks of another world are native in
// all modes.
#pragma once

#include "dropin/preload/autopilot.hpp"
#include "dropin/preload/settings.hpp"

#include <atomic>
#include <list>
#include <mutex>
#include <optional>

namespace rubato::dropin {

/// One of them. Its communicator, or one persistent request after the other, uses it until it is retired.
struct process_pilot {
    /// Takes what it has learned.
    using keeper = std::function<void(std::vector<experience>)>;

    std::optional<autopilot> pilot{};
    keeper keep{};                     ///< none: another rank keeps it
    std::atomic<bool> in_use{false};   ///< by a persistent request
    std::atomic<bool> retired{false};  ///< its communicator was freed
};

/// Around a mistake of Open MPI 4.1 that our communicator would bring out in other programs than before.
/// MPI_Dist_graph_create tells ranks their edges by messages with the tags -50 and -51. Non-blocking collectives count
/// their tags down from -27, so the 24th and the 25th on a communicator have these, too. A communicator takes three
/// when it is made. If the ninth that is made from a communicator is a graph, ranks take messages for others, and wait
/// for ever. One more, ours, makes the program's eighth the ninth: so before that all ranks pass these tags.
/// Collective.
void pass_graph_tags(MPI_Comm comm);

class autopilots {
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
    process_pilot& make(MPI_Comm comm, const autopilot::settings& how, autopilot::explainer explain,
                        process_pilot::keeper keep);
    /// Freeing a communicator is local, and ending an autopilot is not: so it ends later, when ranks come by. Calls
    /// nobody and needs no memory, as MPI may call this.
    void retire(process_pilot& p) {
        p.retired = true;
        some_retired_ = true;
    }
    /// Goes on with the ends of those that are retired. Waits for nobody, and costs next to nothing if there are none.
    void end_retired() noexcept {
        if (some_retired_) (void)go_on_ending();
    }
    /// A persistent request needs it no more.
    void give_back(process_pilot& p) {
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
    bool ends(process_pilot& p);

    autopilot::settings how_{};
    std::array<bool, collective_count> replaces_{};
    bool directs_ = false;
    bool starts_ = false;  // the user wants the background thread
    bool helps_started_ = false;
    directing_cost directing_cost_{};
    std::atomic<int> alive_{0};
    std::atomic<time_ns> took_{};
    std::mutex mutex_{};
    std::list<process_pilot> all_{};
    std::atomic<bool> some_retired_{false};
};

}  // namespace rubato::dropin
