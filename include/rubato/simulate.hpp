// When does each rank leave? Runs schedules under a cost model for given arrivals. Deterministic, in integers.
#pragma once

#include "rubato/layout.hpp"
#include "rubato/model.hpp"
#include "rubato/noise.hpp"

#include <span>
#include <string>
#include <vector>

namespace rubato {

struct simulation {
    std::vector<time_ns> exits{};               ///< when each rank has done its last step, never before its arrival
    std::vector<std::vector<span_ns>> steps{};  ///< when each step of each rank ran, if asked for
};

/// How many times as long as usual something takes, of each rank: at least 1. Empty: all ranks are alike.
struct slow_ranks {
    std::vector<double> processors{};  ///< overheads, combining and computing
    std::vector<double> links{};  ///< what a message takes of the interfaces of both sides: that of the slower link
};

/// `rank=3,factor=2` or `link=3,factor=2`, each also after `slow:`. Throws if one makes no sense.
RUBATO_API slow_ranks parse_slow(std::span<const std::string> texts, std::int32_t ranks);

struct simulation_options {
    bool record_steps = false;
    /// Start steps that do not need the rank's data before the rank arrives (a progress thread does them), but not
    /// before the first rank arrives.
    bool early = false;
    /// Of each rank, as problem::hosts has it, and what a message within a host costs: a model of the same kind, on the
    /// same ports. Without them all messages cost the same.
    std::span<const std::int32_t> hosts{};
    const model* inside = nullptr;
    /// Of the ranks' processors; LogGP models only, as others have none. Null: none.
    const noise* detours = nullptr;
    /// Null: none.
    const slow_ranks* slow = nullptr;
    /// Messages between hosts go through one interface of each host, and not of each rank. Only models whose ranks have
    /// interfaces, which are loggp and loggops.
    bool shared_links = false;
    /// Cores that may be used. The result does not depend on it.
    unsigned cores = 1;
};

/// `layouts`: one for all ranks, or one per rank; its units are bytes. Throws if the schedules deadlock.
RUBATO_API simulation simulate(const model& m, std::span<const schedule> all, std::span<const layout> layouts,
                               std::span<const time_ns> arrivals, const simulation_options& options = {});

}  // namespace rubato
