#include "mpi/looked_at_calls.hpp"

#include "mpi/communicator_inside.hpp"

namespace rubato::mpi {

MPI_Comm looked_at_calls::comm() const { return on_.comm(); }

intent looked_at_calls::intent_of(const selection& how, const call_facts& c) const {
    try {
        return on_.intent_of(how, c);
    } catch (const mpi_error& e) {
        if (blames_argument(e.code())) throw;
        throw std::runtime_error(e.what());
    }
}

void looked_at_calls::run(const intent& what, const call_facts& c) {
    const std::lock_guard lock(on_.mutex_);
    (void)on_.advance(on_.make(what, c), true);
}

void looked_at_calls::start(const intent& what, const call_facts& c, teller ended) {
    const std::lock_guard lock(on_.mutex_);
    queued_call& made_now = on_.make(what, c);
    on_.made(made_now).ended = std::move(ended);
    ++on_.told_;
    on_.begin(made_now);
}

void looked_at_calls::pass() {
    const std::lock_guard lock(on_.mutex_);
    on_.skip(on_.make());
}

roll_call::verdict looked_at_calls::call_roll(const call_facts& c, rank keeper, time_ns patience,
                                              const roll_call::order& in_any_case, bool refused) {
    roll_call::invocation i{.keeper = keeper,
                            .what = called_by(c, refused || c.wrong),
                            .patience = patience,
                            .decide = [in_any_case](auto) { return in_any_case; }};
    if (!i.what.refused) i.in_any_case = in_any_case;
    const std::lock_guard lock(on_.mutex_);
    while (queued_call* const first = on_.player_->first_called()) on_.enter_all(first);
    const time_ns arrival = on_.now();
    if (i.in_any_case) on_.watch();
    try {
        on_.begin_roll(std::move(i));
        return *on_.await_verdict(true);
    } catch (...) {
        on_.end_roll();
        on_.player_->pass(on_.player_->call(arrival));
        throw;
    }
}

bool looked_at_calls::end() { return on_.end(); }

bool looked_at_calls::wake() {
    const std::lock_guard lock(on_.mutex_);
    on_.watch();
    return on_.watched_.has_value();
}

void looked_at_calls::rest() {
    const std::lock_guard lock(on_.mutex_);
    on_.stop_watching();
}

roll_call::called called_by(const call_facts& c, bool refused) {
    return {c.what, rubato::rank(c.root), c.agreed_bytes, refused};
}

}  // namespace rubato::mpi
