#include "engine/player.hpp"

#include "engine/announcement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
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
    : me_(me), ranks_(ranks), stage_(s), how_(std::move(how)), plans_(me, how_.plans) {
    next_.emplace_back();
    next_.front().where = stage_.open_berth();
}

operation intent::kind() const { return operation_of(what.what, what.root, traits(what.what).irregular ? 0 : bytes); }

player::record& player::record_of(const intent& what) { return records_[what.kind()]; }

/// The invocations before it must have begun, so that all ranks know the same.
void player::resolve(intent& what) {
    if (!what.open) return;
    what.open = false;
    how_.choose(what, record_of(what).planned_by);
}

/// The next invocation after the one that the rank has arrived at, or has passed.
void player::make_next() {
    const std::uint64_t number = next_.empty() ? 0 : next().number + 1;
    if (spare_.empty()) {
        spare_.emplace_back();
        spare_.back().where = stage_.open_berth();
    }
    flight& made = spare_.front();
    made.number = number;
    const auto known = ahead_.find(number);
    if (known != ahead_.end()) made.what = known->second;
    ahead_.erase(ahead_.begin(), ahead_.upper_bound(number));
}

void player::start_exchange(flight& f, time_ns arrival, bool announced) {
    exchanges_.push_back({f.number, edge_mode_});
    f.contributed = true;
    stage_.exchange(packed(arrival, announced, f.number));
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
                why_ = "ranks have called different collectives";
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

/// The invocations before f must have begun.
bool player::catch_up(const flight& f, bool wait) {
    check_usable();
    if (f.number < 2) return true;
    if (!complete_until(f.number - 2, wait)) return false;
    while (!exchanges_.empty() && exchanges_.front().number + 2 <= f.number) {
        apply(exchanges_.front());
        exchanges_.pop_front();
    }
    return true;
}

bool player::catch_up(bool wait) {
    check_usable();
    return insist(wait, [this](bool w) { return begin_all(w, true) && catch_up(next(), w); });
}

/// Whether everything that the plan of this invocation depends on is known.
bool player::agree(flight& f, bool wait) {
    if (!catch_up(f, wait)) return false;
    if (!edge_mode_) return true;
    if (!f.contributed) {
        if (f.edge)
            start_exchange(f, *f.edge, true);
        else if (f.arrived)
            start_exchange(f, f.arrival, false);
        else
            return false;
    }
    return !plans_by_arrivals(f) || complete_until(f.number, wait);
}

/// Whether the invocation, if known, is planned by exchanged arrivals. Equal on all ranks.
bool player::plans_by_arrivals(const flight& f) {
    return f.what && uses_arrivals(*f.what) && f.what->what.arrivals.empty() && f.what->use->dynamic == nullptr &&
           (!f.what->use->has(need::round_time) || f.what->what.round_time > time_ns{});
}

/// Small operations end before an announcement could help. Equal on all ranks.
bool player::worth_messages(const intent& what) const {
    return traits(what.what.what).irregular || what.bytes >= how_.from_bytes;
}

/// For the choice of later ones. Not before the rank has arrived: what it calls may still have to be chosen.
void player::keep_arrivals(const flight& f) {
    if (f.what->observed) f.of->planned_by = f.planned_by;
}

/// The rank has arrived, and earlier exchanges are complete: takes part in this invocation's exchange, if any.
void player::contribute(flight& f) {
    const std::uint64_t calls = f.of->calls++;
    const bool due = calls % static_cast<std::uint64_t>(how_.exchange_every) == 0;
    if (!f.contributed && (plans_by_arrivals(f) || f.what->called_roll) && worth_messages(*f.what) && due)
        start_exchange(f, f.arrival, f.edge.has_value());
    if (f.contributed) exchanges_.back().of = f.of;
}

problem player::planned(flight& f) {
    problem p = f.what->what;
    f.planned_by.clear();
    if (!uses_arrivals(*f.what)) {
        p.arrivals.clear();
        return p;
    }
    if (plans_by_arrivals(f)) {
        if (edge_mode_)
            for (const std::int64_t v : exchanges_.back().values) p.arrivals.push_back(time_in(v));
        else if (const record& r = record_of(*f.what); r.predict)
            (void)r.predict->next(p.arrivals);
    }
    f.planned_by = p.arrivals;
    return p;
}

/// Messages of two operations that are too far apart could be mistaken for one another.
bool player::has_room(const flight& f) const {
    return under_way_.empty() || f.number - under_way_.front().number < stage_.most_at_once();
}

/// The rank has arrived; false if the invocation must wait for an exchange, or for others to end, before it can begin.
bool player::begin(flight& f, bool wait) {
    if (!has_room(f)) return false;
    resolve(*f.what);
    if (!agree(f, wait)) return false;
    listening_ |= f.what->use->early;
    if (f.what->use->dynamic != nullptr) {
        f.improvised = f.where->improvise(*f.what, f.call, f.number);
        f.begun = true;
        return true;
    }
    contribute(f);
    const problem p = planned(f);
    keep_arrivals(f);
    f.plan = plans_.get(*f.what->use, p);
    f.where->prepare(f.call, *f.plan, f.number, false);
    f.begun = true;
    f.run.start(f.plan->steps, f.where->sizes(), f.where->where(), f.where->messages());
    tell_peers(f);
    // Removes announcements of this call, now old. That takes time, so mostly where the rank must wait anyway.
    if (f.what->use->early && (!f.run.done() || f.number % 4 == 0)) listen();
    return true;
}

/// Begins what the rank has arrived at; false if something must wait.
bool player::begin_all(bool wait, bool by_caller) {
    while (waiting_ > 0) {
        flight& f = *std::prev(under_way_.end(), static_cast<std::ptrdiff_t>(waiting_));
        if (!by_caller && f.needs_caller()) return false;
        try {
            if (f.passed() ? !agree(f, wait) : !begin(f, wait)) return false;
            --waiting_;
            if (f.passed()) recycle(f, under_way_);
        } catch (...) {
            f.trouble = std::current_exception();
            if (!broken_ || f.begun) --waiting_;
            if (f.begun || f.passed() || broken_) {
                fail();
                return false;
            }
            end(f);  // refused: there is nothing under way
        }
    }
    return true;
}

bool player::begin_early() {
    flight& f = next();
    if (f.refused || !has_room(f) || !agree(f, false)) return false;
    // Errors are reported when the rank arrives.
    try {
        f.plan = plans_.get(*f.what->use, planned(f));
        f.refused = !f.where->prepare_early(*f.what, f.plan->steps, f.number);
        if (f.refused) return false;
        f.begun = true;
        ++begun_early_;
        f.run.start(f.plan->steps, f.where->sizes(), f.where->where(), f.where->messages(), false);
    } catch (const std::exception&) {
        if (f.begun) throw;
        f.refused = true;
        return false;
    }
    tell_peers(f);
    return true;
}

/// Lets ranks that have not arrived begin, too. Ranks that are predicted to arrive before this one need no message.
void player::tell_peers(const flight& f) {
    if (!f.what->use->early || f.named || !worth_messages(*f.what)) return;
    std::vector<std::int32_t> peers;
    for (const step& t : f.plan->steps.steps().steps)
        if (t.is_message()) peers.push_back(t.peer);
    std::ranges::sort(peers);
    const auto last = std::unique(peers.begin(), peers.end());
    const auto arrival = [&](std::int32_t r) { return f.planned_by[static_cast<std::size_t>(r)]; };
    for (auto p = peers.begin(); p != last; ++p) {
        if (!f.planned_by.empty() && arrival(*p) < arrival(me_.value)) continue;
        const bool differs = traits(f.what->what.what).irregular;
        stage_.tell(rank(*p), announcement(f.number, *f.what, differs ? f.where->bytes_on(rank(*p)) : f.what->bytes));
    }
}

void player::listen() {
    std::vector<std::int64_t> told;
    while (stage_.hear(told)) {
        const auto [number, what] = announced(told, ranks_);
        if (number < next().number || (number == next().number && next().what)) continue;
        if (number == next().number)
            next().what = what;
        else
            ahead_.emplace(number, what);
    }
}

bool player::expect(const intent& said) {
    if (broken_) throw error("cannot expect a collective now", why_, "make a new communicator");
    if (said.open && waiting_ > 0) return false;  // others may know more already
    flight& f = next();
    intent what = said;
    resolve(what);
    if ((f.begun || f.named) && !same(*f.what, what))
        throw error(fmt::format("{} is expected where {} was {}", what.use->id, f.what->use->id, said_by(f)),
                    "one collective comes next, the same on all ranks", "check the order of the calls");
    f.named = true;
    if (!f.begun) {
        f.what = what;
        f.refused = false;
    }
    return what.use->early;
}

void player::edge(time_ns arrival) {
    if (broken_) return;
    next().edge = arrival;
    if (waiting_ == 0) (void)agree(next(), false);
}

player::ticket player::arrive(const intent& said, const void* call, time_ns now) {
    check_usable();
    flight& f = next();
    intent what = said;
    if (waiting_ == 0 || f.named) resolve(what);
    listening_ |= what.use->early;
    // An announcement may have another length than this rank's call; the stage finds that error.
    if (f.named ? !same(*f.what, what) : f.begun && !same_kind(*f.what, what)) {
        fail();
        throw error(fmt::format("{} is called where {} was {}", what.use->id, f.what->use->id, said_by(f)),
                    "its messages may be under way, or its sizes, datatype or operator are others",
                    "call what was named, on all ranks alike");
    }
    f.of = &record_of(what);
    f.what = std::move(what);
    f.call = call;
    depart(f, now);
    if (!f.begun) {
        ++waiting_;
        return &f;
    }
    try {
        contribute(f);
        keep_arrivals(f);
        f.where->prepare(call, *f.plan, f.number, true);
        f.run.arrive(f.where->where().input, f.where->where().output);
    } catch (...) {
        fail();
        throw;
    }
    return &f;
}

/// The rank has arrived at it, the next one.
void player::depart(flight& f, time_ns now) {
    make_next();
    f.arrival = now;
    f.arrived = true;
    f.self = next_.begin();
    under_way_.splice(under_way_.end(), next_);
    next_.splice(next_.begin(), spare_, spare_.begin());
}

void player::check_usable() const {
    if (broken_) throw error("this communicator cannot be used any more", why_, "make a new one");
}

const char* player::said_by(const flight& f) { return f.named ? "named" : "announced by another rank"; }

void player::end(flight& f) {
    if (!f.trouble) f.trouble = f.where->finish();
    f.improvised.reset();
    f.ended = true;
    ended_.splice(ended_.end(), under_way_, f.self);
}

/// True if something has moved. Alone, it looks for its messages itself, and may wait for them.
bool player::move(flight& f, bool wait, bool alone) {
    try {
        bool done = false;
        bool moved = true;
        if (f.improvised) {
            done = moved = f.improvised->progress();
        } else if (wait && alone) {
            f.run.wait();
            done = true;
        } else {
            const std::size_t left = f.run.remaining();
            done = alone ? f.run.progress() : f.run.resume();
            moved = done || f.run.remaining() != left;
        }
        if (done) end(f);
        return moved;
    } catch (...) {
        f.trouble = std::current_exception();
        fail();
        return true;
    }
}

/// The first of those under way gets the error.
void player::look(bool wait) {
    try {
        stage_.look(wait);
    } catch (...) {
        under_way_.front().trouble = std::current_exception();
        fail();
    }
}

/// Goes on with everything under way, until something has moved if an invocation is awaited. True if something has.
bool player::advance(const flight* awaited, bool by_caller) {
    const bool alone = under_way_.size() == 1;
    const std::size_t waiting = waiting_;
    (void)begin_all(awaited != nullptr && alone, by_caller);
    bool moved = waiting_ != waiting;
    if (!alone && !under_way_.empty()) look(false);
    bool chooses = false;  // it may have to do without a message
    for (auto at = under_way_.begin(); at != under_way_.end() && at->begun && !broken_;) {
        flight& f = *at++;
        chooses |= f.improvised != nullptr;
        if (by_caller || !f.needs_caller()) moved |= move(f, awaited != nullptr, alone);
    }
    if (awaited == nullptr || moved || awaited->ended || broken_) return moved;
    if (waiting_ == 0 && !chooses && !alone)
        look(true);
    else
        std::this_thread::yield();  // who is waited for may need this core
    return false;
}

bool player::progress(ticket t, bool wait) {
    for (;;) {
        const bool may_block = wait && !help();
        const bool moved = !t->ended && !broken_ && advance(may_block ? t : nullptr, true);
        if (t->ended || broken_) {
            retire(*t);
            return true;
        }
        if (!wait) return false;
        if (!may_block && !moved) std::this_thread::yield();
    }
}

bool player::has_ended(ticket t) { return t->ended; }

/// Throws what went wrong with it.
void player::retire(flight& f) {
    const std::exception_ptr trouble = std::exchange(f.trouble, nullptr);
    const bool was_ended = f.ended;
    std::swap(f.planned_by, ended_by_);
    last_used_ = f.what->use;
    if (!f.ended && !f.begun) --waiting_;
    recycle(f, f.ended ? ended_ : under_way_);
    if (trouble) std::rethrow_exception(trouble);
    if (!was_ended) check_usable();
}

void player::recycle(flight& f, flights& from) {
    spare_.splice(spare_.begin(), from, f.self);
    f.planned_by.clear();
    f.what.reset();
    f.call = nullptr;
    f.edge.reset();
    f.plan.reset();
    f.improvised.reset();
    f.named = f.arrived = f.refused = f.contributed = f.begun = f.ended = false;
}

/// Attempts it again and again, if it is to wait; meanwhile what is under way goes on, as other ranks may need that.
template <class Attempt>
bool player::insist(bool wait, Attempt attempt) {
    if (under_way_.empty() && !(wait && help())) return attempt(wait);
    while (!attempt(false)) {
        if (!wait) return false;
        (void)advance(nullptr, true);
        (void)help();
        check_usable();
        std::this_thread::yield();
    }
    return true;
}

void player::fail() noexcept {
    if (broken_) return;
    broken_ = true;
    for (const flight& f : under_way_) f.where->abandon();
    next().where->abandon();
}

activity player::poll(bool in_background) {
    if (broken_ || closing_) return activity::nothing;
    try {
        bool moved = !under_way_.empty() && advance(nullptr, !in_background);
        if (broken_) return activity::nothing;
        if (listening_) listen();
        const std::size_t exchanging = exchanges_.size();
        flight& f = next();
        if (waiting_ == 0) {
            if (exchanging > 0 || f.edge) (void)agree(f, false);
            moved |= exchanges_.size() != exchanging;
            if (f.what && f.what->use->early && !f.begun) moved |= begin_early();
        }
        if (f.begun) {
            const std::size_t left = f.run.remaining();
            f.run.progress();
            moved |= f.run.remaining() != left;
        }
        if (moved) return activity::moving;
        const bool may_come = listening_ || f.what || !exchanges_.empty() || !under_way_.empty();
        return may_come ? activity::listening : activity::nothing;
    } catch (const std::exception& e) {
        // The rank gets the error at its next call.
        fail();
        why_ = e.what();
        return activity::nothing;
    }
}

void player::pass(time_ns now) {
    check_usable();
    flight& f = next();
    if (f.begun || f.named) {
        fail();
        why_ = "another collective was called than was named or announced";
        throw error("another collective than was named or announced", "its messages are already under way",
                    "call what was named, on all ranks alike");
    }
    f.what.reset();  // as announced for another call, by error
    depart(f, now);
    ++waiting_;
    (void)begin_all(false, false);
}

bool player::close(time_ns now) {
    if (broken_) return true;
    if (!closing_) next().arrival = now;
    closing_ = next().arrived = true;
    return begin_all(false, true) && agree(next(), false) && complete_until(next().number, false);
}

}  // namespace rubato
