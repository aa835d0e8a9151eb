// What a program called, call by call on one time line: from every call that was kept, or from the samples of an
// observation.
#pragma once

#include "dropin/observe/observation.hpp"
#include "simulator/programs/program.hpp"

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace rubato::reports {

struct traced_communicator {
    std::vector<std::int32_t> members{};  ///< ranks in the world
    std::uint32_t ordinal = 0;            ///< among those with the same members
};

struct traced_call {
    time_ns arrival{};  ///< since the trace's beginning, on the common clock
    time_ns exit{};
    std::int64_t bytes = 0;
    std::uint64_t invocation = 0;  ///< among the calls of the communicator; or observe::no_invocation
    std::uint32_t communicator = 0;
    std::uint32_t place = 0;
    std::int32_t root = 0;
    collective what = collective::barrier;
    dropin::form how = dropin::form::blocking;
};

struct trace {
    std::string program{};
    std::string library{};
    std::vector<std::string> hosts{};  ///< of each rank
    std::vector<traced_communicator> communicators{};
    std::vector<std::string> places{};
    std::uint64_t calls = 0;    ///< of all ranks, that the program made
    std::uint64_t missing = 0;  ///< of these, not in the trace
    bool ended = true;          ///< false: the program was ended, or runs
    /// In the order of their arrivals. Read when they are asked for: one rank's fit into memory, all may not.
    std::function<std::vector<traced_call>(std::int32_t rank)> calls_of{};

    std::int32_t ranks() const { return static_cast<std::int32_t>(hosts.size()); }
    /// Keeps all calls in memory; sorts them.
    void keep(std::vector<std::vector<traced_call>> by_rank);
};

/// Numbers in the order of first use.
template <class Key>
class numbered {
public:
    std::uint32_t number(const Key& k) {
        const auto [found, added] = index_.emplace(k, static_cast<std::uint32_t>(all_.size()));
        if (added) all_.push_back(k);
        return found->second;
    }
    const std::vector<Key>& all() const { return all_; }

private:
    std::map<Key, std::uint32_t> index_{};
    std::vector<Key> all_{};
};

/// FILE.calls of an observation, what a program that did not end has left in FILE.parts, or else what the observation
/// has of single calls. Throws if the file cannot be read.
trace read_trace(const std::filesystem::path& file);

/// "MPI_Allreduce", "MPI_Iallreduce", "MPI_Allreduce_init" for a persistent one.
std::string function_of(collective what, dropin::form how);

// A trace as a program that the simulator plays, or that GOAL describes: what ranks computed between the calls that are
// in the trace, and these calls.

struct replay {
    simulator::program what{};
    time_ns took{};              ///< from the first arrival to the last exit that are in it
    std::uint64_t of_ranks = 0;  ///< calls in it, counted by each rank that takes part
};

/// The calls that all their ranks kept, except for those of neighbours, whose graph is not known. What is between them
/// counts as computing. Calls of one place whose sizes differ by less than a factor of two have their mean size.
/// `file` is named if the trace has too little; then it throws.
replay replay_of(const trace& t, const std::string& file);

/// The algorithms of Rubato that made calls: those that mode force was given, and those that mode auto has kept.
void set_algorithms(simulator::program& p, std::span<const dropin::decision> decisions);

}  // namespace rubato::reports
