#include "engine/player.hpp"

#include "engine/announcement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rubato {
namespace {

/// What is exchanged: a time, whether it was said beforehand, and the last bits of the invocation's number, which show
/// whether all ranks mean the same invocation.
constexpr int number_bits = 8;
/// Some 200 days after the communicator was made: the remaining bits hold no more.
constexpr time_ns latest{(std::int64_t{1} << (62 - number_bits)) - 1};

std::int64_t packed(time_ns t, bool said_before, std::uint64_t number) {
    const auto low = static_cast<std::int64_t>(number & ((1U << number_bits) - 1));
    return (std::clamp(t, -latest, latest).count() << (number_bits + 1)) |
           (static_cast<std::int64_t>(said_before) << number_bits) | low;
}
time_ns time_in(std::int64_t v) { return time_ns(v >> (number_bits + 1)); }
bool said_before(std::int64_t v) { return ((v >> number_bits) & 1) != 0; }
bool speaks_of(std::int64_t v, std::uint64_t number) { return ((v ^ static_cast<std::int64_t>(number)) & 255) == 0; }

/// Arrivals are exchanged only for invocations that use or observe them.
bool uses_arrivals(const intent& what) { return what.use->arrival_aware || what.observed; }

/// Whether the call is the one that was named or announced, apart from its length.
bool same_kind(const intent& a, const intent& b) {
    return a.use == b.use && a.what == b.what && a.type == b.type && a.op == b.op;
}
bool same(const intent& a, const intent& b) {
    return same_kind(a, b) && (a.bytes == b.bytes || a.bytes == intent::unknown || b.bytes == intent::unknown);
}

}  // namespace

player::player(rank me, std::int32_t ranks, stage& s, settings how)
    : me_(me), ranks_(ranks), stage_(s), how_(std::move(how)), plans_(me, how_.plans) {}

operation intent::kind() const { return operation_of(what.what, what.root, traits(what.what).irregular ? 0 : bytes); }

player::record& player::record_of(const intent& what) { return records_[what.kind()]; }

void player::start_exchange(time_ns arrival, bool announced) {
    exchanges_.push_back({number_, edge_mode_});
    contributed_ = true;
    stage_.exchange(packed(arrival, announced, number_));
}

/// Whether the exchanges of invocations up to `number` are complete.
bool player::complete_until(std::uint64_t number, bool wait) {
    for (gathering& g : exchanges_) {
        if (g.number > number) break;
        if (!g.complete) g.complete = stage_.exchanged(g.values, wait);
        if (!g.complete) return false;
        for (const std::int64_t v : g.values)
            if (!speaks_of(v, g.number)) {
                fail();
                throw error("ranks have called different collectives",
                            fmt::format("one of them exchanges arrivals of another invocation than {}", g.number),
                            "call the same collectives in the same order on all ranks");
            }
    }
    return true;
}

void player::apply(const gathering& g) {
    edge_mode_ = std::ranges::all_of(g.values, said_before);
    first_to_come_ =
        rank(static_cast<std::int32_t>(std::ranges::min_element(g.values, {}, time_in) - g.values.begin()));
    // Predictors learn only from arrivals that were observed, of invocations that the player ran.
    if (g.estimates || g.of == nullptr) return;
    std::vector<time_ns> arrivals;
    for (const std::int64_t v : g.values) arrivals.push_back(time_in(v));
    if (!g.of->predict) g.of->predict.emplace(how_.predictor, ranks_);
    g.of->predict->observe(arrivals);
}

bool player::catch_up(bool wait) {
    check_usable();
    if (number_ < 2) return true;
    if (!complete_until(number_ - 2, wait)) return false;
    while (!exchanges_.empty() && exchanges_.front().number + 2 <= number_) {
        apply(exchanges_.front());
        exchanges_.pop_front();
    }
    return true;
}

/// Whether everything that the plan of this invocation depends on is known.
bool player::agree(bool wait) {
    if (!catch_up(wait)) return false;
    if (!edge_mode_) return true;
    if (!contributed_) {
        if (edge_)
            start_exchange(*edge_, true);
        else if (arrived_)
            start_exchange(arrival_, false);
        else
            return false;
    }
    return !plans_by_arrivals() || complete_until(number_, wait);
}

