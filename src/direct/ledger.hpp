// What directing costs, and what it may cost: the time that a director spends on slower calls, choosing and exchanging
// stays within a share of the elapsed time.
#pragma once

#include "direct/director.hpp"
#include "direct/level.hpp"

#include <algorithm>
#include <utility>

namespace rubato::direct {

class ledger {
public:
    /// Between hosts, choices are free until this much is spent; otherwise none could ever begin.
    static constexpr time_ns free = std::chrono::milliseconds(5);
    /// What the first choice takes, per rank.
    static constexpr time_ns first_guess = std::chrono::microseconds(300);

    explicit ledger(const director::settings& how)
        : process_(how.process),
          share_(how.spend),
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
    bool affords(time_ns cost) const { return spent_ + elsewhere_ + cost <= part(passed(), share_); }
    /// For optional work: the cost is too small to notice.
    bool hardly_notices(time_ns cost) const { return affords(cost) && cost <= part(passed(), share_ / 4); }
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

    effort* process_;
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

}  // namespace rubato::direct
