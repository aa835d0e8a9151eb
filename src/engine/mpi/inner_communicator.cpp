#include "engine/mpi/inner_communicator.hpp"

#include "engine/mpi/communicator_inside.hpp"

namespace rubato::engine {

MPI_Comm inner_communicator::comm() const { return on_.comm(); }

intent inner_communicator::intent_of(const mpi::selection& how, const call_facts& c) const {
    try {
        return on_.intent_of(how, c);
    } catch (const mpi::mpi_error& e) {
        if (blames_argument(e.code())) throw;
        throw std::runtime_error(e.what());
    }
}

void inner_communicator::run(const intent& what, const call_facts& c) {
    const std::lock_guard lock(on_.mutex_);
    (void)on_.advance(on_.make(what, c), true);
}

void inner_communicator::start(const intent& what, const call_facts& c, teller ended) {
    const std::lock_guard lock(on_.mutex_);
    queued_call& made_now = on_.make(what, c);
    on_.made(made_now).ended = std::move(ended);
    ++on_.told_;
    on_.begin(made_now);
}

void inner_communicator::pass() {
    const std::lock_guard lock(on_.mutex_);
    on_.skip(on_.make());
}

roll_call::verdict inner_communicator::call_roll(const call_facts& c, rank keeper, time_ns patience,
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

bool inner_communicator::end() { return on_.end(); }

bool inner_communicator::wake() {
    const std::lock_guard lock(on_.mutex_);
    on_.watch();
    return on_.watched_.has_value();
}

void inner_communicator::rest() {
    const std::lock_guard lock(on_.mutex_);
    on_.stop_watching();
}

roll_call::called called_by(const call_facts& c, bool refused) {
    return {c.what, rubato::rank(c.root), c.agreed_bytes, refused};
}

}  // namespace rubato::engine
