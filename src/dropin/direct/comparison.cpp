#include "dropin/direct/comparison.hpp"

#include "rubato/arrival.hpp"
#include "simulator/choose/outcome.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

namespace rubato::dropin {
namespace {

constexpr std::string_view predicted_by = "average:window=5";

std::vector<time_ns> after_first(std::vector<time_ns> arrivals) {
    const time_ns first = std::ranges::min(arrivals);
    for (time_ns& t : arrivals) t -= first;
    return arrivals;
}

std::optional<decision::times> decision_times(const std::optional<level>& l) {
    if (!l) return std::nullopt;
    return decision::times{l->tail, l->pace};
}

std::optional<decision::arrival_pattern> pattern_of(const std::vector<time_ns>& arrivals) {
    if (arrivals.empty()) return std::nullopt;
    const auto [first, last] = std::ranges::minmax_element(arrivals);
    return decision::arrival_pattern{static_cast<std::int32_t>(first - arrivals.begin()),
                                     static_cast<std::int32_t>(last - arrivals.begin()), *last - *first};
}

time_ns median(std::vector<time_ns> times) {
    std::ranges::sort(times);
    const std::size_t middle = times.size() / 2;
    return times.size() % 2 == 1 ? times[middle] : times[middle - 1] + (times[middle] - times[middle - 1]) / 2;
}

time_ns mean_period(std::span<const cost> calls) {
    time_ns sum{};
    for (const cost& c : calls) sum += c.period;
    return sum / static_cast<time_ns::rep>(std::max<std::size_t>(1, calls.size()));
}

/// How much longer calls in a row took than if messages took no time: all together, as delays of different ranks may
/// overlap.
time_ns lost_in(std::span<const sample> calls, const directed_call& like) {
    std::vector<simulator::call_gap> gaps;
    for (const sample& s : calls) gaps.push_back(s.gap());
    const time_ns lost = std::ranges::max(calls.back().next) -
                         simulator::earliest_next(like.what, like.root, calls.front().arrivals, gaps);
    return std::max(lost, time_ns{});  // clocks agree only up to a bound
}

struct losses {
    time_ns mean;
    time_ns worst;  ///< in one call
};

losses losses_in(std::span<const sample> calls, const directed_call& like) {
    time_ns lost{};
    for (std::size_t first = 0, end = 0; first < calls.size(); first = end) {
        for (end = first + 1; end < calls.size() && calls[end].call == calls[end - 1].call + 1;) ++end;
        lost += lost_in(calls.subspan(first, end - first), like);
    }
    std::int64_t bytes = 0;
    std::vector<time_ns> alone;
    for (const sample& s : calls) {
        bytes += s.bytes;
        alone.push_back(lost_in(std::span(&s, 1), like));
    }
    std::ranges::sort(alone, std::greater());
    const time_ns worst = alone.front();
    // One of some calls may have been held up by anything; but not all of that need have delayed the program.
    if (alone.size() >= block) {
        alone.front() = alone[1];
        const time_ns usual = std::accumulate(alone.begin(), alone.end(), time_ns{});
        lost -= std::clamp(lost - usual, time_ns{}, worst - alone[1]);
    }
    const auto n = static_cast<time_ns::rep>(calls.size());
    const double scale =
        bytes > 0 ? static_cast<double>(like.bytes) * static_cast<double>(n) / static_cast<double>(bytes) : 1;
    return {share_of(lost / n, scale), share_of(worst, scale)};
}

}  // namespace

cost cost_of(const sample& s, std::int64_t bytes) {
    // Clocks agree only up to a bound, so a very short tail may seem negative.
    const time_ns measured = std::max(tail(s.arrivals, s.exits), time_ns{});
    const double scale = s.bytes > 0 ? static_cast<double>(bytes) / static_cast<double>(s.bytes) : 1;
    const time_ns last = std::ranges::max(s.arrivals);
    return {share_of(measured, scale), std::ranges::max(s.next) - last, std::ranges::min(s.next) < last};
}

simulator::call_gap sample::gap() const {
    const time_ns last = std::ranges::max(exits);
    simulator::call_gap g{.meets = met || std::ranges::min(next) >= last};
    for (std::size_t r = 0; r < next.size(); ++r) g.computing.push_back(next[r] - (g.meets ? last : exits[r]));
    return g;
}

level level_of(std::span<const sample> calls, const directed_call& like, bool loses) {
    level l;
    std::vector<cost> costs;
    std::vector<time_ns> tails;
    for (const sample& s : calls) {
        costs.push_back(cost_of(s, like.bytes));
        tails.push_back(costs.back().tail);
        l.runs_ahead |= costs.back().runs_ahead;
    }
    l.worst = std::ranges::max(tails);
    l.tail = l.alone = median(std::move(tails));
    if (loses) {
        const losses lost = losses_in(calls, like);
        l.tail = lost.mean;
        l.worst = lost.worst;
    }
    l.pace = mean_period(costs);
    const std::size_t half = costs.size() / 2;
    if (half == 0) return l;
    const time_ns change = mean_period(std::span(costs).first(half)) - mean_period(std::span(costs).subspan(half));
    l.noise = std::max(change, -change) / 2;
    return l;
}

comparison::comparison(shared& with, const directed_call& first) : with_(with), first_(first), contenders_(1) {
    since_ = 1;
}

comparison::comparison(shared& with, const directed_call& first, const experience& known) : comparison(with, first) {
    if (sizes_differ()) first_.bytes = known.bytes;
    const double scale =
        known.bytes > 0 && first_.bytes > 0 ? static_cast<double>(first_.bytes) / static_cast<double>(known.bytes) : 1;
    const auto level_then = [&](const experience::times& t) {
        const time_ns tail = share_of(t.tail, scale);
        return level{.tail = tail, .pace = t.pace + tail - t.tail, .alone = tail, .worst = tail};
    };
    contenders_[native].measured = level_then(known.of_native);
    const auto use = std::ranges::find(algorithms(), known.algorithm, &algorithm::id);
    // An earlier version may have used what this one does not.
    if (use != algorithms().end() && use->what == first.what && use->same_bits && (!use->early || with.how.early)) {
        contenders_.push_back({.use = &*use,
                               .segment = known.segment,
                               .round_time = known.round_time,
                               .rolls = known.rolls,
                               .measured = level_then(known.of_plan)});
        incumbent_ = listed_ = contenders_.size() - 1;
        ++listed_;
    }
    contender& now = contenders_[incumbent_];
    if (std::ssize(known.arrivals) == with.how.ranks) {
        now.pattern.emplace(predicted_by, with.how.ranks);
        now.pattern->observe(known.arrivals);
        if (now.use != nullptr && now.use->arrival_aware) now.planned_by = known.arrivals;
        chosen_for_ = known.arrivals;
    }
    chosen_ = true;
    chosen_by_ = remembered_calls;
    chosen_foreseen_ = !known.arrivals.empty();
    chosen_against_ = contenders_[native].measured->tail;
    remembered_ = true;
    if (known.kind == first.kind()) native_before_ = contenders_[native].measured->tail;
    if (now.use == nullptr) {
        failures_ = 1;
        wait_ = audit_after;
    }
    rest(0);
    next_sample_ = loses() ? 2 : 1;  // the first opens connections
    explain(now.use != nullptr ? decision::verdict::kept : decision::verdict::left, now, "calls like this are known");
}

comparison::comparison(shared& with, const directed_call& first, const seen_call& before) : comparison(with, first) {
    call_ = 1;
    sampled_ = watched_ = true;
    arrival_ = before.arrival;
    exit_ = before.exit.value_or(no_exit);
    bytes_ = before.what.bytes;
    own_ = before.what.own;
    meetings_ = before.what.meetings + (is_meeting(traits(first.what)) ? 1 : 0);
}

const directive& comparison::arrive(const directed_call& c, time_ns now) {
    ++call_;
    const std::optional<time_ns> came = std::exchange(with_.how.came, std::nullopt);
    if (sampled_) report(came.value_or(now), came.has_value(), c.meetings != meetings_);
    meetings_ = c.meetings + (is_meeting(traits(c.what)) ? 1 : 0);  // itself does not count
    while (!pending_.empty() && pending_.front().due <= call_) {
        const pending p = pending_.front();
        pending_.pop_front();
        learn(p);
    }
    if (choice_ && choice_->due <= call_) take_choice();
    direct(c);
    watched_ = is_watched();
    sampled_ = watched_ || follows();
    arrival_ = now;
    bytes_ = c.bytes;
    own_ = c.own;
    return how_;
}

void comparison::refused(std::string_view reason) {
    if (!std::exchange(refused_, true)) explain(decision::verdict::left, contenders_[running()], reason);
}

std::optional<experience> comparison::learned() const {
    const contender& by_native = contenders_[native];
    if (!by_native.measured) return std::nullopt;
    // A plan on trial may be ahead.
    const bool leads = phase_ == phase::trying && challenger_ != native && contenders_[challenger_].measured &&
                       beats(*contenders_[challenger_].measured, *contenders_[incumbent_].measured);
    const contender& now = contenders_[leads ? challenger_ : incumbent_];
    const bool is_kept = now.use != nullptr && now.measured;
    if (!is_kept && (!chosen_ || phase_ != phase::resting)) return std::nullopt;
    const auto times_of = [](const level& l) { return experience::times{l.tail, l.pace}; };
    experience e;
    e.kind = simulator::operation_of(first_.what, first_.root, sizes_differ() ? 0 : first_.bytes);
    e.bytes = first_.bytes;
    e.of_native = times_of(*by_native.measured);
    if (is_kept) {
        e.algorithm = now.use->id;
        e.segment = now.segment;
        e.round_time = now.round_time;
        e.rolls = now.rolls;
        e.of_plan = times_of(*now.measured);
    }
    e.arrivals = prediction(now);
    return e;
}

bool comparison::is_alike(std::int64_t bytes) const {
    if (is_small(bytes) && is_small(first_.bytes)) return true;
    return bytes <= alike * first_.bytes && first_.bytes <= alike * bytes;
}

bool comparison::follows() const {
    const contender& now = contenders_[incumbent_];
    return phase_ == phase::resting && now.use != nullptr && now.use->arrival_aware && now.measured &&
           !now.measured->runs_ahead && together(first_.bytes) >= followed &&
           with_.account.exchanging() <= share_of(now.measured->pace, follow_share);
}

bool comparison::is_watched() const {
    const auto within = [&](std::uint64_t begin) { return call_ >= since_ + begin && call_ < since_ + begin + block; };
    switch (phase_) {
        case phase::resting: return call_ == next_sample_;
        case phase::measuring: return within(0) || (since_ == 1 && within(1));
        case phase::choosing: return false;
        case phase::trying: return call_ == since_ + checked || within(warm_up);
    }
    return false;
}

void comparison::direct(const directed_call& c) {
    const contender& by = contenders_[running()];
    how_.use = by.use;
    how_.segments = simulator::pieces(sizes_differ() ? first_.bytes : c.bytes, by.segment);
    how_.round_time = by.round_time;
    how_.arrivals = by.planned_by;
    // The communicator does not exchange arrivals itself where they are given.
    if (by.use != nullptr && by.use->arrival_aware) how_.arrivals.resize(static_cast<std::size_t>(with_.how.ranks));
    how_.roll_call.reset();
    if (!by.rolls) return;
    const std::vector<time_ns> coming = prediction(by);
    const auto first = coming.empty() ? 0 : std::ranges::min_element(coming) - coming.begin();
    how_.roll_call = {rank(static_cast<std::int32_t>(first)), patience_of(contenders_[incumbent_].measured->alone)};
}

/// Begins to exchange the times of the last call. Ranks that arrive early have time for it now.
/// If all ranks have just met, nobody waits for what they tell.
void comparison::report(time_ns now, bool all_are_here, bool met) {
    const time_ns begin = with_.others.now();
    const directing_cost* const process = with_.how.process;
    told_sample mine;
    mine.arrival = arrival_;
    mine.exit = exit_;
    mine.next = now;
    mine.exchanging = with_.own_exchange;
    mine.spent_elsewhere = with_.account.spent_elsewhere();
    mine.free_trials_elsewhere = process != nullptr ? process->free_trials - with_.free_trials : 0;
    mine.has_run = with_.account.has_run(begin);
    mine.largest_buffer = own_;
    mine.met = met ? 1 : 0;
    const std::uint64_t ticket = with_.others.gather(bytes_of(mine));
    with_.own_exchange = with_.others.now() - begin;
    // Rare samples are not urgent; ranks that are ahead of others need not wait for them.
    const bool soon = waits_for_all(traits(first_.what)) || !chosen_;
    std::uint64_t patience = all_are_here ? 0 : soon ? 1 : lag;
    if (phase_ == phase::resting && !follows()) patience = std::max(patience, interval_ / 4);
    // Nor wait ranks that a plan lets run ahead: their lead is what is won.
    if (running() != native && is_uncoupled())
        patience = std::max(patience, phase_ == phase::resting ? 2 * most_ahead : lag + 2 * ahead_);
    if (remembered_ && loses()) patience = std::max(patience, most_ahead / 2);
    pending_.push_back({ticket, call_ + patience, call_ - 1, running(), bytes_, watched_, list_});
}

void comparison::learn(const pending& p) {
    sample s{p.call, p.by, p.bytes};
    time_ns busy{};
    time_ns elsewhere{};
    time_ns shortest = time_ns::max();
    time_ns longest{};
    std::int64_t largest = 0;
    for (const told_sample& t : messages_in<told_sample>(with_.others.take(p.ticket))) {
        s.arrivals.push_back(t.arrival);
        s.exits.push_back(t.exit);
        s.next.push_back(t.next);
        s.met |= t.met != 0;
        busy = std::max(busy, t.exchanging);
        elsewhere = std::max(elsewhere, t.spent_elsewhere);
        with_.trials_elsewhere = std::max(with_.trials_elsewhere, static_cast<int>(t.free_trials_elsewhere));
        shortest = std::min(shortest, t.has_run);
        longest = std::max(longest, t.has_run);
        largest = std::max(largest, t.largest_buffer);
    }
    if (sizes_differ()) {
        s.bytes = largest / chunks();
        if (!contenders_[native].measured) first_.bytes = s.bytes;
    }
    ledger& account = with_.account;
    account.pass(std::ranges::min(s.arrivals), std::ranges::max(s.next));
    account.count_in(elsewhere, shortest, longest);
    account.pay_exchange(busy);
    if (p.by != native && p.list != list_) return;  // it is gone, or has another number
    const bool failed = std::ranges::find(s.exits, no_exit) != s.exits.end();
    if (!failed) observe(contenders_[s.by], s);
    if (!failed && p.watched && s.by == native && incumbent_ == native && phase_ == phase::trying && s.call > 1 &&
        is_alike(s.bytes)) {
        native_block_.push_back(std::move(s));
        contenders_[native].measured = level_of(native_block_, first_, loses());
        return;
    }
    if (!p.watched || s.call < since_ || s.by != running()) return;  // only followed, or of a challenge that is over
    if (failed) return begin_again();
    if (!is_alike(s.bytes)) return meet_other_size();
    switch (phase_) {
        case phase::resting:
            unlike_ = 0;
            watch(s, s.call < contenders_[s.by].changed || s.call >= contenders_[s.by].replanned);
            break;
        case phase::measuring:
            if (s.call == 1) {
                first_call(s);
            } else {
                block_.push_back(s);
                if (contenders_[incumbent_].measured && next_ == next::choice && !choice_is_here_ && block_.size() > 1)
                    contenders_[incumbent_].measured = level_of(block_, first_, loses());
                // Nothing is known of it if what was remembered proved wrong.
                if (!contenders_[incumbent_].measured)
                    first_call(s);
                else if (next_ == next::choice)
                    order_if_worthwhile();
                if (block_.size() == block) measured();
            }
            break;
        case phase::choosing: break;
        case phase::trying:
            if (s.call == since_ + checked)
                check_trial(s);
            else if (block_.push_back(std::move(s)); block_.size() == block)
                end_trial();
            break;
    }
}

/// Arrivals at a call belong to who made the one before it.
void comparison::observe(contender& by, const sample& s) {
    if (!by.pattern) by.pattern.emplace(predicted_by, with_.how.ranks);
    // At the first call ranks may just have made this director together, and then none of them is late.
    if (by.seen != s.call && s.call > 1) by.pattern->observe(s.arrivals);
    if (plays_loops()) gaps_.push_back(s.gap());
    if (gaps_.size() > remembered_calls) gaps_.pop_front();
    const auto [first, last] = std::ranges::minmax(s.next);
    const time_ns period = std::max(last - std::ranges::max(s.arrivals), time_ns{1});
    ahead_ = std::clamp(static_cast<std::uint64_t>((last - first) / period), ahead_ * 3 / 4, most_ahead);
    // A plan costs something to make, and differences that do not show are none.
    const level* l = contenders_[incumbent_].measured ? &*contenders_[incumbent_].measured : nullptr;
    const time_ns tolerance = l != nullptr ? l->alone / 8 : time_ns{};
    const time_ns error = by.pattern->worst_uncertainty();
    std::vector<time_ns> coming;
    const bool known = by.pattern->next(coming);
    const time_ns off = known ? farthest(coming, after_first(s.next)) : time_ns{};
    if (known && l != nullptr) by.missed += (static_cast<double>(off > l->alone / 4) - by.missed) / 4;
    // Farther off than predictions ever were: ranks come otherwise from now on, and what was before says nothing.
    if (known && error != simulator::unsure && off > 2 * tolerance + 3 * error) {
        by.pattern.emplace(predicted_by, with_.how.ranks);
        by.changed = s.call + 1;
        by.replanned = call_;
    }
    by.pattern->observe(s.next);
    by.newest = after_first(s.next);
    if (by.use == nullptr || !by.use->arrival_aware) return;
    (void)by.pattern->next(coming);
    if (by.planned_by.empty() || farthest(by.planned_by, coming) > tolerance) by.planned_by = std::move(coming);
}

void comparison::explain(decision::verdict made, const contender& about, std::string_view reason) const {
    if (!with_.explain) return;
    const contender& now = contenders_[incumbent_];
    decision d = decision_at(first_, with_.how.ranks, call_);
    d.made = made;
    d.algorithm = about.name();
    if (about.use != nullptr)
        d.promised = {simulator::pieces(first_.bytes, about.segment), about.predicted, chosen_in_};
    d.measured = decision_times(about.measured);
    d.incumbent = now.name();
    d.of_incumbent = decision_times(now.measured);
    if (incumbent_ != native && challenger_ != native) d.of_native = decision_times(contenders_[native].measured);
    d.pattern = pattern_of(prediction(now));
    d.reason = reason;
    with_.explain(d);
}

}  // namespace rubato::dropin
