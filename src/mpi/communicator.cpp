#include "core/wire.hpp"
#include "mpi/broadcast.hpp"
#include "mpi/looked_at_calls.hpp"
#include "mpi/message_errors.hpp"
#include "mpi/mpi_stage.hpp"
#include "mpi/private_communicator.hpp"
#include "mpi/process.hpp"
#include "mpi/roll.hpp"
#include "mpi/synchronise.hpp"
#include "rubato/choose.hpp"
#include "rubato/mpi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace rubato::mpi {
namespace {

constexpr std::int64_t version = 7;  // of what ranks must agree on: plans, tags, announcements

/// Ranks with equal values have the same algorithms under the same numbers.
std::int64_t protocol() {
    std::uint64_t h = 0xcbf29ce484222325U + version;
    for (const algorithm& a : algorithms())
        for (const char c : a.id) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
    return static_cast<std::int64_t>(h >> 2);
}

}  // namespace

struct named_call {
    intent what{};
    layout sizes{};
    bool open = false;   ///< the algorithm is left to Rubato, and chosen when the call is expected
    bool rolls = false;  ///< its plan is not known before the roll was called
};

class communicator::state {
public:
    state(MPI_Comm user, settings how)
        : comm_(user),
          rank_(rank_in(comm_.get())),
          size_(size_of(comm_.get())),
          tags_(tag_upper_bound()),
          clock_(std::move(how.clock)),
          stage_(comm_.get(), rank_, size_, tags_, how.most_early),
          wants_background_(how.background) {
        route_message_errors(user);
        const std::string refusal = how.background ? wrong_environment() : "";
        const std::int64_t mine = protocol();
        // The minimum of each over all ranks.
        struct {
            std::int64_t protocol;
            std::int64_t negative_protocol;  // minus the maximum
            std::int64_t accepted;
        } all{mine, -mine, refusal.empty() ? 1 : 0};
        check(PMPI_Allreduce(MPI_IN_PLACE, &all, numbers_in(all), MPI_INT64_T, MPI_MIN, comm_.get()), "MPI_Allreduce");
        if (all.protocol != -all.negative_protocol)
            throw error("different versions of rubato in one program", "their algorithms or messages differ",
                        "run the same version on all hosts");
        if (!refusal.empty()) throw error(refusal);
        if (all.accepted == 0)
            throw error("no communicator", "another rank has a wrong setting in its environment", "see what it says");
        const player::settings agreed = agree_on(how);
        quantum_ = agreed.plans.quantum;
        if (!how.hosts.empty() && std::cmp_not_equal(how.hosts.size(), size_))
            throw error(fmt::format("{} hosts for {} ranks", how.hosts.size(), size_), "each rank is on one",
                        "name the host of each rank, or none");
        hosts_ = how.hosts.empty() ? hosts_of(comm_.get()) : std::move(how.hosts);
        if (how.clock_is_common)
            sync_ = {.first = 10, .again = 5};
        else
            synchronise();
        std::int64_t epoch = clock_.now().count();
        check(PMPI_Bcast(&epoch, 1, MPI_INT64_T, 0, comm_.get()), "MPI_Bcast");
        epoch_ = time_ns(epoch);
        player_.emplace(rubato::rank(rank_), size_, stage_, agreed);
    }
    ~state() {
        stop_watching();
        if (!player_ || is_finalized()) return;
        // While an error is thrown, other ranks may never arrive here to end the communicator together.
        if (player_->broken() || std::uncaught_exceptions() > exceptions_) {
            stage_.abandon();
            comm_.abandon();
            return;
        }
        try {
            player_->close(true, now());
            stage_.drain();
        } catch (const std::exception& e) {
            stage_.abandon();
            comm_.abandon();
            std::fprintf(stderr, "rubato: while freeing a communicator: %s\n", e.what());
        }
    }
    state(const state&) = delete;
    state& operator=(const state&) = delete;

    MPI_Comm comm() const { return comm_.get(); }
    int rank() const { return rank_; }
    int size() const { return size_; }
    const std::vector<std::int32_t>& hosts() const { return hosts_; }
    plan_statistics plans() {
        const std::lock_guard lock(mutex_);
        const plan_cache::statistics s = player_->plans().counted();
        return {s.hits, s.misses, s.plans, s.bytes};
    }
    const common_clock& clock() const { return clock_; }
    std::uint64_t begun_early() {
        const std::lock_guard lock(mutex_);
        return player_->begun_early();
    }
    std::vector<time_ns> planned_by() {
        const std::lock_guard lock(mutex_);
        return {player_->planned_by().begin(), player_->planned_by().end()};
    }

