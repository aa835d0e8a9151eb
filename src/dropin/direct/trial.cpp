// How a comparison decides.
#include "dropin/direct/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace rubato::dropin {
namespace {

time_ns times(time_ns t, std::uint64_t n) { return t * static_cast<time_ns::rep>(n); }

int doubled(int n, int times_doubled) { return n << std::clamp(times_doubled, 0, most_doublings); }

}  // namespace

time_ns farthest(std::span<const time_ns> a, std::span<const time_ns> b) {
    time_ns most{};
    for (std::size_t r = 0; r < std::min(a.size(), b.size()); ++r) most = std::max({most, a[r] - b[r], b[r] - a[r]});
    return most;
}

std::vector<time_ns> comparison::prediction(const contender& c) const {
    std::vector<time_ns> arrivals;
    const contender& seen = c.pattern ? c : contenders_[incumbent_];
    if (seen.pattern) (void)seen.pattern->next(arrivals);
    return arrivals;
}

/// Whether a is better by half of the margin at least. Where ranks run ahead of each other nobody waits for the last
/// one, so only what the program lost decides, or the pace.
bool comparison::beats(const level& a, const level& b) const {
    const time_ns noise = a.noise + b.noise;
    if (a.pace > b.pace + share_of(b.pace, most_slower) + noise) return false;
    const time_ns least = share_of(b.tail, with_.how.careful.margin / 2);
    const bool by_pace = !loses() && (a.runs_ahead || b.runs_ahead);
    return by_pace ? b.pace - a.pace > least + noise : b.tail - a.tail > least;
}

bool comparison::is_promising(const contender& c) const {
    const contender& now = contenders_[incumbent_];
    const auto better = [&](time_ns mine, time_ns than) {
        return mine < than - share_of(than, with_.how.careful.margin);
    };
    if (incumbent_ == native || now.predicted == time_ns{})
        return better(share_of(c.predicted, doubt_), now.measured->tail);
    // An error of the model affects both predictions alike. But if the incumbent is slower than predicted, the cause
    // may be the incumbent itself.
    const bool broken = better(now.predicted, now.measured->tail);
    return better(c.predicted, now.predicted) || (broken && better(c.predicted, now.measured->tail));
}

bool comparison::is_worthwhile(time_ns tail) const {
    return !is_small(first_.bytes) && tail >= share_of(contenders_[incumbent_].measured->pace, worthwhile);
}

/// The risk: a challenger that is slower than predicted, by half of the tail in each call of its trial.
bool comparison::may_try(const contender& c) const {
    const time_ns risk = times(contenders_[incumbent_].measured->tail / 2, trial_calls) + asking();
    const bool free = trials_ < free_trials && with_.free_trials + with_.trials_elsewhere < most_free_trials;
    return (free && leaves_no_doubt(c)) || with_.account.affords(risk);
}

/// By how much a prediction may be wrong. The native collective shows how slow the network is at most: it takes at
/// least as long as the best plan that neither begins early nor knows arrivals. This says nothing new of such plans,
/// but of those that do.
double comparison::error_in_doubt(const contender& c) const {
    if (c.rolls) return no_doubt_of_seen;
    const time_ns less_able = c.use->early ? plain_tail_ : c.use->arrival_aware ? blind_tail_ : time_ns{};
    if (less_able <= time_ns{}) return no_doubt;
    const time_ns by_native = contenders_[native].measured->tail;
    return std::clamp(static_cast<double>(by_native.count()) / static_cast<double>(less_able.count()),
                      c.use->early ? no_doubt_of_confirmed : no_doubt_of_seen, no_doubt);
}

bool comparison::leaves_no_doubt(const contender& c) const {
    const time_ns tail = contenders_[incumbent_].measured->tail;
    return with_.how.between_hosts &&
           share_of(c.predicted, doubt_ * error_in_doubt(c)) < tail - share_of(tail, with_.how.careful.margin);
}

/// Whether ranks are late enough to matter, and nobody can say which: most predictions were wrong, or the worst one is
/// off by as much on average.
bool comparison::is_unforeseeable(const contender& c) const {
    if (!c.pattern || !c.measured) return false;
    if (c.missed > mostly_missed) return true;
    const time_ns error = c.pattern->worst_uncertainty();
    return error != simulator::unsure && error > c.measured->alone / 4;
}

/// Whether predictions were right, so far as one can tell.
bool comparison::is_foreseen(const contender& c) const {
    return c.pattern && c.pattern->worst_uncertainty() != simulator::unsure && !is_unforeseeable(c);
}

