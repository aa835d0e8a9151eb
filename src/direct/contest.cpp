#include "direct/contest.hpp"

#include "choose/outcome.hpp"
#include "rubato/arrival.hpp"

#include <algorithm>
#include <utility>

namespace rubato::direct {

contest::contest(shared& with, const directed_call& first) : with_(with), first_(first), contenders_(1) {
    since_ = 2;  // the first call is always slow
}

const directive& contest::arrive(const directed_call& c, time_ns now) {
    ++call_;
    if (sampled_) report(now);
    while (!pending_.empty() && pending_.front().due <= call_) {
        const pending p = pending_.front();
        pending_.pop_front();
        learn(p);
    }
    if (choice_ && phase_ == phase::choosing && choice_->due <= call_) take_choice();
    direct(c);
    sampled_ = is_sampled();
    arrival_ = now;
    bytes_ = c.bytes;
    return how_;
}

void contest::refused(std::string_view reason) {
    if (!std::exchange(refused_, true)) explain(decision::verdict::left, contenders_[running()], reason);
}

std::optional<experience> contest::learned() const {
    const contender& by_native = contenders_[native];
    if (!by_native.measured) return std::nullopt;
    const contender& now = contenders_[incumbent_];
    const auto times_of = [](const level& l) { return experience::times{l.tail, l.pace}; };
    experience e;
    e.kind = operation_of(first_.what, first_.root, first_.bytes);
    e.bytes = first_.bytes;
    e.of_native = times_of(*by_native.measured);
    if (incumbent_ != native && now.measured) {
        e.algorithm = now.use->id;
        e.segment = now.segment;
        e.round_time = now.round_time;
        e.of_plan = times_of(*now.measured);
    }
    e.arrivals = prediction(now);
    return e;
}

bool contest::is_sampled() const {
    const auto within = [&](std::uint64_t begin) { return call_ >= since_ + begin && call_ < since_ + begin + block; };
    switch (phase_) {
        case phase::resting: return call_ == next_sample_;
        case phase::measuring: return within(0);
        case phase::choosing: return false;
        case phase::trying: return call_ == since_ + checked || within(warm_up);
    }
    return false;
}

void contest::direct(const directed_call& c) {
    const contender& by = contenders_[running()];
    how_.use = by.use;
    how_.segments = pieces(c.bytes, by.segment);
    how_.round_time = by.round_time;
    how_.arrivals = by.planned_by;
    // The communicator does not exchange arrivals itself where they are given.
    if (by.use != nullptr && by.use->arrival_aware) how_.arrivals.resize(static_cast<std::size_t>(with_.how.ranks));
}

/// Begins to exchange the times of the last call. Ranks that arrive early have time for it now.
void contest::report(time_ns now) {
    const time_ns begin = with_.others.now();
    const effort* const process = with_.how.process;
    told_sample mine;
    mine.arrival = arrival_;
    mine.exit = exit_;
    mine.next = now;
    mine.exchanging = with_.own_exchange;
    mine.spent_elsewhere = with_.account.spent_elsewhere();
    mine.free_duels_elsewhere = process != nullptr ? process->free_duels - with_.free_duels : 0;
    mine.has_run = with_.account.has_run(begin);
    const std::uint64_t ticket = with_.others.gather(bytes_of(mine));
    with_.own_exchange = with_.others.now() - begin;
    // Rare samples are not urgent; ranks that are ahead of others need not wait for them.
    const std::uint64_t patience = phase_ == phase::resting ? std::max(lag, interval_ / 4) : lag;
    pending_.push_back({ticket, call_ + patience, call_ - 1, running(), bytes_});
}

void contest::learn(const pending& p) {
    sample s{p.call, p.by, p.bytes};
    time_ns busy{};
    time_ns elsewhere{};
    time_ns has_run = time_ns::max();
    for (const told_sample& t : messages_in<told_sample>(with_.others.take(p.ticket))) {
        s.arrivals.push_back(t.arrival);
        s.exits.push_back(t.exit);
        s.next.push_back(t.next);
        busy = std::max(busy, t.exchanging);
        elsewhere = std::max(elsewhere, t.spent_elsewhere);
        with_.duels_elsewhere = std::max(with_.duels_elsewhere, static_cast<int>(t.free_duels_elsewhere));
        has_run = std::min(has_run, t.has_run);
    }
    ledger& account = with_.account;
    account.pass(std::ranges::min(s.arrivals), std::ranges::max(s.next));
    account.count_in(elsewhere, has_run);
    account.exchanging = busy;
    account.spend(busy);
    const bool failed = std::ranges::find(s.exits, no_exit) != s.exits.end();
    if (!failed) observe(contenders_[s.by], s);
    if (s.call < since_ || s.by != running()) return;  // of a challenge that is over
    if (failed) return begin_again();
    const cost c = cost_of(s, first_.bytes);
    switch (phase_) {
        case phase::resting: watch(c); break;
        case phase::measuring:
            block_.push_back(c);
            if (block_.size() == block / 2 || block_.size() == block) measured();
            break;
        case phase::choosing: break;
        case phase::trying:
            if (s.call == since_ + checked)
                check_trial(c);
            else if (block_.push_back(c); block_.size() == block)
                end_trial();
            break;
    }
}

void contest::observe(contender& by, const sample& s) {
    if (!by.pattern) by.pattern.emplace("average:window=5", with_.how.ranks);
    by.pattern->observe(s.arrivals);
    if (by.use == nullptr || !by.use->arrival_aware) return;
    std::vector<time_ns> coming;
    (void)by.pattern->next(coming);
    // Making a plan costs time, and a difference that cannot be measured does not matter.
    const level* l = contenders_[incumbent_].measured ? &*contenders_[incumbent_].measured : nullptr;
    const time_ns tolerance = l != nullptr ? l->tail / 8 : time_ns{};
    if (by.planned_by.empty() || farthest(by.planned_by, coming) > tolerance) by.planned_by = std::move(coming);
}

}  // namespace rubato::direct
