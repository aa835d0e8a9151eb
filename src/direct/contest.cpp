#include "direct/contest.hpp"

#include "choose/outcome.hpp"
#include "rubato/arrival.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace rubato::direct {
namespace {

/// Pieces of 16 KiB keep a pipeline full; more than so many gain nothing.
constexpr std::int64_t forced_segment = 16 << 10;
constexpr std::uint32_t most_segments = 4096;

// Arrival, exit, next arrival, what exchanging cost; spent elsewhere, duels elsewhere, how long the process has run.
constexpr std::size_t numbers_of_sample = 7;

}  // namespace

contest::contest(shared& with, const directed_call& first) : with_(with), first_(first), contenders_(1) {
    since_ = 2;  // the first call is slow in any case
    if (const algorithm* forced = with_.how.force) {
        contender c;
        c.use = forced;
        c.segment = forced->segmented ? forced_segment : 0;
        const std::int64_t piece = std::max<std::int64_t>(1, std::min(first.bytes, forced_segment));
        if (forced->uses_round_time()) c.round_time = cautious_round_time(with_.others.network(), piece);
        contenders_.push_back(std::move(c));
        incumbent_ = 1;
        phase_ = phase::resting;
        interval_ = usual;
        next_sample_ = forced->arrival_aware ? 1 : std::numeric_limits<std::uint64_t>::max();
    }
}

const directive& contest::arrive(const directed_call& c, time_ns now) {
    if (++call_ == 1 && with_.how.force != nullptr) explain("forced", contenders_[incumbent_], "as was asked");
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
    if (!std::exchange(refused_, true)) explain("left", contenders_[running()], reason);
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
    how_.segments = std::min(pieces(c.bytes, by.segment), most_segments);
    how_.round_time = by.round_time;
    how_.arrivals = by.planned_by;
}

/// Begins to exchange what was seen of the last call. Those who come early have time for it now.
void contest::report(time_ns now) {
    const time_ns begin = with_.others.now();
    const effort* const process = with_.how.process;
    const std::array<std::int64_t, numbers_of_sample> mine{
        arrival_.count(),
        exit_.count(),
        now.count(),
        with_.own_exchange.count(),
        with_.account.spent_elsewhere().count(),
        process != nullptr ? process->free_duels - with_.free_duels : 0,
        with_.account.has_run(begin).count()};
    const std::uint64_t ticket = with_.others.gather(mine);
    with_.own_exchange = with_.others.now() - begin;
    // Rare samples are in no hurry, and need not hold up ranks that are ahead of others.
    const std::uint64_t patience = phase_ == phase::resting ? std::max(lag, interval_ / 4) : lag;
    pending_.push_back({ticket, call_ + patience, call_ - 1, running(), bytes_});
}

void contest::learn(const pending& p) {
    const std::vector<std::int64_t> all = with_.others.take(p.ticket);
    sample s{p.call, p.by, p.bytes};
    time_ns busy{};
    time_ns elsewhere{};
    time_ns has_run = time_ns::max();
    for (std::size_t r = 0; r < all.size(); r += numbers_of_sample) {
        s.arrivals.emplace_back(all[r]);
        s.exits.emplace_back(all[r + 1]);
        s.next.emplace_back(all[r + 2]);
        busy = std::max(busy, time_ns(all[r + 3]));
        elsewhere = std::max(elsewhere, time_ns(all[r + 4]));
        with_.duels_elsewhere = std::max(with_.duels_elsewhere, static_cast<int>(all[r + 5]));
        has_run = std::min(has_run, time_ns(all[r + 6]));
    }
    ledger& account = with_.account;
    account.pass(std::ranges::min(s.arrivals), std::ranges::max(s.next));
    account.count_in(elsewhere, has_run);
    account.exchanging = busy;
    account.spend(busy);
    observe(contenders_[s.by], s);
    if (with_.how.force != nullptr) {
        interval_ = std::min(2 * interval_ + 1, quiet);
        next_sample_ = call_ + interval_;
        return;
    }
    if (s.call < since_ || s.by != running()) return;  // of a challenge that is over
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
    // A plan costs something to make, and differences that do not show are none.
    const level* l = contenders_[incumbent_].measured ? &*contenders_[incumbent_].measured : nullptr;
    const time_ns tolerance = l != nullptr ? l->tail / 8 : time_ns{};
    if (by.planned_by.empty() || farthest(by.planned_by, coming) > tolerance) by.planned_by = std::move(coming);
}

}  // namespace rubato::direct
