// Inside a communicator: the player and its stage on a private communicator, under one lock.
#pragma once

#include "engine/mpi/mpi_stage.hpp"
#include "engine/mpi/private_communicator.hpp"
#include "engine/mpi/process.hpp"
#include "engine/mpi/process_topology.hpp"
#include "engine/mpi/sparse.hpp"
#include "rubato/choose.hpp"
#include "rubato/mpi.hpp"
#include "rubato/tuned_rules.hpp"

#include <functional>
#include <mutex>
#include <optional>

namespace rubato::engine {

/// How a communicator makes calls for which the program names no algorithm: by rules, by simulation under a model.
class automatic_choice {
public:
    void use(chooser by) { chooser_.emplace(std::move(by)); }
    void use(rules by) { rules_ = std::move(by); }

    /// See player::settings. Leaves the default where neither knows better. `hosts`: of the communicator.
    void choose(intent& what, std::span<const time_ns> last, const std::vector<std::int32_t>& hosts);

private:
    std::optional<chooser> chooser_{};
    rules rules_{};
};

struct named_call {
    intent what{};
    layout sizes{};
    bool rolls = false;  ///< its plan is not known before the roll was called
};

}  // namespace rubato::engine

namespace rubato::mpi {

class communicator::state {
public:
    state(MPI_Comm user, settings how);
    ~state();
    state(const state&) = delete;
    state& operator=(const state&) = delete;

    /// Ends what is under way here, without waiting for other ranks; false if there is something left. All ranks call
    /// it until it is true, each when it likes. No other call may follow. Throws if a call has failed here.
    bool end();

    MPI_Comm comm() const { return comm_.get(); }
    engine::sparse_exchanges& sparse() { return sparse_; }
    int rank() const { return rank_; }
    int size() const { return size_; }
    const std::vector<std::int32_t>& hosts() const { return hosts_; }
    const std::shared_ptr<const graph>& neighbours() const { return neighbours_; }
    const common_clock& clock() const { return clock_; }
    template <class Question>
    auto ask_player(Question q) {
        const std::lock_guard lock(mutex_);
        return std::invoke(q, std::as_const(*player_));
    }
    void record_steps();
    std::vector<recorded_step> recorded_steps();
    void synchronise();
    void use_model(const model& network, const model* inside);
    void use_rules(const rules& by);

    outline outline_of(const selection& how, const call& c) const;
    engine::intent intent_of(const selection& how, const engine::call_facts& c) const;
    void expect(const engine::named_call& o);
    void processing_start();
    void edge(double fraction);
    void processing_end();

    void run(const selection& how, const call& c);
    engine::queued_call& start(const selection& how, const call& c);
    bool test(engine::queued_call& c);
    void wait(engine::queued_call& c);
    void progress();

private:
    friend class engine::inner_communicator;
    static engine::made_call& made(engine::queued_call& c) {
        return static_cast<engine::mpi_call_resources&>(*c.resources).made;
    }
    /// Time since the communicator was made, on the clock that ranks share.
    time_ns now() const { return clock_.now() - epoch_; }
    engine::player::settings agree_on(const settings& mine);
    void check_idle() const;

    engine::queued_call& make();
    engine::queued_call& make(const engine::intent& what, const engine::call_facts& c);
    engine::queued_call& arrive(const selection& how, const call& c);
    void begin(engine::queued_call& c);
    void enter_all(engine::queued_call* awaited);
    bool advance(engine::queued_call& c, bool wait);
    bool conclude(engine::queued_call& c, bool wait);
    void forget(engine::made_call& m);
    void skip(engine::queued_call& c);
    bool end_told();
    void end_first();
    bool help();
    engine::activity look(bool in_background);

    void begin_roll(engine::roll_call::invocation i);
    std::optional<engine::roll_call::verdict> await_verdict(bool wait);
    bool hear_verdict(engine::made_call& m, bool wait);
    void end_roll();

    void watch();
    void stop_watching();
    void background_wake();
    void forsake();

    std::mutex mutex_{};
    engine::private_communicator comm_;
    int rank_;
    int size_;
    std::vector<std::int32_t> hosts_{};
    std::shared_ptr<const graph> neighbours_{};
    engine::degrees degrees_{};
    engine::tag_layout tags_;
    time_ns quantum_{};
    common_clock clock_;
    sync_settings sync_{};
    time_ns epoch_{};
    engine::mpi_stage stage_;
    std::optional<engine::player> player_{};
    engine::sparse_exchanges sparse_{comm_.get(), tags_};
    engine::roll_call roll_{rubato::rank(rank_), size_, stage_.roll_post()};
    bool rolls_ = false;                                   // roll was called before
    std::size_t calls_ = 0;                                // made_call::under_way
    std::size_t told_ = 0;                                 // of these, those that nobody asks for
    std::optional<engine::mutual_help::ticket> joined_{};  // others of this process go on with what is under way here,
    bool busy_ = false;                                    // if something is
    engine::automatic_choice choice_{};
    bool wants_background_;
    bool ended_ = false;
    std::optional<engine::watch_id> watched_{};
    std::optional<time_ns> computing_since_{};
    int exceptions_ = std::uncaught_exceptions();
};

}  // namespace rubato::mpi
