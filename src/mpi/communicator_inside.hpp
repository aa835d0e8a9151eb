// Inside a communicator: the player and its stage on a private communicator, under one lock.
#pragma once

#include "mpi/mpi_stage.hpp"
#include "mpi/private_communicator.hpp"
#include "mpi/process.hpp"
#include "mpi/process_topology.hpp"
#include "mpi/sparse.hpp"
#include "rubato/choose.hpp"
#include "rubato/mpi.hpp"
#include "rubato/tuned_rules.hpp"

#include <functional>
#include <mutex>
#include <optional>

namespace rubato::mpi {

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
    sparse_exchanges& sparse() { return sparse_; }
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
    intent intent_of(const selection& how, const call_facts& c) const;
    void expect(const named_call& o);
    void processing_start();
    void edge(double fraction);
    void processing_end();

    void run(const selection& how, const call& c);
    queued_call& start(const selection& how, const call& c);
    bool test(queued_call& c);
    void wait(queued_call& c);
    void progress();

private:
    friend class looked_at_calls;
    static made_call& made(queued_call& c) { return static_cast<mpi_call_resources&>(*c.resources).made; }
    /// Time since the communicator was made, on the clock that ranks share.
    time_ns now() const { return clock_.now() - epoch_; }
    player::settings agree_on(const settings& mine);
    void check_idle() const;

    queued_call& make();
    queued_call& make(const intent& what, const call_facts& c);
    queued_call& arrive(const selection& how, const call& c);
    void begin(queued_call& c);
    void enter_all(queued_call* awaited);
    bool advance(queued_call& c, bool wait);
    bool conclude(queued_call& c, bool wait);
    void forget(made_call& m);
    void skip(queued_call& c);
    bool end_told();
    void end_first();
    bool help();
    activity look(bool in_background);

    void begin_roll(roll_call::invocation i);
    std::optional<roll_call::verdict> await_verdict(bool wait);
    bool hear_verdict(made_call& m, bool wait);
    void end_roll();

    void watch();
    void stop_watching();
    void background_wake();
    void forsake();

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
    bool rolls_ = false;                           // roll was called before
    std::size_t calls_ = 0;                        // made_call::under_way
    std::size_t told_ = 0;                         // of these, those that nobody asks for
    std::optional<mutual_help::ticket> joined_{};  // others of this process go on with what is under way here,
    bool busy_ = false;                            // if something is
    automatic_choice choice_{};
    bool wants_background_;
    bool ended_ = false;
    std::optional<watch_id> watched_{};
    std::optional<time_ns> computing_since_{};
    int exceptions_ = std::uncaught_exceptions();
};

}  // namespace rubato::mpi
