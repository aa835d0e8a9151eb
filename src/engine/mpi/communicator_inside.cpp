#include "engine/mpi/communicator_inside.hpp"

#include "base/core/build.hpp"
#include "base/core/wire.hpp"
#include "engine/mpi/message_errors.hpp"
#include "engine/mpi/private_communicator.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdio>
#include <utility>

namespace rubato::mpi {

communicator::state::state(MPI_Comm user, settings how)
    : comm_(user),
      rank_(engine::rank_in(comm_.get())),
      size_(engine::size_of(comm_.get())),
      tags_(engine::tag_upper_bound()),
      clock_(std::move(how.clock)),
      stage_(comm_.get(), rank_, size_, tags_, how.most_early),
      wants_background_(how.background) {
    engine::route_message_errors(user);
    const std::string refusal = how.background ? engine::wrong_environment() : "";
    // The minimum of each over all ranks.
    struct {
        std::int64_t build;
        std::int64_t negative_build;  // minus the maximum
        std::int64_t accepted;
    } all{base::source_hash(), -base::source_hash(), refusal.empty() ? 1 : 0};
    engine::check(PMPI_Allreduce(MPI_IN_PLACE, &all, base::numbers_in(all), MPI_INT64_T, MPI_MIN, comm_.get()),
                  "MPI_Allreduce");
    if (all.build != -all.negative_build)
        throw error("different builds of rubato in one program", "their plans or messages may differ",
                    "install the same build on all hosts");
    if (!refusal.empty()) throw error(refusal);
    if (all.accepted == 0)
        throw error("no communicator", "another rank has a wrong setting in its environment", "see what it says");
    const engine::player::settings agreed = agree_on(how);
    quantum_ = agreed.plans.quantum;
    if (!how.hosts.empty() && std::cmp_not_equal(how.hosts.size(), size_))
        throw error(fmt::format("{} hosts for {} ranks", how.hosts.size(), size_), "each rank is on one",
                    "name the host of each rank, or none");
    hosts_ = how.hosts.empty() ? engine::hosts_of(comm_.get()) : std::move(how.hosts);
    neighbours_ = engine::neighbours_of(user, comm_.get());
    degrees_ = engine::degrees_in(neighbours_.get(), rank_);
    if (how.clock_is_common)
        sync_ = {.first = 10, .again = 5};
    else
        synchronise();
    std::int64_t epoch = clock_.now().count();
    engine::check(PMPI_Bcast(&epoch, 1, MPI_INT64_T, 0, comm_.get()), "MPI_Bcast");
    epoch_ = time_ns(epoch);
    player_.emplace(rubato::rank(rank_), size_, stage_, agreed);
}

communicator::state::~state() {
    // While an error is thrown, other ranks may never arrive here to end the communicator together.
    if (player_ && !player_->broken() && !engine::is_finalized() && std::uncaught_exceptions() <= exceptions_) {
        try {
            while (!end()) engine::let_others_go_on();
        } catch (const std::exception& e) {
            std::fprintf(stderr, "rubato: while freeing a communicator: %s\n", e.what());
        }
    }
    forsake();
    if (ended_ || !player_) return;
    player_->fail();
    comm_.abandon();
}

bool communicator::state::end() {
    const std::lock_guard lock(mutex_);
    if (ended_) return true;
    player_->check_usable();
    if (calls_ > 0) {
        end_first();
        (void)look(false);
        if (calls_ > 0) return false;
    }
    forsake();
    ended_ = player_->close(now()) && stage_.drain();
    return ended_;
}

void communicator::state::record_steps() {
    const std::lock_guard lock(mutex_);
    check_idle();
    stage_.record(clock_);
}

std::vector<recorded_step> communicator::state::recorded_steps() {
    const std::lock_guard lock(mutex_);
    return stage_.recorded();
}

void communicator::state::synchronise() {
    const std::lock_guard lock(mutex_);
    check_idle();  // nobody would go on with it meanwhile
    engine::synchronise(comm_.get(), tags_.beside(1), clock_, sync_);
}

void communicator::state::use_model(const model& network, const model* inside) {
    const std::lock_guard lock(mutex_);
    check_idle();
    (void)player_->catch_up(true);  // what it begins on the way is collective, too
    const std::string text = engine::broadcast(comm_.get(), to_string(network));
    const std::string inside_text = engine::broadcast(comm_.get(), inside != nullptr ? to_string(*inside) : "");
    int early = wants_background_ && engine::may_use_background(false) ? 1 : 0;
    engine::check(PMPI_Allreduce(MPI_IN_PLACE, &early, 1, MPI_INT, MPI_MIN, comm_.get()), "MPI_Allreduce");
    std::optional<model> within;
    if (!inside_text.empty()) within = parse_model(inside_text);
    choice_.use(chooser(parse_model(text), early != 0, within));
}

void communicator::state::use_rules(const rules& by) {
    const std::lock_guard lock(mutex_);
    check_idle();
    (void)player_->catch_up(true);
    const std::string text = engine::broadcast(comm_.get(), to_string(by));
    rules agreed = text.empty() ? rules() : rules::parse(text, "rules");
    static std::atomic<bool> warned = false;
    const std::vector<std::string> warnings = rank_ == 0 ? cautions(agreed) : std::vector<std::string>{};
    if (!warnings.empty() && !warned.exchange(true))
        for (const std::string& w : warnings) std::fprintf(stderr, "rubato: %s\n", w.c_str());
    choice_.use(std::move(agreed));
}

outline communicator::state::outline_of(const selection& how, const call& c) const {
    const engine::call_facts known(c, rank_, size_, degrees_, false);
    return {std::make_shared<engine::named_call>(
        engine::named_call{intent_of(how, known), known.sizes(), how.roll_call.has_value()})};
}

engine::intent communicator::state::intent_of(const selection& how, const engine::call_facts& c) const {
    if (c.wrong) std::rethrow_exception(c.wrong);
    c.for_each_type([&](const engine::call_side& s, MPI_Datatype t) {
        if (!c.is_roots_alone(s)) engine::check_committed(t, comm_.get());
    });
    if (c.traits().on_graph && !neighbours_)
        throw error("a communicator without neighbours", "MPI gives it no topology, or an edge goes one way only",
                    "make one with MPI_Cart_create or MPI_Dist_graph_create_adjacent");
    engine::intent what = engine::intent_of(c, how, hosts_, neighbours_);
    what.open = how.use == nullptr;
    return what;
}

void communicator::state::expect(const engine::named_call& o) {
    const std::lock_guard lock(mutex_);
    if (player_->first_called() != nullptr) return;  // which number it will have is known, but not what comes before
    if (o.what.use->dynamic || o.rolls) return;      // it has no plan to begin, or to keep to
    if (!player_->expect(o.what)) return;
    stage_.name(o.sizes, player_->number());
    watch();
    background_wake();
}

void communicator::state::processing_start() {
    const std::lock_guard lock(mutex_);
    computing_since_ = now();
}

void communicator::state::edge(double fraction) {
    const std::lock_guard lock(mutex_);
    if (!computing_since_)
        throw error("an edge outside of a computation", "it tells how much of the computation is done",
                    "say first when it starts");
    enter_all(nullptr);
    // Synchronising may have set the clock back.
    const time_ns arrival = simulator::edge(*computing_since_, std::max(now(), *computing_since_), fraction).value;
    if (player_->first_called() == nullptr) player_->edge(arrival);  // else of a call that is not known to the player
    watch();
    background_wake();
}

void communicator::state::processing_end() {
    const std::lock_guard lock(mutex_);
    if (!computing_since_)
        throw error("the end of a computation that was not started", "nothing is being measured",
                    "say first when it starts");
    computing_since_.reset();
}

engine::player::settings communicator::state::agree_on(const settings& mine) {
    struct {
        std::int64_t quantum;
        std::int64_t exchange_every;
        std::int64_t from_bytes;
        std::int64_t places;
    } said{mine.quantum.count(), mine.exchange_every, mine.from_bytes, std::ssize(mine.places)};
    engine::check(PMPI_Bcast(&said, base::numbers_in(said), MPI_INT64_T, 0, comm_.get()), "MPI_Bcast");
    std::vector<std::int32_t> places = mine.places;
    places.resize(static_cast<std::size_t>(said.places));
    if (!places.empty())
        engine::check(PMPI_Bcast(places.data(), static_cast<int>(said.places), MPI_INT32_T, 0, comm_.get()),
                      "MPI_Bcast");
    rubato::check(problem{.ranks = size_, .places = places});
    engine::player::settings agreed{
        .plans = {mine.most_plans, time_ns(said.quantum), std::move(places)},
        .predictor = engine::broadcast(comm_.get(), mine.predictor),
        .exchange_every = static_cast<std::int32_t>(said.exchange_every),
        .from_bytes = said.from_bytes,
        .choose = [this](engine::intent& what, std::span<const time_ns> last) { choice_.choose(what, last, hosts_); },
        .help = [this] { return help(); }};
    (void)simulator::make_predictor(agreed.predictor);
    if (agreed.exchange_every < 1)
        throw error(fmt::format("an exchange every {} calls", agreed.exchange_every), "it takes place now and then",
                    "give 1 or more");
    return agreed;
}

void communicator::state::check_idle() const {
    if (calls_ > 0)
        throw error("a collective is still under way", "all ranks must be between calls", "wait for it first");
}

/// Lets the background thread make progress on this communicator from now on.
void communicator::state::watch() {
    if (watched_ || !wants_background_) return;
    wants_background_ = engine::may_use_background(rank_ == 0);
    if (!wants_background_) return;
    // Without the thread everything still works, only later; an error would leave the other ranks waiting.
    watched_ = engine::watch_until_finalize([this] {
        const std::unique_lock lock(mutex_, std::try_to_lock);
        return lock ? look(true) : engine::activity::listening;
    });
    wants_background_ = watched_.has_value();
}

void communicator::state::stop_watching() {
    if (watched_) engine::stop_watch(*watched_);
    watched_.reset();
}

void communicator::state::background_wake() {
    if (watched_) engine::background_thread().wake();
}

/// Nobody else goes on with what is under way here.
void communicator::state::forsake() {
    stop_watching();
    if (joined_) engine::under_way_here().leave(*std::exchange(joined_, std::nullopt));
    if (std::exchange(busy_, false)) engine::under_way_here().end();
}

}  // namespace rubato::mpi