/// Whether a choice is made among plans for whom roll is called: by the newest arrivals, as these would be seen.
bool comparison::may_call_roll() const {
    const contender& now = contenders_[incumbent_];
    if (now.rolls || rolls_ >= most_roll_calls || wait_ > 0 || now.measured->runs_ahead || is_uncoupled() ||
        now.newest.empty())
        return false;
    if (together(first_.bytes) < followed) return false;
    return is_unforeseeable(now) && std::ranges::max(now.newest) > now.measured->alone / 4 && affords_choice();
}

void comparison::call_roll() {
    ++rolls_;
    phase_ = phase::choosing;
    order_choice(true);
}

/// The first to come chooses, and the time until the last one comes costs nobody anything.
bool comparison::affords_choice() const {
    const std::vector<time_ns> coming = prediction(contenders_[incumbent_]);
    return with_.account.affords_choice(coming.empty() ? time_ns{} : std::ranges::max(coming));
}

/// The cost of a challenge's exchanges.
time_ns comparison::asking() const { return times(with_.account.exchanging(), 2 * block + 2); }

bool comparison::may_choose_anew() const { return wait_ == 0 && affords_choice(); }

/// Whether arrivals differ from those of the last choice by more than the usual error of predictions, and enough to
/// matter.
bool comparison::has_changed() const {
    const contender& now = contenders_[incumbent_];
    if (!chosen_ || !now.pattern || now.rolls) return false;
    // What it was chosen by says more now.
    const bool known_better_now = is_foreseen(now) || gaps_.size() >= known_better * chosen_by_;
    if (plays_loops() && !chosen_foreseen_ && failures_ == 0 && known_better_now) return true;
    if (is_unforeseeable(now)) return false;
    const time_ns error = now.pattern->uncertainty();
    return error != simulator::unsure && farthest(prediction(now), chosen_for_) > now.measured->alone / 2 + 2 * error;
}

std::uint64_t comparison::longest_interval() const {
    if (is_small(first_.bytes)) return rarest;
    const time_ns pace = contenders_[incumbent_].measured->pace;
    std::uint64_t n = quiet_interval;
    while (n < rarest && share_of(times(pace, n), exchange_share) < with_.account.exchanging()) n = 2 * n + 1;
    return n;
}

/// A call failed, so its times mean nothing: the measurement under way begins again.
void comparison::begin_again() {
    if (phase_ == phase::resting) {
        next_sample_ = call_ + interval_;
    } else if (phase_ != phase::choosing) {
        since_ = call_;
        block_.clear();
    }
}

void comparison::rest(std::uint64_t interval) {
    phase_ = phase::resting;
    since_ = call_;
    interval_ = interval;
    next_sample_ = call_ + interval;
    slow_ = changed_ = 0;
}

void comparison::measure(next what) {
    phase_ = phase::measuring;
    next_ = what;
    since_ = call_;
    unlike_ = 0;
    block_.clear();
}

/// The first call of all is slow in any case. It only shows whether a choice is worthwhile.
void comparison::first_call(const sample& s) {
    contenders_[native].measured = level_of(std::span(&s, 1), first_, loses());
    order_if_worthwhile();
}

/// Where ranks are ahead of each other, one call does not show what several lose.
bool comparison::knows_enough() const { return !is_uncoupled() || sizes_differ() || gaps_.size() >= fewest_calls; }

void comparison::order_if_worthwhile() {
    if (!choice_ && !choice_is_here_ && knows_enough() && is_worthwhile(contenders_[incumbent_].measured->tail) &&
        affords_choice())
        order_choice();
}

/// Called when half of the incumbent's calls are measured, and when all are: a choice that is ordered at half time is
/// complete at the end.
void comparison::measured() {
    contender& now = contenders_[incumbent_];
    now.measured = level_of(block_, first_, loses());
    if (next_ == next::native) return begin_trial(native);
    if (next_ == next::listed) return try_next();
    if (next_ == next::roll_call) return call_roll();
    if (choice_is_here_) {
        use_choice();
    } else if (choice_) {
        phase_ = phase::choosing;
    } else if (is_worthwhile(now.measured->tail)) {
        rest(usual_interval);  // a choice was not affordable
    } else {
        if (!chosen_ && failures_ == 0)
            explain(decision::verdict::left, now,
                    is_small(first_.bytes) ? "the calls have too few bytes"
                                           : "the calls take too small a share of the time");
        fail(audit_after);
    }
}

