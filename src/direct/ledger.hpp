// What directing costs, and what it may cost: the time that a director spends on slower calls, choosing and exchanging
// stays within a share of the elapsed time.
#pragma once

#include "direct/director.hpp"
#include "direct/level.hpp"

#include <algorithm>

namespace rubato::direct {

class ledger {
public:
    /// Choices are free until this much is spent; otherwise none could ever begin.
    static constexpr time_ns free = std::chrono::milliseconds(5);
    /// What the first choice takes, per rank.
    static constexpr time_ns first_guess = std::chrono::microseconds(300);

    ledger(effort* process, double share, std::int32_t ranks)
        : process_(process), share_(share), choosing_(first_guess * ranks) {}

    /// What this rank's process has spent on other communicators, and how long it has been running.
    time_ns spent_elsewhere() const {
        return process_ != nullptr ? time_ns(process_->spent.load()) - spent_ : time_ns{};
    }
    time_ns has_run(time_ns now) const { return process_ != nullptr ? now - process_->begin : time_ns{}; }
    /// The same over all ranks: the most that one has spent, and the shortest run.
    void count_in(time_ns elsewhere, time_ns has_run) {
        elsewhere_ = elsewhere;
        has_run_ = has_run;
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
    bool affords_choice(time_ns idle) const { return affords(std::max(choosing_ - idle, time_ns{}) - free); }

    /// The longest time that a rank was busy with an exchange.
    time_ns exchanging{};

private:
    time_ns passed() const { return std::max(begun_ ? latest_ - first_ : time_ns{}, has_run_); }
    void add(time_ns t) {
        spent_ += t;
        if (process_ != nullptr) process_->spent += t.count();
    }

    effort* process_;
    double share_;
    bool begun_ = false;
    time_ns first_{};
    time_ns latest_{time_ns::min()};
    time_ns spent_{};
    time_ns elsewhere_{};
    time_ns has_run_{};
    time_ns choosing_;
};

}  // namespace rubato::direct
