// Making calls: they wait in the player's queue until it is known how they are made, and leave it when somebody has
// asked for their results.
#include "engine/mpi/communicator_inside.hpp"
#include "engine/mpi/inner_communicator.hpp"

#include <fmt/format.h>

#include <thread>
#include <utility>

namespace rubato::mpi {
namespace {

/// A program may free its datatypes before the call has ended. But its own operator is given the type that the
/// program knows, which must live as long as the operator.
void keep_types(engine::made_call& m) {
    if (!m.facts.traits().reduces || m.facts.op_number >= 0) m.facts.keep_types(m.types);
}

/// Throws if no roll can be called for it. All ranks find the same.
void check_roll_call(const selection& how) {
    if (how.use == nullptr || !how.use->arrival_aware)
        throw error(
            fmt::format("a roll call for {}", how.use == nullptr ? "an algorithm that Rubato chooses" : how.use->id),
            "who is there makes no difference to its plan",
            "name an algorithm that uses arrivals ('rubato algorithms')");
    if (!how.arrivals.empty())
        throw error("a roll call and arrivals", "the roll call tells who is there", "give one of them");
    if (how.use->has(need::round_time) && how.round_time <= time_ns{})
        throw error(fmt::format("a roll call for {} without a round time", how.use->id),
                    "it plans in rounds, and must know how long they take", "give selection::round_time");
    if (how.roll_call->patience < time_ns{})
        throw error(fmt::format("a patience of {} ns", how.roll_call->patience.count()),
                    "nobody can wait for less than nothing", "give 0 or more");
}

/// It was given to the player.
bool is_entered(const engine::queued_call& c) { return c.arrived || c.ended; }

}  // namespace

void communicator::state::run(const selection& how, const call& c) {
    const std::lock_guard lock(mutex_);
    (void)advance(arrive(how, c), true);
}

engine::queued_call& communicator::state::start(const selection& how, const call& c) {
    const std::lock_guard lock(mutex_);
    engine::queued_call& made_now = arrive(how, c);
    begin(made_now);
    return made_now;
}

bool communicator::state::test(engine::queued_call& c) {
    const std::lock_guard lock(mutex_);
    if (advance(c, false)) return true;
    (void)help();
    return false;
}

void communicator::state::wait(engine::queued_call& c) {
    const std::lock_guard lock(mutex_);
    (void)advance(c, true);
}

void communicator::state::progress() {
    const std::lock_guard lock(mutex_);
    (void)look(false);
    (void)help();  // somebody may call this to wait
}

/// For the next call; its arrival is now.
engine::queued_call& communicator::state::make() {
    engine::queued_call& c = *player_->call(now());
    made(c).under_way = true;
    ++calls_;
    return c;
}

engine::queued_call& communicator::state::make(const engine::intent& what, const engine::call_facts& c) {
    engine::queued_call& made_now = make();
    made(made_now).facts = c;
    made(made_now).what = what;
    return made_now;
}

/// What all ranks find alike is refused at once. If roll is called, and something else is wrong here, others may be
/// waiting for this rank to say that it is there.
engine::queued_call& communicator::state::arrive(const selection& how, const call& c) {
    engine::queued_call& made_now = make();
    engine::made_call& m = made(made_now);
    try {
        if (how.roll_call) {
            check_roll_call(how);
            m.rolls.emplace().patience = how.roll_call->patience;
            watch();
        }
        m.facts = engine::call_facts(c, rank_, size_, degrees_);
        m.what = intent_of(how, m.facts);
        if (how.roll_call) rubato::check(*m.what.use, m.what.what);
    } catch (...) {
        if (m.rolls) {
            m.rolls->refused = std::current_exception();
            return made_now;
        }
        skip(made_now);
        throw;
    }
    return made_now;
}

/// Begins what was started, as far as it can without waiting, and lets others go on with it.
void communicator::state::begin(engine::queued_call& c) {
    keep_types(made(c));
    watch();
    if (!joined_)
        joined_ = engine::under_way_here().join([this] {
            const std::unique_lock other(mutex_, std::try_to_lock);
            if (other && calls_ > 0) (void)look(false);
        });
    if (!std::exchange(busy_, true)) engine::under_way_here().begin();
    (void)look(false);
    background_wake();
}

/// Gives calls to the player, in their order; one for which roll is called when its verdict is there. Waits until
/// it has `awaited`.
void communicator::state::enter_all(engine::queued_call* awaited) {
    while (engine::queued_call* const first = player_->first_called()) {
        engine::made_call& m = made(*first);
        if (m.passed) {
            forget(m);
            player_->pass(first);
        } else {
            try {
                if (m.rolls && !hear_verdict(m, awaited != nullptr && !is_entered(*awaited))) return;
                player_->arrive(first, m.what, &m.facts);
            } catch (...) {
                end_roll();
                player_->pass(first, std::current_exception());
            }
        }
        if (player_->listens()) watch();
    }
}

/// A call that is not made, the last one, is counted even so, that what others send for it is not taken for the next
/// one.
void communicator::state::skip(engine::queued_call& c) {
    made(c).passed = true;
    enter_all(nullptr);
}

/// Makes progress, with `wait` until the call has ended; true if it has, and is forgotten. Throws if it has failed.
bool communicator::state::advance(engine::queued_call& c, bool wait) {
    enter_all(wait ? &c : nullptr);
    return is_entered(c) && conclude(c, wait);
}

/// The player has it.
bool communicator::state::conclude(engine::queued_call& c, bool wait) {
    engine::made_call& m = made(c);
    try {
        if (!player_->progress(&c, wait)) return false;
    } catch (...) {
        forget(m);
        throw;
    }
    forget(m);
    return true;
}

void communicator::state::forget(engine::made_call& m) {
    m.rolls.reset();
    m.passed = m.under_way = false;
    for (MPI_Datatype& t : m.types) MPI_Type_free(&t);
    m.types.clear();
    if (--calls_ == 0 && std::exchange(busy_, false)) engine::under_way_here().end();
}

/// Calls that nobody asks for.
bool communicator::state::end_told() {
    const auto is_over = [this](engine::queued_call& c) {
        return made(c).ended && (c.ended || c.trouble || (c.arrived && player_->broken()));
    };
    bool some = false;
    while (told_ > 0) {
        engine::queued_call* const over = player_->find(is_over);
        if (over == nullptr) break;
        const auto tell = std::exchange(made(*over).ended, nullptr);
        --told_;
        std::exception_ptr thrown;
        try {
            (void)conclude(*over, false);
        } catch (...) {
            thrown = std::current_exception();
        }
        tell(thrown);
        some = true;
    }
    return some;
}

/// Of the calls that nobody else asks for.
void communicator::state::end_first() {
    engine::queued_call* const first = player_->find([](engine::queued_call& c) {
        const engine::made_call& m = made(c);
        return m.under_way && !m.ended && !m.passed;
    });
    if (first != nullptr) (void)advance(*first, false);
}

/// While the rank waits, nothing else tells of calls that have ended.
bool communicator::state::help() {
    (void)end_told();
    return engine::under_way_here().help(joined_ ? &*joined_ : nullptr, busy_) || told_ > 0;
}

/// For a rank that is not in a call, in the background: goes on with what was begun, and answers for a keeper that is
/// late.
engine::activity communicator::state::look(bool in_background) {
    bool moved = false;
    if (player_->first_called() != nullptr) {
        const std::uint64_t number = player_->number();
        enter_all(nullptr);
        moved = player_->number() != number;
    } else if (rolls_ && calls_ == 0 && !player_->broken()) {
        try {
            moved = roll_.stand_in(player_->number(), own_time());
        } catch (...) {
            player_->fail();
        }
    }
    const engine::activity seen = player_->poll(in_background);
    moved |= end_told();
    if (moved) return engine::activity::moving;
    const bool may_come = player_->first_called() != nullptr || (rolls_ && !player_->broken());
    return may_come && seen == engine::activity::nothing ? engine::activity::listening : seen;
}

void communicator::state::begin_roll(engine::roll_call::invocation i) {
    i.number = player_->number();
    rolls_ = true;
    roll_.begin(std::move(i), own_time());
}

std::optional<engine::roll_call::verdict> communicator::state::await_verdict(bool wait) {
    for (;;) {
        auto said = roll_.progress(own_time());
        if (said || !wait) return said;
        (void)player_->poll(false);
        (void)help();
        std::this_thread::yield();  // one that it waits for may need this core
    }
}

/// True once the verdict is there; then it is known how to make the call.
bool communicator::state::hear_verdict(engine::made_call& m, bool wait) {
    engine::roll_for_call& r = *m.rolls;
    if (!r.begun) {
        if (!player_->catch_up(wait)) return false;
        engine::roll_call::invocation i{.keeper = player_->first_to_come(),
                                        .what = engine::called_by(m.facts, r.refused != nullptr),
                                        .patience = r.patience};
        if (!r.refused) i.in_any_case = engine::order_for(m.what, quantum_);
        i.decide = [any = i.in_any_case](auto) { return any.value_or(engine::roll_call::order{}); };
        r.begun = true;
        begin_roll(std::move(i));
    }
    const auto said = await_verdict(wait);
    if (!said) return false;
    if (r.refused) std::rethrow_exception(r.refused);
    if (said->is_native())
        throw error("a collective that another rank refuses", "its arguments are wrong there, or it has no memory",
                    "see what it says");
    m.what = engine::made_by(*said, std::move(m.what));
    m.rolls.reset();
    return true;
}

/// After an error: wrong calls end it on all ranks alike; else nobody knows what is still on its way.
void communicator::state::end_roll() {
    if (roll_.under_way()) player_->fail();
}

}  // namespace rubato::mpi