/// Tries the next plan of the last choice that is still predicted to be better.
void comparison::try_next() {
    while (listed_ < contenders_.size() && !is_promising(contenders_[listed_])) ++listed_;
    if (listed_ == contenders_.size()) return fail(1);
    begin_trial(listed_++);
}

void comparison::begin_trial(std::size_t who) {
    challenger_ = who;
    contender& c = contenders_[who];
    c.planned_by =
        c.use != nullptr && c.use->arrival_aware ? prediction(contenders_[incumbent_]) : std::vector<time_ns>();
    c.pattern.reset();
    explain(decision::verdict::tried, c,
            who == native ? "is the plan still better"
            : c.rolls     ? "with a roll call it promises to be better by the margin"
                          : "it promises to be better by the margin");
    if (who != native && trials_++ < free_trials) {
        ++with_.free_trials;
        if (directing_cost* const process = with_.how.process) ++process->free_trials;
    }
    native_block_ = phase_ == phase::measuring && incumbent_ == native ? std::move(block_) : std::vector<sample>();
    phase_ = phase::trying;
    since_ = call_;
    unlike_ = 0;
    block_.clear();
}

void comparison::check_trial(const sample& s) {
    const level& now = *contenders_[incumbent_].measured;
    if (challenger_ == native) return;
    const level seen = level_of(std::span(&s, 1), first_, loses());
    contenders_[challenger_].measured = seen;
    if (seen.tail > hopeless * std::max(now.tail, now.worst)) settle(false, "its second call was much slower");
}

void comparison::end_trial() {
    contender& c = contenders_[challenger_];
    const level& now = *contenders_[incumbent_].measured;
    c.measured = level_of(block_, first_, loses());
    // In doubt, the native collective wins.
    const bool stays = challenger_ == native ? !beats(now, *c.measured) : beats(*c.measured, now);
    settle(stays, stays ? "it is better" : "it is not better");
}

void comparison::settle(bool challenger_stays, std::string_view reason) {
    const bool of_native = challenger_ == native;
    const level& now = *contenders_[incumbent_].measured;
    const level& other = *contenders_[challenger_].measured;
    const time_ns loss = other.tail - now.tail;
    const time_ns slower = other.pace - now.pace - now.noise - other.noise;
    with_.account.spend(times(std::max(loss, slower), call_ - since_));
    const contender& plan = contenders_[of_native ? incumbent_ : challenger_];
    explain(challenger_stays != of_native ? decision::verdict::kept : decision::verdict::withdrawn, plan,
            of_native ? (challenger_stays ? "the native collective is as good" : "it is still better") : reason);
    rested_ = 0;
    if (challenger_stays) incumbent_ = challenger_;
    if (of_native && !challenger_stays) {
        ++audits_;
        failures_ = std::max(0, failures_ - 1);
        return rest(usual_interval);
    }
    audits_ = 0;
    // A plan that is kept and withdrawn in turn gains little, so failures are not reset here.
    if (challenger_stays && !of_native) {
        wait_ = 0;
        doubt_ = 1;
        // It has just been measured, so what is far better need not wait.
        const bool next_is_sure =
            listed_ < contenders_.size() && is_promising(contenders_[listed_]) && leaves_no_doubt(contenders_[listed_]);
        if (next_is_sure && may_try(contenders_[listed_])) return try_next();
        if (may_call_roll()) return call_roll();
        return may_choose_anew() && has_changed() ? measure(next::choice) : rest(watchful_interval);
    }
    if (of_native) {
        // The plan was slow for some calls before that was noticed.
        with_.account.spend(times(std::max(-loss, time_ns{}), was_slow_));
    } else {
        // Half of the error may come from the model, the other half from this plan.
        const time_ns least = now.tail / 100 + time_ns{1};
        const auto promised = static_cast<double>(std::max(plan.predicted, least).count());
        doubt_ *= std::sqrt(std::max(1., static_cast<double>(other.tail.count()) / (promised * doubt_)));
    }
    fail(1);
}

/// Waits before the next try, longer after each failure.
void comparison::fail(int samples) {
    wait_ = doubled(samples, failures_);
    ++failures_;
    rest(usual_interval);
}

