// Transfers that share a network's cables, as time goes on: fairly, or those of one endpoint in turn.
//
// In turn means as an interface sends that has a queue: a transfer gets what the ones before it leave free. So of those
// that are the first of their endpoints, each has its fair share; then the second ones share what is left, and so on.
#pragma once

#include "rubato/simulate.hpp"
#include "schedules/schedule/shapes.hpp"
#include "simulator/topology/congestion.hpp"

namespace rubato::simulator {

/// Which share of a cable's rate each of several transfers gets: progressive filling. All rates grow together until a
/// channel is full; the transfers on it keep their rates, and the others go on.
class fair_shares {
public:
    /// Every channel has rate 1.
    explicit fair_shares(channel channels) : left_(channels, 1), count_(channels, 0), first_(channels) {}

    /// Of each path, its rate, at most 1; of one without channels 1. They share what those of earlier calls have left.
    const std::vector<double>& of(std::span<const std::span<const channel>> paths);
    /// All channels are empty again.
    void reset();

private:
    struct candidate {
        double share;
        channel c;
        bool operator>(const candidate& other) const { return share > other.share; }
    };

    std::vector<double> rates_{};
    std::vector<double> left_;          // of a channel's rate
    std::vector<std::uint32_t> count_;  // paths on it whose rate still grows
    std::vector<std::uint32_t> first_;  // of its paths in on_
    std::vector<channel> used_{};
    std::vector<channel> taken_{};  // in earlier calls, perhaps several times
    std::vector<std::uint32_t> on_{};
    std::vector<candidate> heap_{};
};

class RUBATO_API flows {
public:
    /// A transfer that is alone needs so long for a byte.
    flows(const routes& r, double ns_per_byte) : routes_(&r), ns_per_byte_(ns_per_byte), shares_(r.net().channels()) {}

    /// Begins now. Some channels must lie between the endpoints, and there must be bytes. `id` is for the caller.
    void start(vertex from, vertex to, double bytes, std::uint64_t id, bool in_turn = false);

    static constexpr std::int64_t never = INT64_MAX;
    /// When the next transfer ends, if none begins before.
    std::int64_t next_end();
    /// Time goes on until then, and not beyond the next end. The transfers that have ended are told.
    void run_until(std::int64_t time, std::vector<std::uint64_t>& ended);

    /// The rates of all transfers now under way, and their channels.
    struct transfer {
        std::vector<channel> path{};
        double left = 0;  ///< bytes
        double rate = 0;  ///< share of a channel
        std::uint64_t id = 0;
        bool in_turn = false;
    };
    std::span<const transfer> under_way();

private:
    void share();

    const routes* routes_;
    double ns_per_byte_;
    fair_shares shares_;
    std::vector<transfer> all_{};         // in the order in which they began
    std::vector<std::uint32_t> ahead_{};  // while shares are computed: those in turn, by where they begin
    std::int64_t now_ = INT64_MIN;
    bool changed_ = false;
};

// When does each rank leave, if messages share the cables of a network? The simulation of rubato/simulate.hpp with
// transfers in place of fixed times: a message alone on its cables takes what the model says; several on one cable
// share its rate fairly. Ranks on one endpoint share its cable by the same means.

/// The heads of simulator/simulate/hockney.cpp, loggp.cpp and loggops.cpp say what a model does on cables. Messages
/// between ranks on one endpoint use no cable and take as long as one that is alone, or what `options.inside` says;
/// `options.hosts` does not matter. Throws if the schedules deadlock.
RUBATO_API simulation simulate_on(const routes& r, const mapping& where, const model& m, schedules::shape_table& ranks,
                                  std::span<const time_ns> arrivals, const simulation_options& options = {});

}  // namespace rubato::simulator
