#include "engine/mpi/communicator_inside.hpp"

#include <cstdio>
#include <utility>

namespace rubato::mpi {

communicator::communicator(MPI_Comm user, settings how) : state_(std::make_unique<state>(user, std::move(how))) {}
communicator::~communicator() = default;
communicator::communicator(communicator&&) noexcept = default;
communicator& communicator::operator=(communicator&&) noexcept = default;

int communicator::rank() const { return state_->rank(); }
int communicator::size() const { return state_->size(); }
const std::vector<std::int32_t>& communicator::hosts() const { return state_->hosts(); }
const std::shared_ptr<const graph>& communicator::neighbours() const { return state_->neighbours(); }
plan_statistics communicator::plans() const {
    const auto s = state_->ask_player([](const engine::player& p) { return p.plans().counted(); });
    return {s.hits, s.misses, s.plans, s.bytes};
}
const common_clock& communicator::clock() const { return state_->clock(); }
std::uint64_t communicator::begun_early() const { return state_->ask_player(&engine::player::begun_early); }
std::vector<time_ns> communicator::planned_by() const {
    return state_->ask_player([](const engine::player& p) {
        const auto last = p.planned_by();
        return std::vector<time_ns>(last.begin(), last.end());
    });
}
void communicator::record_steps() { state_->record_steps(); }
std::vector<recorded_step> communicator::recorded_steps() const { return state_->recorded_steps(); }
void communicator::synchronise() { state_->synchronise(); }
void communicator::use_model(const model& network) { state_->use_model(network, nullptr); }
void communicator::use_model(const model& network, const model& inside) { state_->use_model(network, &inside); }
void communicator::use_rules(const rules& by) { state_->use_rules(by); }
const algorithm* communicator::last_used() const { return state_->ask_player(&engine::player::last_used); }
void communicator::expect(const outline& what) { state_->expect(*what.what); }
outline communicator::outline_of(const selection& how, const call& c) const { return state_->outline_of(how, c); }
void communicator::progress() { state_->progress(); }
void communicator::processing_start() { state_->processing_start(); }
void communicator::edge(double fraction) { state_->edge(fraction); }
void communicator::processing_end() { state_->processing_end(); }
void communicator::run(const selection& how, const call& c) { state_->run(how, c); }
std::vector<sparse_receipt> communicator::exchange_sparse(std::span<const sparse_send> sends, sparse_way how) {
    return state_->sparse().run(*this, sends, how);
}
request communicator::start(const selection& how, const call& c) { return {*state_, state_->start(how, c)}; }
persistent_call communicator::prepare(const selection& how, const call& c) { return {*this, how, c}; }

request::request(request&& other) noexcept
    : where_(std::exchange(other.where_, nullptr)), call_(std::exchange(other.call_, nullptr)) {}
request& request::operator=(request&& other) noexcept {
    if (this != &other) {
        end();
        where_ = std::exchange(other.where_, nullptr);
        call_ = std::exchange(other.call_, nullptr);
    }
    return *this;
}
request::~request() { end(); }
void request::end() noexcept {
    try {
        wait();
    } catch (const std::exception& e) {
        std::fprintf(stderr, "rubato: a request that nobody waited for: %s\n", e.what());
    }
}
bool request::test() {
    if (call_ == nullptr) return true;
    engine::queued_call* const asked = std::exchange(call_, nullptr);  // void if it throws
    if (where_->test(*asked)) return true;
    call_ = asked;
    return false;
}
void request::wait() {
    if (call_ != nullptr) where_->wait(*std::exchange(call_, nullptr));
}

persistent_call::persistent_call(communicator& where, const selection& how, const call& c)
    : where_(where.state_.get()), how_(how), call_(c) {
    for (chunks* each : {&call_.send_chunks, &call_.recv_chunks}) {
        each->counts = own_.emplace_back(each->counts.begin(), each->counts.end());
        each->displacements = own_.emplace_back(each->displacements.begin(), each->displacements.end());
        each->types = own_types_.emplace_back(each->types.begin(), each->types.end());
    }
}
persistent_call& persistent_call::operator=(persistent_call&& other) noexcept {
    under_way_ = std::move(other.under_way_);  // first: the old one uses the rest
    where_ = other.where_;
    how_ = std::move(other.how_);
    call_ = other.call_;
    own_ = std::move(other.own_);
    own_types_ = std::move(other.own_types_);
    return *this;
}
void persistent_call::expect() { where_->expect(*where_->outline_of(how_, call_).what); }
void persistent_call::start() {
    if (!under_way_.ended())
        throw error("a persistent call is still under way", "it runs once at a time", "wait for it first");
    under_way_ = {*where_, where_->start(how_, call_)};
}
bool persistent_call::test() { return under_way_.test(); }
void persistent_call::wait() { under_way_.wait(); }

}  // namespace rubato::mpi
