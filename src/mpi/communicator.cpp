#include "core/build.hpp"
#include "core/wire.hpp"
#include "mpi/broadcast.hpp"
#include "mpi/looked_at_calls.hpp"
#include "mpi/message_errors.hpp"
#include "mpi/mpi_stage.hpp"
#include "mpi/private_communicator.hpp"
#include "mpi/process.hpp"
#include "mpi/roll.hpp"
#include "mpi/sparse.hpp"
#include "mpi/synchronise.hpp"
#include "mpi/topology.hpp"
#include "rubato/choose.hpp"
#include "rubato/mpi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

namespace rubato::mpi {

struct named_call {
    intent what{};
    layout sizes{};
    bool rolls = false;  ///< its plan is not known before the roll was called
};

/// A roll that is called for a call that was started.
struct roll_for_call {
    std::exception_ptr refused{};  // what is wrong with this rank's arguments
    time_ns patience{};
    bool begun = false;  // it is known who the keeper is
};

/// A call that was started.
struct started_call {
    call_facts call{};
    intent what{};
    time_ns arrival{};
    std::optional<roll_for_call> rolls{};  // until the verdict is there
    player::ticket ticket = nullptr;       // once the player has it
    std::exception_ptr trouble{};          // before that
    looked_at_calls::teller ended{};       // nobody asks for the call: this is told
    bool passed = false;                   // nobody makes it
    std::vector<MPI_Datatype> types{};     // its own, that the caller may free before it has ended
    std::list<started_call>::iterator self{};
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
        // The minimum of each over all ranks.
        struct {
            std::int64_t build;
            std::int64_t negative_build;  // minus the maximum
            std::int64_t accepted;
        } all{source_hash(), -source_hash(), refusal.empty() ? 1 : 0};
        check(PMPI_Allreduce(MPI_IN_PLACE, &all, numbers_in(all), MPI_INT64_T, MPI_MIN, comm_.get()), "MPI_Allreduce");
        if (all.build != -all.negative_build)
            throw error("different builds of rubato in one program", "their plans or messages may differ",
                        "install the same build on all hosts");
        if (!refusal.empty()) throw error(refusal);
        if (all.accepted == 0)
            throw error("no communicator", "another rank has a wrong setting in its environment", "see what it says");
        const player::settings agreed = agree_on(how);
        quantum_ = agreed.plans.quantum;
        if (!how.hosts.empty() && std::cmp_not_equal(how.hosts.size(), size_))
            throw error(fmt::format("{} hosts for {} ranks", how.hosts.size(), size_), "each rank is on one",
                        "name the host of each rank, or none");
        hosts_ = how.hosts.empty() ? hosts_of(comm_.get()) : std::move(how.hosts);
        neighbours_ = neighbours_of(user, comm_.get());
        degrees_ = degrees_in(neighbours_.get(), rank_);
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
        // While an error is thrown, other ranks may never arrive here to end the communicator together.
        if (player_ && !player_->broken() && !is_finalized() && std::uncaught_exceptions() <= exceptions_) {
            try {
                while (!end()) let_others_go_on();
            } catch (const std::exception& e) {
                std::fprintf(stderr, "rubato: while freeing a communicator: %s\n", e.what());
            }
        }
        forsake();
        if (ended_ || !player_) return;
        player_->fail();
        comm_.abandon();
    }
    state(const state&) = delete;
    state& operator=(const state&) = delete;

    /// Ends what is under way here, without waiting for other ranks; false if there is something left. All ranks call
    /// it until it is true, each when it likes. No other call may follow. Throws if a call has failed here.
    bool end() {
        const std::lock_guard lock(mutex_);
        if (ended_) return true;
        player_->check_usable();
        if (!calls_.empty()) {
            end_first();
            (void)look(false);
            if (!calls_.empty()) return false;
        }
        forsake();
        ended_ = player_->close(now()) && stage_.drain();
        return ended_;
    }