    void record_steps() {
        const std::lock_guard lock(mutex_);
        if (under_way_) throw_under_way();
        stage_.record(clock_);
    }
    std::vector<recorded_step> recorded_steps() {
        const std::lock_guard lock(mutex_);
        return stage_.recorded();
    }

    void synchronise() {
        const std::lock_guard lock(mutex_);
        mpi::synchronise(comm_.get(), tags_.beside(1), clock_, sync_);
    }

    void use_model(const model& network, const model* inside) {
        const std::lock_guard lock(mutex_);
        if (under_way_) throw_under_way();
        const std::string text = broadcast(comm_.get(), to_string(network));
        const std::string inside_text = broadcast(comm_.get(), inside != nullptr ? to_string(*inside) : "");
        int early = wants_background_ && may_use_background(false) ? 1 : 0;
        check(PMPI_Allreduce(MPI_IN_PLACE, &early, 1, MPI_INT, MPI_MIN, comm_.get()), "MPI_Allreduce");
        std::optional<model> within;
        if (!inside_text.empty()) within = parse_model(inside_text);
        chooser_.emplace(parse_model(text), early != 0, within);
    }
    const algorithm* last_used() {
        const std::lock_guard lock(mutex_);
        return last_used_;
    }

    outline outline_of(const selection& how, const call& c) const {
        const call_facts known(c, rank_, size_, false);
        return {std::make_shared<named_call>(
            named_call{intent_of(how, known), known.sizes(), how.use == nullptr, how.roll_call.has_value()})};
    }
    intent intent_of(const selection& how, const call_facts& c) const {
        if (c.wrong) std::rethrow_exception(c.wrong);
        for (const call_side* s : {&c.in, &c.out})
            if (s->used && !c.is_roots_alone(*s)) check_committed(s->type, comm_.get());
        return mpi::intent_of(c, how, hosts_);
    }
    void expect(const named_call& o) {
        const std::lock_guard lock(mutex_);
        if (under_way_) throw_under_way();
        if (o.what.use->dynamic || o.rolls) return;  // it has no plan to begin, or to keep to
        intent what = o.what;
        if (o.open) choose_for(what);
        player_->expect(what);
        if (!what.use->early) return;
        stage_.name(o.sizes, player_->number());
        watch();
        background_wake();
    }

    void start(const selection& how, const call& c) {
        const std::lock_guard lock(mutex_);
        arrive(how, c);
        (void)advance(false);
    }
    bool test() {
        const std::lock_guard lock(mutex_);
        return advance(false);
    }
    void wait() {
        const std::lock_guard lock(mutex_);
        (void)advance(true);
    }
    void run(const selection& how, const call& c) {
        const std::lock_guard lock(mutex_);
        arrive(how, c);
        (void)advance(true);
    }
    void pass() {
        const std::lock_guard lock(mutex_);
        if (under_way_) throw_under_way();
        (void)player_->pass(now());
    }
    void run_as(const intent& what, const call_facts& c) {
        const std::lock_guard lock(mutex_);
        arrive([&] {
            call_ = c;
            return what;
        });
        (void)advance(true);
    }
    roll_call::verdict call_roll(roll_call::invocation i) {
        const std::lock_guard lock(mutex_);
        if (under_way_) throw_under_way();
        const time_ns arrival = now();
        if (i.in_any_case) watch();
        try {
            begin_roll(std::move(i));
            return *await_verdict(true);
        } catch (...) {
            end_roll(arrival);
            throw;
        }
    }
    void rest() {
        const std::lock_guard lock(mutex_);
        stop_watching();
    }
    void progress() {
        const std::lock_guard lock(mutex_);
        if (improvised_ || rolling_)
            (void)advance(false);
        else
            (void)look();
    }

    void processing_start() {
        const std::lock_guard lock(mutex_);
        computing_since_ = now();
    }
    void edge(double fraction) {
        const std::lock_guard lock(mutex_);
        if (!computing_since_)
            throw error("an edge outside of a computation", "it tells how much of the computation is done",
                        "say first when it starts");
        // Synchronising may have set the clock back.
        player_->edge(rubato::edge(*computing_since_, std::max(now(), *computing_since_), fraction).value);
        watch();
        background_wake();
    }
    void processing_end() {
        const std::lock_guard lock(mutex_);
        if (!computing_since_)
            throw error("the end of a computation that was not started", "nothing is being measured",
                        "say first when it starts");
        computing_since_.reset();
    }

private:
    /// Time since the communicator was made, on the clock that ranks share.
    time_ns now() const { return clock_.now() - epoch_; }