namespace rubato::engine {

void automatic_choice::choose(intent& what, std::span<const time_ns> last, const std::vector<std::int32_t>& hosts) {
    if (traits(what.what.what).irregular) return;
    // Makes the call by `use`, with the parameters that were found for it.
    const auto take = [&](const algorithm& use, const problem& found) {
        what.use = &use;
        what.what.segments = found.segments;
        what.what.round_time = found.round_time;
        what.what.hosts = use.host_aware ? hosts : std::vector<std::int32_t>{};
    };
    problem p = what.what;
    if (p.arrivals.empty()) p.arrivals.assign(last.begin(), last.end());
    if (rules_.concern(p.what)) {
        what.observed = true;  // rules may be for an imbalance
        problem by_rule = p;
        by_rule.hosts = hosts;
        if (const rule* const found = rules_.find(by_rule, what.bytes); found != nullptr) {
            rules_.prepare(*found, by_rule, what.bytes);
            return take(*found->use, by_rule);
        }
    }
    if (!chooser_) return;
    if (chooser_->knows_hosts()) p.hosts = hosts;
    const algorithm* const best = chooser_->best(p, what.bytes);
    if (best == nullptr) return;
    take(*best, p);
    what.what.radix = p.radix;
    what.observed = true;
}

}  // namespace rubato::engine
