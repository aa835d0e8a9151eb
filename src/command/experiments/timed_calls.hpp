// Calls whose ranks arrive at given times, timed on a clock that all ranks share.
#pragma once

#include "command/experiments/contestants.hpp"
#include "command/experiments/experiment.hpp"
#include "command/experiments/world.hpp"
#include "simulator/simulate/bound.hpp"

namespace rubato::command {

class timed_calls {
public:
    enum class start_by { window, barrier };
    enum class delay_by { sleep, spin };
    struct settings {
        start_by start = start_by::window;
        delay_by delay = delay_by::sleep;
        /// With a window: if a rank arrives later than planned by more than this, the call is not valid.
        time_ns tolerance = std::chrono::milliseconds(1);
        /// How algorithms know when ranks arrive: "perfect", or a predictor with exchanged arrivals.
        std::string prediction = "perfect";
        /// Early forms begin when another rank announces them, not when their own rank names them.
        bool announced = false;
    };
    /// Over `world`, collective.
    explicit timed_calls(settings how);

    /// The link between ranks 0 and 1, in its faster direction, as bounds use it; nothing for a single rank.
    simulator::link measure_link();
    /// Clocks drift apart: call it now and then.
    void synchronise() { plain_.synchronise(); }
    /// The largest possible error of the clocks.
    time_ns clock_error() const { return time_ns(among_ranks(plain_.clock().error_bound().count(), MPI_MAX)); }

    /// Predictors forget what they have learned.
    void forget() { living_.clear(); }

    /// All ranks return from it together, as calls start; returns how late this rank is.
    time_ns start_together() const;
    /// Whether no rank was too late. Collective.
    bool punctual(time_ns late) const;

    struct outcome {
        reports::sample seen{};
        std::string wrong{};                                       ///< what a rank says of its result
        std::vector<std::vector<reports::timeline_step>> steps{};  ///< of each rank, on rank 0, if asked for
    };
    /// Calls once. If a rank was late, the sample says so and is not valid.
    outcome run(const contestant& c, experiment& e, const std::vector<time_ns>& arrivals, bool with_steps = false);

private:
    time_ns now() const { return plain_.clock().now(); }
    void pass_time_until(time_ns t) const;
    time_ns start_time() const;
    bool uses_predictor(const contestant& c) const;
    std::vector<std::vector<reports::timeline_step>> gather_steps(const std::vector<recorded_step>& mine,
                                                                  time_ns start) const;

    settings how_;
    int me_ = own_rank();
    int ranks_ = count_ranks();
    mpi::communicator plain_;  // without a background thread
    std::map<std::string, mpi::communicator> living_{};
    casting_communicators casting_{plain_};
    native_communicators native_{};
    std::uint64_t number_ = 0;  // of the call, and in its data
};

}  // namespace rubato::command
