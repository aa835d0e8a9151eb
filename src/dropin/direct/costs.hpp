// What calls have cost, from what all ranks saw of them. What directing costs, and what it may cost: the time that a
// director spends on slower calls, choosing and exchanging stays within a share of the elapsed time.
//
// What the search costs: making the autopilot, challengers that were slower, choosing, exchanging. It stays below a
// share of the time since MPI_Init; what a rank does while it would wait for others costs nothing. So a program is at
// most 2 % slower even if predictions are wrong. What a process has spent on other communicators is exchanged with each
// sample and counts. On one host, where there is little to win, making an autopilot counts against the time that was
// spent in calls that it could make, of the rank that has spent most.
#pragma once

#include "base/core/portable.hpp"
#include "dropin/direct/director.hpp"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

namespace rubato::dropin {

/// One call, as all ranks saw it, on the clock that they share.
struct sample {
    std::uint64_t call = 0;  ///< number among those of its operation
    std::size_t by = 0;      ///< which contender made it
    std::int64_t bytes = 0;
    std::vector<time_ns> arrivals{};
    std::vector<time_ns> exits{};
    std::vector<time_ns> next{};  ///< when each arrived at the call after it
    bool met = false;             ///< in between, all have waited for all, in calls that Rubato sees

    /// Ranks may also wait for each other where Rubato sees nothing, in messages of the program. So they are taken to
    /// have met unless one came to the next call before the last one left this one.
    simulator::call_gap gap() const;
};

struct cost {
    time_ns tail{};  ///< from the last arrival to the last exit
    /// From the last arrival at one call to the last arrival at the next: ranks that were ahead may lose their lead,
    /// but the program ends with the last rank.
    time_ns period{};
    bool runs_ahead = false;  ///< a rank arrived at the next call before the last one at this
};
/// The tail is scaled to `bytes`: calls of an operation differ in size by up to two, and so do their times.
cost cost_of(const sample& s, std::int64_t bytes);

/// What calls in a row have cost.
struct level {
    /// In a rooted collective, what the program lost in each: how much longer it took than if messages took no time.
    /// Without ranks that run ahead that is the mean tail.
    time_ns tail{};
    time_ns pace{};   ///< the mean period: the program's time per call
    time_ns noise{};  ///< how far off the pace may be
    bool runs_ahead = false;
    time_ns alone{};  ///< the median of the calls' own tails
    time_ns worst{};  ///< the most that one call lost
};
/// Takes an even number of calls, so that calls which alternate between two places of the program have equal weight.
/// Tails and losses are scaled to the size of `like`. `loses`: the level's tail is a loss.
level level_of(std::span<const sample> calls, const directed_call& like, bool loses);

/// A share of a time.
inline time_ns share_of(time_ns t, double share) { return base::time_within(static_cast<double>(t.count()) * share); }

class ledger {
public:
    /// Between hosts, choices are free until this much is spent; otherwise none could ever begin.
    static constexpr time_ns free = std::chrono::milliseconds(5);
    /// What the first choice takes, per rank.
    static constexpr time_ns first_guess = std::chrono::microseconds(300);

    explicit ledger(const director::settings& how)
        : process_(how.process),
          share_(how.careful.spend),
          between_hosts_(how.between_hosts),
          in_calls_(how.in_calls),
          choosing_(first_guess * how.ranks) {}

    /// What this rank's process has spent on other communicators, and how long it has been running.
    time_ns spent_elsewhere() const {
        return process_ != nullptr ? time_ns(process_->spent.load()) - spent_ : time_ns{};
    }
    time_ns has_run(time_ns now) const {
        if (!between_hosts_) return in_calls_;
        return process_ != nullptr ? now - process_->begin : time_ns{};
    }
    void count_call(time_ns took) { in_calls_ += took; }
    /// The same over all ranks: the most that one has spent, and the shortest run. But who is late has spent little
    /// time in calls, so of these times it is the longest.
    void count_in(time_ns elsewhere, time_ns shortest, time_ns longest) {
        elsewhere_ = elsewhere;
        has_run_ = between_hosts_ ? shortest : longest;
    }

    void pass(time_ns from, time_ns to) {
        if (!begun_) first_ = from;
        begun_ = true;
        latest_ = std::max(latest_, to);
    }
    void spend(time_ns t) { add(std::max(t, time_ns{})); }
    bool affords(time_ns cost) const { return spent_ + elsewhere_ + cost <= share_of(passed(), share_); }
    /// For optional work: the cost is too small to notice.
    bool hardly_notices(time_ns cost) const { return affords(cost) && cost <= share_of(passed(), share_ / 4); }
    time_ns latest() const { return latest_; }

    /// A choice is charged when it is ordered, with the time of the last one: others may be ordered before it is done.
    time_ns pay_choice() {
        spend(choosing_);
        return choosing_;
    }
    void settle_choice(time_ns paid, time_ns delayed, time_ns took) {
        add(delayed - paid);
        choosing_ = took;
    }
    bool affords_choice(time_ns idle) const {
        return affords(std::max(choosing_ - idle, time_ns{}) - (between_hosts_ ? free : time_ns{}));
    }

    /// The longest time that a rank was busy with it.
    void pay_exchange(time_ns busy) {
        spend(busy);
        before_last_ = std::exchange(last_, busy);
    }
    /// What an exchange takes: the shorter one of the last two, since one may be held up by anything.
    time_ns exchanging() const { return std::min(last_, before_last_); }

private:
    time_ns passed() const { return std::max(begun_ && between_hosts_ ? latest_ - first_ : time_ns{}, has_run_); }
    void add(time_ns t) {
        spent_ += t;
        if (process_ != nullptr) process_->spent += t.count();
    }

    directing_cost* process_;
    double share_;
    bool between_hosts_;
    time_ns in_calls_;
    bool begun_ = false;
    time_ns first_{};
    time_ns latest_{time_ns::min()};
    time_ns spent_{};
    time_ns elsewhere_{};
    time_ns has_run_{};
    time_ns choosing_;
    time_ns last_{}, before_last_{};  // exchanges
};

}  // namespace rubato::dropin