    player::settings agree_on(const settings& mine) const {
        struct {
            std::int64_t quantum;
            std::int64_t exchange_every;
            std::int64_t from_bytes;
        } said{mine.quantum.count(), mine.exchange_every, mine.from_bytes};
        check(PMPI_Bcast(&said, numbers_in(said), MPI_INT64_T, 0, comm_.get()), "MPI_Bcast");
        player::settings agreed{.plans = {mine.most_plans, time_ns(said.quantum)},
                                .predictor = broadcast(comm_.get(), mine.predictor),
                                .exchange_every = static_cast<std::int32_t>(said.exchange_every),
                                .from_bytes = said.from_bytes};
        (void)make_predictor(agreed.predictor);
        if (agreed.exchange_every < 1)
            throw error(fmt::format("an exchange every {} calls", agreed.exchange_every), "it takes place now and then",
                        "give 1 or more");
        return agreed;
    }

    void arrive(const selection& how, const call& c) {
        if (how.roll_call) return arrive_at_roll(how, c);
        arrive([&] {
            call_ = call_facts(c, rank_, size_);
            intent what = intent_of(how, call_);
            if (how.use == nullptr) choose_for(what);
            return what;
        });
    }
    /// `look` examines the call and returns its intent, or throws.
    template <class Look>
    void arrive(Look look) {
        if (under_way_) throw_under_way();
        const time_ns arrival = now();
        intent what;
        try {
            what = look();
            if (what.use->early) watch();
        } catch (...) {
            skip(arrival);
            throw;
        }
        enter(what, arrival);
        under_way_ = true;
    }
    /// A call that is not made is counted even so, that what others send for it is not taken for the next one.
    void skip(time_ns arrival) {
        try {
            (void)player_->pass(arrival);
        } catch (const error&) {
            // Another call was named: this one is wrong in any case, and the first reason is the better one.
        }
    }
    void enter(const intent& what, time_ns arrival) {
        kind_ = what.kind();
        observed_ = what.observed;
        last_used_ = what.use;
        if (what.use->dynamic)
            improvised_ = stage_.improvise(what, call_, player_->pass(arrival));
        else
            player_->arrive(what, &call_, arrival);
    }

    /// What all ranks find alike is refused at once. With anything else that is wrong here, others may be waiting for
    /// this rank to say that it is there.
    void arrive_at_roll(const selection& how, const call& c) {
        if (under_way_) throw_under_way();
        rolling r;
        r.arrival = now();
        try {
            check_roll_call(how);
            r.patience = how.roll_call->patience;
            call_ = call_facts(c, rank_, size_);
            watch();
        } catch (...) {
            skip(r.arrival);
            throw;
        }
        try {
            r.what = intent_of(how, call_);
            rubato::check(*r.what.use, r.what.what);
        } catch (...) {
            r.refused = std::current_exception();
        }
        rolling_ = std::move(r);
        under_way_ = true;
    }
    void begin_roll(roll_call::invocation i) {
        i.number = player_->number();
        rolls_ = true;
        roll_.begin(std::move(i), own_time());
    }
    std::optional<roll_call::verdict> await_verdict(bool wait) {
        for (;;) {
            auto said = roll_.progress(own_time());
            if (said || !wait) return said;
            (void)player_->poll();
            std::this_thread::yield();  // one that it waits for may need this core
        }
    }
    /// True once the verdict is there; then the call has begun.
    bool hear_verdict(bool wait) {
        const time_ns arrival = rolling_->arrival;
        intent what;
        try {
            if (!rolling_->begun) {
                if (!player_->catch_up(wait)) return false;
                roll_call::invocation i{.keeper = player_->first_to_come(),
                                        .what = called_by(call_, rolling_->refused != nullptr),
                                        .patience = rolling_->patience};
                if (!rolling_->refused) i.in_any_case = order_for(rolling_->what, quantum_);
                i.decide = [any = i.in_any_case](auto) { return any.value_or(roll_call::order{}); };
                rolling_->begun = true;
                begin_roll(std::move(i));
            }
            const auto said = await_verdict(wait);
            if (!said) return false;
            if (rolling_->refused) std::rethrow_exception(rolling_->refused);
            if (said->is_native())
                throw error("a collective that another rank refuses",
                            "its arguments are wrong there, or it has no memory", "see what it says");
            what = made_by(*said, rolling_->what);
        } catch (...) {
            end_roll(arrival);
            throw;
        }
        rolling_.reset();
        try {
            enter(what, arrival);
        } catch (...) {
            under_way_ = false;
            throw;
        }
        return true;
    }
    /// After an error.
    void end_roll(time_ns arrival) {
        rolling_.reset();
        under_way_ = false;
        // Wrong calls end it on all ranks alike; else nobody knows what is still on its way.
        if (roll_.under_way()) player_->fail();
        skip(arrival);
    }
    /// For a rank that is not in a call, in the background: goes on with what was begun, and answers for a keeper that
    /// is late.
    activity look() {
        if (improvised_ || trouble_) return activity::listening;
        bool waited_for = false;
        if (rolling_) {
            try {
                return hear_verdict(false) ? activity::moving : activity::listening;
            } catch (...) {
                trouble_ = std::current_exception();
                return activity::listening;
            }
        }
        if (rolls_ && !under_way_ && !player_->broken()) {
            try {
                waited_for = roll_.stand_in(player_->number(), own_time());
            } catch (...) {
                player_->fail();
            }
        }
        const activity seen = player_->poll();
        if (waited_for) return activity::moving;
        return rolls_ && seen == activity::nothing && !player_->broken() ? activity::listening : seen;
    }