    MPI_Comm comm() const { return comm_.get(); }
    sparse_exchanges& sparse() { return sparse_; }
    int rank() const { return rank_; }
    int size() const { return size_; }
    const std::vector<std::int32_t>& hosts() const { return hosts_; }
    const std::shared_ptr<const graph>& neighbours() const { return neighbours_; }
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
        check_idle();
        stage_.record(clock_);
    }
    std::vector<recorded_step> recorded_steps() {
        const std::lock_guard lock(mutex_);
        return stage_.recorded();
    }

    void synchronise() {
        const std::lock_guard lock(mutex_);
        check_idle();  // nobody would go on with it meanwhile
        mpi::synchronise(comm_.get(), tags_.beside(1), clock_, sync_);
    }

    void use_model(const model& network, const model* inside) {
        const std::lock_guard lock(mutex_);
        check_idle();
        (void)player_->catch_up(true);  // what it begins on the way is collective, too
        const std::string text = broadcast(comm_.get(), to_string(network));
        const std::string inside_text = broadcast(comm_.get(), inside != nullptr ? to_string(*inside) : "");
        int early = wants_background_ && may_use_background(false) ? 1 : 0;
        check(PMPI_Allreduce(MPI_IN_PLACE, &early, 1, MPI_INT, MPI_MIN, comm_.get()), "MPI_Allreduce");
        std::optional<model> within;
        if (!inside_text.empty()) within = parse_model(inside_text);
        chooser_.emplace(parse_model(text), early != 0, within);
    }
    void use_rules(const rules& by) {
        const std::lock_guard lock(mutex_);
        check_idle();
        (void)player_->catch_up(true);
        const std::string text = broadcast(comm_.get(), to_string(by));
        rules_ = text.empty() ? rules() : rules::parse(text, "rules");
        static std::atomic<bool> warned = false;
        const std::vector<std::string> warnings = rank_ == 0 ? cautions(rules_) : std::vector<std::string>{};
        if (!warnings.empty() && !warned.exchange(true))
            for (const std::string& w : warnings) std::fprintf(stderr, "rubato: %s\n", w.c_str());
    }
    const algorithm* last_used() {
        const std::lock_guard lock(mutex_);
        return player_->last_used();
    }

    outline outline_of(const selection& how, const call& c) const {
        const call_facts known(c, rank_, size_, degrees_, false);
        return {
            std::make_shared<named_call>(named_call{intent_of(how, known), known.sizes(), how.roll_call.has_value()})};
    }
    intent intent_of(const selection& how, const call_facts& c) const {
        if (c.wrong) std::rethrow_exception(c.wrong);
        c.for_each_type([&](const call_side& s, MPI_Datatype t) {
            if (!c.is_roots_alone(s)) check_committed(t, comm_.get());
        });
        if (c.traits().on_graph && !neighbours_)
            throw error("a communicator without neighbours", "MPI gives it no topology, or an edge goes one way only",
                        "make one with MPI_Cart_create or MPI_Dist_graph_create_adjacent");
        intent what = mpi::intent_of(c, how, hosts_, neighbours_);
        what.open = how.use == nullptr;
        return what;
    }
    void expect(const named_call& o) {
        const std::lock_guard lock(mutex_);
        if (entering_ > 0) return;                   // which number it will have is known, but not what comes before
        if (o.what.use->dynamic || o.rolls) return;  // it has no plan to begin, or to keep to
        if (!player_->expect(o.what)) return;
        stage_.name(o.sizes, player_->number());
        watch();
        background_wake();
    }

    started_call& start(const selection& how, const call& c) {
        const std::lock_guard lock(mutex_);
        started_call& s = arrive(how, c);
        keep_types(s);
        begin();
        return s;
    }
    bool test(started_call& s) {
        const std::lock_guard lock(mutex_);
        if (advance(s, false)) return true;
        (void)help();
        return false;
    }
    void wait(started_call& s) {
        const std::lock_guard lock(mutex_);
        (void)advance(s, true);
    }
    void run(const selection& how, const call& c) {
        const std::lock_guard lock(mutex_);
        (void)advance(arrive(how, c), true);
    }
    void pass() {
        const std::lock_guard lock(mutex_);
        skip(make());
    }
    void run_as(const intent& what, const call_facts& c) {
        const std::lock_guard lock(mutex_);
        started_call& s = make();
        s.call = c;
        s.what = what;
        (void)advance(s, true);
    }
    void start_as(const intent& what, const call_facts& c, looked_at_calls::teller ended) {
        const std::lock_guard lock(mutex_);
        started_call& s = make();
        s.call = c;
        s.what = what;
        keep_types(s);
        s.ended = std::move(ended);
        ++told_;
        begin();
    }
    roll_call::verdict call_roll(roll_call::invocation i) {
        const std::lock_guard lock(mutex_);
        if (!calls_.empty()) enter_all(&calls_.back());
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
    bool wake() {
        const std::lock_guard lock(mutex_);
        watch();
        return watched_.has_value();
    }
    void rest() {
        const std::lock_guard lock(mutex_);
        stop_watching();
    }
    void progress() {
        const std::lock_guard lock(mutex_);
        (void)look(false);
        (void)help();  // somebody may call this to wait
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
        enter_all(nullptr);
        // Synchronising may have set the clock back.
        const time_ns arrival = rubato::edge(*computing_since_, std::max(now(), *computing_since_), fraction).value;
        if (entering_ == 0) player_->edge(arrival);  // else it is the edge of a call that the player cannot count yet
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

    player::settings agree_on(const settings& mine) {
        struct {
            std::int64_t quantum;
            std::int64_t exchange_every;
            std::int64_t from_bytes;
            std::int64_t places;
        } said{mine.quantum.count(), mine.exchange_every, mine.from_bytes, std::ssize(mine.places)};
        check(PMPI_Bcast(&said, numbers_in(said), MPI_INT64_T, 0, comm_.get()), "MPI_Bcast");
        std::vector<std::int32_t> places = mine.places;
        places.resize(static_cast<std::size_t>(said.places));
        if (!places.empty())
            check(PMPI_Bcast(places.data(), static_cast<int>(said.places), MPI_INT32_T, 0, comm_.get()), "MPI_Bcast");
        rubato::check(problem{.ranks = size_, .places = places});
        player::settings agreed{
            .plans = {mine.most_plans, time_ns(said.quantum), std::move(places)},
            .predictor = broadcast(comm_.get(), mine.predictor),
            .exchange_every = static_cast<std::int32_t>(said.exchange_every),
            .from_bytes = said.from_bytes,
            .choose = [this](intent& what, std::span<const time_ns> last) { choose_for(what, last); },
            .help = [this] { return help(); }};
        (void)make_predictor(agreed.predictor);
        if (agreed.exchange_every < 1)
            throw error(fmt::format("an exchange every {} calls", agreed.exchange_every), "it takes place now and then",
                        "give 1 or more");
        return agreed;
    }

    /// Of the calls that nobody else asks for.
    void end_first() {
        started_call& first = calls_.front();
        if (!first.ended && !first.passed) (void)advance(first, false);
    }
    /// Nobody else goes on with what is under way here.
    void forsake() {
        stop_watching();
        if (joined_) under_way_here().leave(*std::exchange(joined_, std::nullopt));
        if (std::exchange(busy_, false)) under_way_here().end();
    }
    /// For the next call; its arrival is now.
    started_call& make() {
        if (spare_.empty()) spare_.emplace_back();
        calls_.splice(calls_.end(), spare_, spare_.begin());
        started_call& s = calls_.back();
        s.self = std::prev(calls_.end());
        s.arrival = now();
        ++entering_;
        return s;
    }
    /// Begins what was started, as far as it can without waiting, and lets others go on with it.
    void begin() {
        watch();
        if (!joined_)
            joined_ = under_way_here().join([this] {
                const std::unique_lock other(mutex_, std::try_to_lock);
                if (other && !calls_.empty()) (void)look(false);
            });
        if (!std::exchange(busy_, true)) under_way_here().begin();
        (void)look(false);
        background_wake();
    }
    /// Calls that nobody asks for.
    bool end_told() {
        bool some = false;
        for (auto at = calls_.begin(); told_ > 0 && at != calls_.end();) {
            started_call& s = *at++;
            const bool is_over =
                s.trouble || (s.ticket != nullptr && (player_->broken() || player::has_ended(s.ticket)));
            if (!s.ended || !is_over) continue;
            const looked_at_calls::teller tell = std::exchange(s.ended, nullptr);
            --told_;
            std::exception_ptr thrown;
            try {
                (void)conclude(s, false);
            } catch (...) {
                thrown = std::current_exception();
            }
            tell(thrown);
            some = true;
        }
        return some;
    }
    /// A program may free its datatypes before the call has ended. But its own operator is given the type that the
    /// program knows, which must live as long as the operator.
    static void keep_types(started_call& s) {
        if (!s.call.traits().reduces || s.call.op_number >= 0) s.call.keep_types(s.types);
    }
    void forget(started_call& s) {
        s.rolls.reset();
        s.ticket = nullptr;
        s.passed = false;
        for (MPI_Datatype& t : s.types) MPI_Type_free(&t);
        s.types.clear();
        spare_.splice(spare_.begin(), calls_, s.self);
        if (calls_.empty() && std::exchange(busy_, false)) under_way_here().end();
    }
    /// While the rank waits, nothing else tells of calls that have ended.
    bool help() {
        (void)end_told();
        return under_way_here().help(joined_ ? &*joined_ : nullptr, busy_) || told_ > 0;
    }

    /// What all ranks find alike is refused at once. If roll is called, and something else is wrong here, others may be
    /// waiting for this rank to say that it is there.
    started_call& arrive(const selection& how, const call& c) {
        started_call& s = make();
        try {
            if (how.roll_call) {
                check_roll_call(how);
                s.rolls.emplace().patience = how.roll_call->patience;
                watch();
            }
            s.call = call_facts(c, rank_, size_, degrees_);
            s.what = intent_of(how, s.call);
            if (how.roll_call) rubato::check(*s.what.use, s.what.what);
        } catch (...) {
            if (s.rolls) {
                s.rolls->refused = std::current_exception();
                return s;
            }
            skip(s);
            throw;
        }
        return s;
    }
    /// A call that is not made, the last one, is counted even so, that what others send for it is not taken for the
    /// next one.
    void skip(started_call& s) {
        s.passed = true;
        enter_all(nullptr);
    }
    void skip(time_ns arrival) {
        try {
            player_->pass(arrival);
        } catch (const error&) {
            // Another call was named: this one is wrong in any case, and the first reason is the better one.
        }
    }
    /// Gives calls to the player, in their order; one for which roll is called when its verdict is there. Waits until
    /// it has `awaited`.
    void enter_all(const started_call* awaited) {
        while (entering_ > 0) {
            started_call& s = *std::prev(calls_.end(), static_cast<std::ptrdiff_t>(entering_));
            const bool wait = awaited != nullptr && !is_entered(*awaited);
            try {
                if (s.rolls && !hear_verdict(s, wait)) return;
                if (!s.passed) s.ticket = player_->arrive(s.what, &s.call, s.arrival);
            } catch (...) {
                s.trouble = std::current_exception();
            }
            --entering_;
            if (s.passed) {
                skip(s.arrival);
                forget(s);
            }
            if (player_->listens()) watch();
        }
    }
    static bool is_entered(const started_call& s) { return s.ticket != nullptr || s.trouble; }

    void begin_roll(roll_call::invocation i) {
        i.number = player_->number();
        rolls_ = true;
        roll_.begin(std::move(i), own_time());
    }
    std::optional<roll_call::verdict> await_verdict(bool wait) {
        for (;;) {
            auto said = roll_.progress(own_time());
            if (said || !wait) return said;
            (void)player_->poll(false);
            (void)help();
            std::this_thread::yield();  // one that it waits for may need this core
        }
    }
    /// True once the verdict is there; then it is known how to make the call.
    bool hear_verdict(started_call& s, bool wait) {
        try {
            roll_for_call& r = *s.rolls;
            if (!r.begun) {
                if (!player_->catch_up(wait)) return false;
                roll_call::invocation i{.keeper = player_->first_to_come(),
                                        .what = called_by(s.call, r.refused != nullptr),
                                        .patience = r.patience};
                if (!r.refused) i.in_any_case = order_for(s.what, quantum_);
                i.decide = [any = i.in_any_case](auto) { return any.value_or(roll_call::order{}); };
                r.begun = true;
                begin_roll(std::move(i));
            }
            const auto said = await_verdict(wait);
            if (!said) return false;
            if (r.refused) std::rethrow_exception(r.refused);
            if (said->is_native())
                throw error("a collective that another rank refuses",
                            "its arguments are wrong there, or it has no memory", "see what it says");
            s.what = made_by(*said, std::move(s.what));
        } catch (...) {
            end_roll(s.arrival);
            throw;
        }
        s.rolls.reset();
        return true;
    }
    /// After an error.
    void end_roll(time_ns arrival) {
        // Wrong calls end it on all ranks alike; else nobody knows what is still on its way.
        if (roll_.under_way()) player_->fail();
        skip(arrival);
    }
    /// For a rank that is not in a call, in the background: goes on with what was begun, and answers for a keeper that
    /// is late.
    activity look(bool in_background) {
        bool moved = false;
        if (const std::size_t entering = entering_; entering > 0) {
            enter_all(nullptr);
            moved = entering_ != entering;
        } else if (rolls_ && calls_.empty() && !player_->broken()) {
            try {
                moved = roll_.stand_in(player_->number(), own_time());
            } catch (...) {
                player_->fail();
            }
        }
        const activity seen = player_->poll(in_background);
        moved |= end_told();
        if (moved) return activity::moving;
        const bool may_come = entering_ > 0 || (rolls_ && !player_->broken());
        return may_come && seen == activity::nothing ? activity::listening : seen;
    }

    /// Makes progress, with `wait` until the call has ended; true if it has, and is forgotten. Throws if it has failed.
    bool advance(started_call& s, bool wait) {
        enter_all(wait ? &s : nullptr);
        return is_entered(s) && conclude(s, wait);
    }
    /// The player has it.
    bool conclude(started_call& s, bool wait) {
        std::exception_ptr trouble = std::exchange(s.trouble, nullptr);
        if (!trouble) {
            try {
                if (!player_->progress(s.ticket, wait)) return false;
            } catch (...) {
                trouble = std::current_exception();
            }
        }
        forget(s);
        if (trouble) std::rethrow_exception(trouble);
        return true;
    }

    /// See player::settings.
    void choose_for(intent& what, std::span<const time_ns> last) {
        if (traits(what.what.what).irregular || follow_rule(what, last) || !chooser_) return;
        problem p = what.what;
        if (p.arrivals.empty()) p.arrivals.assign(last.begin(), last.end());
        if (chooser_->knows_hosts()) p.hosts = hosts_;
        const algorithm* best = chooser_->best(p, what.bytes);
        if (best == nullptr) return;
        what.use = best;
        what.what.segments = p.segments;
        what.what.radix = p.radix;
        what.what.round_time = p.round_time;
        what.what.hosts = best->host_aware ? hosts_ : std::vector<std::int32_t>{};
        what.observed = true;
    }

    bool follow_rule(intent& what, std::span<const time_ns> last) const {
        problem p = what.what;
        if (!rules_.concern(p.what)) return false;
        what.observed = true;  // rules may be for an imbalance
        if (p.arrivals.empty()) p.arrivals.assign(last.begin(), last.end());
        p.hosts = hosts_;
        const rule* const found = rules_.find(p, what.bytes);
        if (found == nullptr) return false;
        rules_.prepare(*found, p, what.bytes);
        what.use = found->use;
        what.what.segments = p.segments;
        what.what.round_time = p.round_time;
        what.what.hosts = found->use->host_aware ? hosts_ : std::vector<std::int32_t>{};
        return true;
    }

    /// Lets the background thread make progress on this communicator from now on.
    void watch() {
        if (watched_ || !wants_background_) return;
        wants_background_ = may_use_background(rank_ == 0);
        if (!wants_background_) return;
        // Without the thread everything still works, only later; an error would leave the other ranks waiting.
        watched_ = watch_until_finalize([this] {
            const std::unique_lock lock(mutex_, std::try_to_lock);
            return lock ? look(true) : activity::listening;
        });
        wants_background_ = watched_.has_value();
    }
    void check_idle() const {
        if (!calls_.empty())
            throw error("a collective is still under way", "all ranks must be between calls", "wait for it first");
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
    std::shared_ptr<const graph> neighbours_{};
    degrees degrees_{};
    tag_layout tags_;
    time_ns quantum_{};
    common_clock clock_;
    sync_settings sync_{};
    time_ns epoch_{};
    mpi_stage stage_;
    std::optional<player> player_{};
    sparse_exchanges sparse_{comm_.get(), tags_};
    roll_call roll_{rubato::rank(rank_), size_, stage_.roll_post()};
    bool rolls_ = false;               // roll was called before
    std::list<started_call> calls_{};  // in their order
    std::size_t entering_ = 0;         // of these, the last, that the player does not know yet
    std::list<started_call> spare_{};
    std::size_t told_ = 0;                         // of calls_, those that nobody asks for
    std::optional<mutual_help::ticket> joined_{};  // others of this process go on with what is under way here,
    bool busy_ = false;                            // if something is
    std::optional<chooser> chooser_{};
    rules rules_{};
    bool wants_background_;
    bool ended_ = false;
    std::optional<watch_id> watched_{};
    std::optional<time_ns> computing_since_{};
    int exceptions_ = std::uncaught_exceptions();
};

communicator::communicator(MPI_Comm user, settings how) : state_(std::make_unique<state>(user, std::move(how))) {}
communicator::~communicator() = default;
communicator::communicator(communicator&&) noexcept = default;
communicator& communicator::operator=(communicator&&) noexcept = default;

int communicator::rank() const { return state_->rank(); }
int communicator::size() const { return state_->size(); }
const std::vector<std::int32_t>& communicator::hosts() const { return state_->hosts(); }
const std::shared_ptr<const graph>& communicator::neighbours() const { return state_->neighbours(); }
plan_statistics communicator::plans() const { return state_->plans(); }
const common_clock& communicator::clock() const { return state_->clock(); }
std::uint64_t communicator::begun_early() const { return state_->begun_early(); }
std::vector<time_ns> communicator::planned_by() const { return state_->planned_by(); }
void communicator::record_steps() { state_->record_steps(); }
std::vector<recorded_step> communicator::recorded_steps() const { return state_->recorded_steps(); }
void communicator::synchronise() { state_->synchronise(); }
void communicator::use_model(const model& network) { state_->use_model(network, nullptr); }
void communicator::use_model(const model& network, const model& inside) { state_->use_model(network, &inside); }
void communicator::use_rules(const rules& by) { state_->use_rules(by); }
const algorithm* communicator::last_used() const { return state_->last_used(); }
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

MPI_Comm looked_at_calls::comm() const { return on_.comm(); }
intent looked_at_calls::intent_of(const selection& how, const call_facts& c) const {
    try {
        return on_.intent_of(how, c);
    } catch (const mpi_error& e) {
        if (blames_argument(e.code())) throw;
        throw std::runtime_error(e.what());
    }
}
void looked_at_calls::run(const intent& what, const call_facts& c) { on_.run_as(what, c); }
void looked_at_calls::start(const intent& what, const call_facts& c, teller ended) {
    on_.start_as(what, c, std::move(ended));
}
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
bool looked_at_calls::end() { return on_.end(); }
bool looked_at_calls::wake() { return on_.wake(); }
void looked_at_calls::rest() { on_.rest(); }

request communicator::start(const selection& how, const call& c) { return {*state_, state_->start(how, c)}; }

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
    started_call* const asked = std::exchange(call_, nullptr);  // void if it throws
    if (where_->test(*asked)) return true;
    call_ = asked;
    return false;
}
void request::wait() {
    if (call_ != nullptr) where_->wait(*std::exchange(call_, nullptr));
}

persistent_call communicator::prepare(const selection& how, const call& c) { return {*this, how, c}; }

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