/// Whether the next invocation, if known, is planned by exchanged arrivals. Equal on all ranks.
bool player::plans_by_arrivals() const {
    return next_ && uses_arrivals(*next_) && next_->what.arrivals.empty() &&
           (!next_->use->has(need::round_time) || next_->what.round_time > time_ns{});
}

/// Small operations end before an announcement could help. Equal on all ranks.
bool player::worth_messages(const intent& what) const {
    return traits(what.what.what).irregular || what.bytes >= how_.from_bytes;
}

/// The rank has arrived, and earlier exchanges are complete: takes part in this invocation's exchange, if any.
void player::contribute() {
    const std::uint64_t calls = record_->calls++;
    const bool due = calls % static_cast<std::uint64_t>(how_.exchange_every) == 0;
    if (!contributed_ && (plans_by_arrivals() || next_->called_roll) && worth_messages(*next_) && due)
        start_exchange(arrival_, edge_.has_value());
    if (contributed_) exchanges_.back().of = record_;
}

problem player::planned(const intent& what) {
    problem p = what.what;
    planned_by_.clear();
    if (!uses_arrivals(what)) {
        p.arrivals.clear();
        return p;
    }
    if (plans_by_arrivals()) {
        if (edge_mode_)
            for (const std::int64_t v : exchanges_.back().values) p.arrivals.push_back(time_in(v));
        else if (const record& r = record_of(what); r.predict)
            (void)r.predict->next(p.arrivals);
    }
    planned_by_ = p.arrivals;
    return p;
}

/// The rank has arrived; false if it must wait for an exchange before it can begin.
bool player::begin(bool wait) {
    if (!agree(wait)) return false;
    contribute();
    plan_ = plans_.get(*next_->use, planned(*next_));
    stage_.prepare(call_, *plan_, number_, false);
    begun_ = true;
    execution_.start(plan_->steps, stage_.sizes(), stage_.where(), stage_.messages());
    tell_peers(plan_->steps.steps());
    // Removes announcements of this call, now old. That takes time, so mostly where the rank must wait anyway.
    if (next_->use->early && (!execution_.done() || number_ % 4 == 0)) listen();
    return true;
}

bool player::begin_early() {
    if (refused_ || !agree(false)) return false;
    // Errors are reported when the rank arrives.
    try {
        plan_ = plans_.get(*next_->use, planned(*next_));
        refused_ = !stage_.prepare_early(*next_, plan_->steps, number_);
        if (refused_) return false;
        begun_ = true;
        ++begun_early_;
        execution_.start(plan_->steps, stage_.sizes(), stage_.where(), stage_.messages(), false);
    } catch (const std::exception&) {
        if (begun_) throw;
        refused_ = true;
        return false;
    }
    tell_peers(plan_->steps.steps());
    return true;
}

/// Lets ranks that have not arrived begin, too. Ranks that are predicted to arrive before this one need no message.
void player::tell_peers(const schedule& s) {
    if (!next_->use->early || named_ || !worth_messages(*next_)) return;
    std::vector<std::int32_t> peers;
    for (const step& t : s.steps)
        if (t.is_message()) peers.push_back(t.peer);
    std::ranges::sort(peers);
    const auto last = std::unique(peers.begin(), peers.end());
    const auto arrival = [&](std::int32_t r) { return planned_by_[static_cast<std::size_t>(r)]; };
    for (auto p = peers.begin(); p != last; ++p) {
        if (!planned_by_.empty() && arrival(*p) < arrival(me_.value)) continue;
        const bool differs = traits(next_->what.what).irregular;
        stage_.tell(rank(*p), announcement(number_, *next_, differs ? stage_.bytes_on(rank(*p)) : next_->bytes));
    }
}

void player::listen() {
    std::vector<std::int64_t> told;
    while (stage_.hear(told)) {
        const auto [number, what] = announced(told, ranks_);
        if (number < number_ || (number == number_ && (next_ || arrived_))) continue;
        if (number == number_)
            next_ = what;
        else
            ahead_.emplace(number, what);
    }
}

void player::expect(const intent& what) {
    if (broken_ || arrived_)
        throw error("cannot expect a collective now", broken_ ? why_ : "one is still under way",
                    "expect it when the one before has ended");
    if ((begun_ || named_) && !same(*next_, what))
        throw error(fmt::format("{} is expected where {} was {}", what.use->id, next_->use->id, said_by()),
                    "one collective comes next, the same on all ranks", "check the order of the calls");
    named_ = true;
    if (begun_) return;
    next_ = what;
    refused_ = false;
}