    /// Makes progress, with `wait` to the end; true if nothing is under way any more.
    bool advance(bool wait) {
        if (trouble_) std::rethrow_exception(std::exchange(trouble_, nullptr));
        if (!under_way_) return true;
        if (rolling_ && !hear_verdict(wait)) return false;
        try {
            if (!(improvised_ ? improvised_->advance(wait) : player_->progress(wait))) return false;
        } catch (...) {
            under_way_ = false;
            if (improvised_) player_->fail();
            improvised_.reset();
            throw;
        }
        improvised_.reset();
        under_way_ = false;
        stage_.check_lengths();
        if (observed_) planned_by_[kind_].assign(player_->planned_by().begin(), player_->planned_by().end());
        return true;
    }

    /// The arrivals for a call's plan may not be known yet when its algorithm must be named. So the choice uses the
    /// arrivals that planned the last call of this kind: all ranks have ended that call and have the same arrivals.
    void choose_for(intent& what) {
        if (!chooser_ || traits(what.what.what).irregular) return;
        problem p = what.what;
        const auto last = planned_by_.find(what.kind());
        if (p.arrivals.empty() && last != planned_by_.end()) p.arrivals = last->second;
        if (chooser_->knows_hosts()) p.hosts = hosts_;
        const algorithm* best = chooser_->best(p, what.bytes);
        if (best == nullptr) return;
        what.use = best;
        what.what.segments = p.segments;
        what.what.round_time = p.round_time;
        what.what.hosts = best->host_aware ? hosts_ : std::vector<std::int32_t>{};
        what.observed = true;
    }

    /// Lets the background thread make progress on this communicator from now on.
    void watch() {
        if (watched_ || !wants_background_) return;
        wants_background_ = may_use_background(rank_ == 0);
        if (!wants_background_) return;
        // Without the thread everything still works, only later; an error would leave the other ranks waiting.
        watched_ = watch_until_finalize([this] {
            const std::unique_lock lock(mutex_, std::try_to_lock);
            return lock ? look() : activity::listening;
        });
        wants_background_ = watched_.has_value();
    }
    [[noreturn]] static void throw_under_way() {
        throw error("a collective is still under way", "one runs at a time", "wait for it first");
    }
    void background_wake() {
        if (watched_) background_thread().wake();
    }
    void stop_watching() {
        if (watched_) stop_watch(*watched_);
        watched_.reset();
    }