/// A sample of the incumbent between challenges.
void comparison::watch(const sample& s, bool foreseen) {
    const level seen = level_of(std::span(&s, 1), first_, loses());
    ++rested_;
    wait_ = std::max(0, wait_ - 1);
    synchronise();
    contender& now = contenders_[incumbent_];
    if (std::exchange(remembered_, false)) {
        const time_ns known = now.measured->tail;
        // One call that ranks leave at different times may have lost nothing where several do.
        const time_ns native_too = std::max(known, (known + contenders_[native].measured->tail) / 2);
        const bool tells = !(seen.runs_ahead && loses()) || seen.tail > native_too;
        const time_ns off = std::max(known - seen.tail, seen.tail - known);
        if (tells && is_stale(known, seen.tail) && off > share_of(seen.pace, worthwhile)) return forget();
        now.measured->pace = seen.pace;
    }
    const level& by_native = *contenders_[native].measured;
    changed_ = has_changed() ? changed_ + 1 : 0;
    const bool listed = listed_ < contenders_.size();
    if (incumbent_ != native) {
        // Slower: it has lost half of its gain. Where ranks run ahead of each other, one call says nothing.
        const bool slower = seen.tail > now.measured->tail + (by_native.tail - now.measured->tail) / 2;
        if (foreseen) slow_ = slower && !now.measured->runs_ahead && !by_native.runs_ahead ? slow_ + 1 : 0;
        was_slow_ = static_cast<std::uint64_t>(slow_) * interval_;
        if (slow_ >= believed + std::min(audits_, believed)) return measure(next::native);
        if (may_call_roll()) return measure(next::roll_call);
        if (changed_ >= believed && may_choose_anew()) return measure(next::choice);
        if (listed && wait_ == 0 && is_promising(contenders_[listed_]) && may_try(contenders_[listed_]))
            return measure(next::listed);
        const time_ns price = times(std::max(by_native.tail - now.measured->tail, time_ns{}), trial_calls) + asking();
        if (rested_ >= doubled(audit_after, audits_) && with_.account.hardly_notices(price))
            return measure(next::native);
    } else {
        const bool slower = seen.tail > chosen_against_ + chosen_against_ / 2 && seen.tail > now.measured->worst;
        slow_ = chosen_ && slower ? slow_ + 1 : 0;
        const bool worth = is_worthwhile(seen.tail);
        const bool anew = !chosen_ || changed_ >= believed || slow_ >= believed || (failures_ > 0 && !listed);
        if (worth && may_call_roll()) return measure(next::roll_call);
        if (worth && anew && may_choose_anew()) return measure(next::choice);
        if (worth && listed && wait_ == 0 && may_try(contenders_[listed_])) return measure(next::listed);
    }
    const bool alert = slow_ > 0 || changed_ > 0;
    interval_ = alert ? std::min(interval_, usual_interval) : std::min(2 * interval_ + 1, longest_interval());
    next_sample_ = call_ + interval_;
}

/// A call of another size. After two of them sizes have moved for good or keep changing, and what was found says
/// nothing of the calls to come. Each time it takes longer until calls are measured again.
void comparison::meet_other_size() {
    interval_ = std::min(interval_, usual_interval);
    if (++unlike_ < believed || choice_) return begin_again();
    const std::size_t plan = incumbent_ != native ? incumbent_ : running();
    if (plan != native) explain(decision::verdict::withdrawn, contenders_[plan], "sizes have changed");
    // What the trial has cost is not known: it is taken to be as slow as it was allowed to be.
    if (phase_ == phase::trying) with_.account.spend(times(contenders_[incumbent_].measured->tail / 2, call_ - since_));
    forget();
    since_ += static_cast<std::uint64_t>(doubled(1, moves_++)) - 1;
}

/// What was remembered, or found for other sizes, is wrong: it begins as if nothing were known.
void comparison::forget() {
    contenders_.resize(1);
    contenders_[native] = {};
    ++list_;
    incumbent_ = native;
    listed_ = 1;
    chosen_ = choice_is_here_ = remembered_ = false;
    chosen_for_.clear();
    gaps_.clear();
    measure(next::choice);
}

/// Called when all ranks take part in the same sample, so they can synchronise now.
void comparison::synchronise() {
    if (incumbent_ != native && is_uncoupled()) return;  // it would bring them together
    const time_ns now = with_.account.latest();
    if (with_.synchronise_after == time_ns{}) {
        with_.synchronised = now;
        with_.synchronise_after = first_synchronisation;
    }
    if (now - with_.synchronised < with_.synchronise_after) return;
    with_.others.synchronise();
    with_.synchronised = now;
    with_.synchronise_after = std::min(with_.synchronise_after * synchronise_rarer, last_synchronisation);
}

}  // namespace rubato::dropin
