#include "engine/execute/player.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>
#include <utility>

namespace rubato::engine {
namespace {

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
    append_next();
}

simulator::operation intent::kind() const {
    return simulator::operation_of(what.what, what.root, traits(what.what).irregular ? 0 : bytes);
}

calls_of_a_kind& player::record_of(const intent& what) { return records_[what.kind()]; }

/// The invocations before it must have begun, so that all ranks know the same.
void player::resolve(intent& what) {
    if (!what.open) return;
    what.open = false;
    how_.choose(what, record_of(what).planned_by);
}

/// The invocation after the last one that the rank has called.
void player::append_next() {
    if (spare_.empty()) {
        std::unique_ptr<call_resources> resources = stage_.make_resources();
        queued_call& made = spare_.emplace_back();
        made.resources = std::move(resources);
        made.self = spare_.begin();
    }
    spare_.front().number = coming_.empty() ? 0 : coming_.back().number + 1;
    coming_.splice(coming_.end(), spare_, spare_.begin());
}

/// For the next invocation: what was announced before it was next.
void player::take_announcement() {
    const auto known = ahead_.find(number());
    if (known != ahead_.end()) next().what = known->second;
    ahead_.erase(ahead_.begin(), ahead_.upper_bound(number()));
}

/// Messages of two operations that are too far apart could be mistaken for one another.
bool player::has_room(const queued_call& f) const {
    return under_way_.empty() || f.number - under_way_.front().number < stage_.most_at_once();
}

/// The rank has arrived; false if the invocation must wait for an exchange, or for others to end, before it can begin.
bool player::begin(queued_call& f, bool wait) {
    if (!has_room(f)) return false;
    resolve(*f.what);
    if (!agree(f, wait)) return false;
    listening_ |= f.what->use->early;
    if (f.what->use->dynamic != nullptr) {
        f.improvised = f.resources->improvise(*f.what, f.call, f.number);
        f.begun = true;
        return true;
    }
    contribute(f);
    const problem p = planned(f);
    keep_arrivals(f);
    f.plan = plans_.get(*f.what->use, p);
    f.resources->prepare(f.call, *f.plan, f.number, false);
    f.begun = true;
    f.run.start(f.plan->steps, f.resources->sizes(), f.resources->where(), f.resources->messages());
    tell_peers(f);
    // Removes announcements of this call, now old. That takes time, so mostly where the rank must wait anyway.
    if (f.what->use->early && (!f.run.done() || f.number % 4 == 0)) listen();
    return true;
}

/// Begins what the rank has arrived at; false if something must wait.
bool player::begin_all(bool wait, bool by_caller) {
    while (waiting_ > 0) {
        queued_call& f = *std::prev(under_way_.end(), static_cast<std::ptrdiff_t>(waiting_));
        if (!by_caller && f.needs_caller()) return false;
        try {
            if (f.passed() ? !agree(f, wait) : !begin(f, wait)) return false;
            --waiting_;
            if (f.passed() && f.trouble)
                end(f);
            else if (f.passed())
                recycle(f, under_way_);
        } catch (...) {
            if (!f.trouble) f.trouble = std::current_exception();
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
    queued_call& f = next();
    if (f.refused || !has_room(f) || !agree(f, false)) return false;
    // Errors are reported when the rank arrives.
    try {
        f.plan = plans_.get(*f.what->use, planned(f));
        f.refused = !f.resources->prepare_early(*f.what, f.plan->steps, f.number);
        if (f.refused) return false;
        f.begun = true;
        ++begun_early_;
        f.run.start(f.plan->steps, f.resources->sizes(), f.resources->where(), f.resources->messages(), false);
    } catch (const std::exception&) {
        if (f.begun) throw;
        f.refused = true;
        return false;
    }
    tell_peers(f);
    return true;
}

/// Lets ranks that have not arrived begin, too. Ranks that are predicted to arrive before this one need no message.
void player::tell_peers(const queued_call& f) {
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
        stage_.tell(rank(*p),
                    announcement(f.number, *f.what, differs ? f.resources->bytes_on(rank(*p)) : f.what->bytes));
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
    queued_call& f = next();
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

player::ticket player::call(time_ns now) {
    queued_call& f = coming_.back();
    append_next();
    f.arrival = now;
    return &f;
}

void player::arrive(ticket first, const intent& what, const void* call) {
    try {
        enter(*first, what, call);
    } catch (...) {
        if (first->arrived)
            first->trouble = std::current_exception();
        else
            pass(first, std::current_exception());
    }
}

player::ticket player::arrive(const intent& what, const void* call, time_ns now) {
    check_usable();
    const ticket t = this->call(now);
    arrive(t, what, call);
    if (t->trouble) (void)progress(t, false);
    return t;
}

void player::enter(queued_call& f, const intent& said, const void* call) {
    check_usable();
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
    depart(f);
    if (!f.begun) {
        ++waiting_;
        return;
    }
    try {
        contribute(f);
        keep_arrivals(f);
        f.resources->prepare(call, *f.plan, f.number, true);
        f.run.arrive(f.resources->where().input, f.resources->where().output);
    } catch (...) {
        fail();
        throw;
    }
}

/// The rank has arrived at it, the next one.
void player::depart(queued_call& f) {
    f.arrived = true;
    under_way_.splice(under_way_.end(), coming_, f.self);
    take_announcement();
}

void player::check_usable() const {
    if (broken_) throw error("this communicator cannot be used any more", why_, "make a new one");
}

const char* player::said_by(const queued_call& f) { return f.named ? "named" : "announced by another rank"; }

void player::end(queued_call& f) {
    if (!f.trouble) f.trouble = f.resources->finish();
    f.improvised.reset();
    f.ended = true;
    ended_.splice(ended_.end(), under_way_, f.self);
}

/// True if something has moved. Alone, it looks for its messages itself, and may wait for them.
bool player::move(queued_call& f, bool wait, bool alone) {
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
bool player::advance(const queued_call* awaited, bool by_caller) {
    const bool alone = under_way_.size() == 1;
    const std::size_t waiting = waiting_;
    (void)begin_all(awaited != nullptr && alone, by_caller);
    bool moved = waiting_ != waiting;
    if (!alone && !under_way_.empty()) look(false);
    bool chooses = false;  // it may have to do without a message
    for (auto at = under_way_.begin(); at != under_way_.end() && at->begun && !broken_;) {
        queued_call& f = *at++;
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
    // It is only counted, when its turn comes.
    if (t->passed() && !t->ended && !broken_) std::rethrow_exception(std::exchange(t->trouble, nullptr));
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

/// Throws what went wrong with it.
void player::retire(queued_call& f) {
    const std::exception_ptr trouble = std::exchange(f.trouble, nullptr);
    const bool was_ended = f.ended;
    if (f.what) {
        std::swap(f.planned_by, ended_by_);
        last_used_ = f.what->use;
    }
    if (!f.ended && !f.begun) --waiting_;
    recycle(f, f.ended ? ended_ : under_way_);
    if (trouble) std::rethrow_exception(trouble);
    if (!was_ended) check_usable();
}

void player::recycle(queued_call& f, queue& from) {
    spare_.splice(spare_.begin(), from, f.self);
    f.planned_by.clear();
    f.what.reset();
    f.call = nullptr;
    f.trouble = nullptr;
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

bool player::catch_up(bool wait) {
    check_usable();
    return insist(wait, [this](bool w) { return begin_all(w, true) && catch_up(next(), w); });
}

void player::fail() noexcept {
    if (broken_) return;
    broken_ = true;
    for (const queued_call& f : under_way_) f.resources->abandon();
    next().resources->abandon();
}

activity player::poll(bool in_background) {
    if (broken_ || closing_) return activity::nothing;
    try {
        bool moved = !under_way_.empty() && advance(nullptr, !in_background);
        if (broken_) return activity::nothing;
        if (listening_) listen();
        const std::size_t exchanging = exchanges_.size();
        queued_call& f = next();
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
    pass(call(now));
    if (broken_)
        throw error("another collective than was named or announced", "its messages are already under way",
                    "call what was named, on all ranks alike");
}

void player::pass(ticket first, std::exception_ptr trouble) {
    queued_call& f = *first;
    const bool asked_for = trouble != nullptr;
    f.trouble = std::move(trouble);
    if (!broken_ && (f.begun || f.named)) {
        fail();
        why_ = "another collective was called than was named or announced";
    }
    f.what.reset();  // as announced for another call, by error
    if (!broken_) {
        depart(f);
        ++waiting_;
        (void)begin_all(false, false);
    } else if (asked_for) {
        f.ended = true;
        ended_.splice(ended_.end(), coming_, f.self);
    } else {
        recycle(f, coming_);
    }
}

bool player::close(time_ns now) {
    if (broken_) return true;
    if (!closing_) next().arrival = now;
    closing_ = next().arrived = true;
    return begin_all(false, true) && agree(next(), false) && complete_until(next().number, false);
}

}  // namespace rubato::engine