    std::mutex mutex_{};
    private_communicator comm_;
    int rank_;
    int size_;
    std::vector<std::int32_t> hosts_{};
    tag_layout tags_;
    time_ns quantum_{};
    common_clock clock_;
    sync_settings sync_{};
    time_ns epoch_{};
    mpi_stage stage_;
    std::optional<player> player_{};
    roll_call roll_{rubato::rank(rank_), size_, stage_.roll_post()};
    struct rolling {
        intent what{};
        std::exception_ptr refused{};  // what is wrong with this rank's arguments
        time_ns patience{};
        time_ns arrival{};
        bool begun = false;  // it is known who the keeper is
    };
    std::optional<rolling> rolling_{};           // the collective under way, until the verdict is there
    bool rolls_ = false;                         // roll was called before
    std::exception_ptr trouble_{};               // met in the background, for the rank's next look at its call
    std::unique_ptr<dynamic_run> improvised_{};  // the collective under way, if no plan is made for it
    std::optional<chooser> chooser_{};
    std::map<operation, std::vector<time_ns>> planned_by_{};  // the last call of each kind that was observed
    const algorithm* last_used_ = nullptr;
    bool wants_background_;
    std::optional<watch_id> watched_{};
    std::optional<time_ns> computing_since_{};
    call_facts call_{};  // under way
    operation kind_{};
    bool observed_ = false;
    bool under_way_ = false;
    int exceptions_ = std::uncaught_exceptions();
};

communicator::communicator(MPI_Comm user, settings how) : state_(std::make_unique<state>(user, std::move(how))) {}
communicator::~communicator() = default;
communicator::communicator(communicator&&) noexcept = default;
communicator& communicator::operator=(communicator&&) noexcept = default;

int communicator::rank() const { return state_->rank(); }
int communicator::size() const { return state_->size(); }
const std::vector<std::int32_t>& communicator::hosts() const { return state_->hosts(); }
plan_statistics communicator::plans() const { return state_->plans(); }
const common_clock& communicator::clock() const { return state_->clock(); }
std::uint64_t communicator::begun_early() const { return state_->begun_early(); }
std::vector<time_ns> communicator::planned_by() const { return state_->planned_by(); }
void communicator::record_steps() { state_->record_steps(); }
std::vector<recorded_step> communicator::recorded_steps() const { return state_->recorded_steps(); }
void communicator::synchronise() { state_->synchronise(); }
void communicator::use_model(const model& network) { state_->use_model(network, nullptr); }
void communicator::use_model(const model& network, const model& inside) { state_->use_model(network, &inside); }
const algorithm* communicator::last_used() const { return state_->last_used(); }
void communicator::expect(const outline& what) { state_->expect(*what.what); }
outline communicator::outline_of(const selection& how, const call& c) const { return state_->outline_of(how, c); }
void communicator::progress() { state_->progress(); }
void communicator::processing_start() { state_->processing_start(); }
void communicator::edge(double fraction) { state_->edge(fraction); }
void communicator::processing_end() { state_->processing_end(); }
void communicator::run(const selection& how, const call& c) { state_->run(how, c); }

MPI_Comm looked_at_calls::comm() const { return on_.comm(); }
intent looked_at_calls::intent_of(const selection& how, const call_facts& c) const { return on_.intent_of(how, c); }
void looked_at_calls::run(const intent& what, const call_facts& c) { on_.run_as(what, c); }
void looked_at_calls::pass() { on_.pass(); }
roll_call::verdict looked_at_calls::call_roll(const call_facts& c, rank keeper, time_ns patience,
                                              const roll_call::order& in_any_case, bool refused) {
    roll_call::invocation i{.keeper = keeper,
                            .what = called_by(c, refused || c.wrong),
                            .patience = patience,
                            .decide = [in_any_case](auto) { return in_any_case; }};
    if (!i.what.refused) i.in_any_case = in_any_case;
    return on_.call_roll(std::move(i));
}
void looked_at_calls::rest() { on_.rest(); }

persistent_call communicator::prepare(const selection& how, const call& c) { return {*state_, how, c}; }

persistent_call::persistent_call(communicator::state& where, const selection& how, const call& c)
    : where_(&where), how_(how), call_(c) {
    for (chunks* each : {&call_.send_chunks, &call_.recv_chunks}) {
        each->counts = own_.emplace_back(each->counts.begin(), each->counts.end());
        each->displacements = own_.emplace_back(each->displacements.begin(), each->displacements.end());
    }
}
void persistent_call::expect() { where_->expect(*where_->outline_of(how_, call_).what); }
void persistent_call::start() { where_->start(how_, call_); }
bool persistent_call::test() { return where_->test(); }
void persistent_call::wait() { where_->wait(); }

}  // namespace rubato::mpi