void player::edge(time_ns arrival) {
    if (arrived_ || broken_) return;
    edge_ = arrival;
    (void)agree(false);
}

void player::arrive(const intent& what, const void* call, time_ns now) {
    check_usable();
    if (arrived_) throw error("a collective is still under way", "one runs at a time", "wait for it first");
    arrival_ = now;
    arrived_ = true;
    call_ = call;
    listening_ |= what.use->early;
    record_ = &record_of(what);
    // An announcement may have another length than this rank's call; the stage finds that error.
    if (named_ ? !same(*next_, what) : begun_ && !same_kind(*next_, what)) {
        fail();
        throw error(fmt::format("{} is called where {} was {}", what.use->id, next_->use->id, said_by()),
                    "its messages may be under way, or its sizes, datatype or operator are others",
                    "call what was named, on all ranks alike");
    }
    const bool early = begun_;
    next_ = what;
    if (!early) return;
    try {
        contribute();
        stage_.prepare(call, *plan_, number_, true);
        execution_.arrive(stage_.where().input, stage_.where().output);
    } catch (...) {
        fail();
        throw;
    }
}

void player::check_usable() const {
    if (broken_) throw error("this communicator cannot be used any more", why_, "make a new one");
}

const char* player::said_by() const { return named_ ? "named" : "announced by another rank"; }

bool player::progress(bool wait) {
    if (trouble_) std::rethrow_exception(std::exchange(trouble_, nullptr));
    check_usable();
    if (!arrived_) return true;
    try {
        if (!begun_ && !begin(wait)) return false;
        if (wait)
            execution_.wait();
        else if (!execution_.progress())
            return false;
        stage_.finish();
        std::swap(planned_by_, ended_by_);
    } catch (...) {
        if (begun_)
            fail();
        else if (!broken_)
            forget();  // refused: there is nothing under way
        throw;
    }
    forget();
    return true;
}

/// Goes on to the next invocation.
void player::forget() {
    ++number_;
    next_.reset();
    call_ = nullptr;
    named_ = begun_ = arrived_ = refused_ = contributed_ = false;
    edge_.reset();
    const auto now_known = ahead_.find(number_);
    if (now_known != ahead_.end()) next_ = now_known->second;
    ahead_.erase(ahead_.begin(), ahead_.upper_bound(number_));
}

void player::fail() noexcept {
    if (!broken_) stage_.abandon();
    broken_ = true;
}

activity player::poll() {
    if (broken_ || closing_) return activity::nothing;
    if (trouble_) return activity::listening;
    if (arrived_) {
        if (traits(next_->what.what).reduces && next_->op < 0) return activity::listening;  // the user's operator
        try {
            return progress(false) ? activity::moving : activity::listening;
        } catch (...) {
            trouble_ = std::current_exception();
            return activity::listening;
        }
    }
    try {
        if (listening_) listen();
        const std::size_t exchanging = exchanges_.size();
        if (exchanging > 0 || edge_) (void)agree(false);
        bool moved = exchanges_.size() != exchanging;
        if (next_ && next_->use->early && !begun_) moved |= begin_early();
        if (begun_) {
            const std::size_t left = execution_.remaining();
            execution_.progress();
            moved |= execution_.remaining() != left;
        }
        if (moved) return activity::moving;
        return listening_ || next_ || !exchanges_.empty() ? activity::listening : activity::nothing;
    } catch (const std::exception& e) {
        // The rank gets the error at its next call.
        fail();
        why_ = e.what();
        return activity::nothing;
    }
}

std::uint64_t player::pass(time_ns now) {
    check_usable();
    if (arrived_) throw error("a collective is still under way", "one runs at a time", "wait for it first");
    if (begun_ || named_) {
        fail();
        throw error("another collective than was named or announced", "its messages are already under way",
                    "call what was named, on all ranks alike");
    }
    arrival_ = now;
    arrived_ = true;
    (void)agree(true);
    ended_by_.clear();
    const std::uint64_t number = number_;
    forget();
    return number;
}

bool player::close(bool wait, time_ns now) {
    if (broken_) return true;
    if (!closing_) arrival_ = now;
    closing_ = arrived_ = true;
    return agree(wait) && complete_until(number_, wait);
}

}  // namespace rubato
