// What all processes of a program saw, put together: a row per communicator, operation and place of the call.
//
// As a file, it is one JSON object per line, whose "kind" says what it is: first an observation, then
// communicators, sites, rows, what was recalled, decisions. The first tells how many lines there are. Times are whole
// nanoseconds.
#pragma once

#include "dropin/direct/learned.hpp"
#include "dropin/observe/notes.hpp"
#include "dropin/observe/part.hpp"

#include <iosfwd>
#include <optional>

namespace rubato::dropin {

/// A rank of the communicator, and the share of the invocations in which it was, say, the last.
struct who_often {
    std::int32_t rank = -1;
    double share = 0;
};

/// How well the best of our predictors could have predicted the arrivals.
struct predictability {
    std::string predictor{};  ///< empty: nothing could be tried
    time_ns error{};          ///< mean, of a rank's arrival
    time_ns deviation{};      ///< the error of predicting that all arrive together, at their median
    double last_right = 0;    ///< share of the invocations whose last rank was the predicted one

    /// The share of the differences between ranks that was predicted: 1 is all, 0 nothing.
    double share() const;
};

/// One invocation, from its first arrival on.
struct invocation {
    std::uint64_t number = 0;  ///< among the calls of the communicator
    std::vector<time_ns> arrivals{};
    std::vector<time_ns> exits{};
    /// Of each rank, from its call before, on any communicator, to its arrival; empty if not known of all.
    std::vector<time_ns> outside{};
    time_ns at{};  ///< the first arrival, on the common clock
};

/// An invocation in short.
struct brief {
    std::uint64_t number = 0;
    std::int32_t last = -1;  ///< rank of the communicator; -1: all arrived together
    time_ns waited{};        ///< until the last arrived, mean over the ranks
};

/// How late ranks were: a row of cells per rank or group of neighbouring ranks, a column per invocation or group of
/// successive ones. A cell has the mean, over its invocations, of the latest of its ranks.
struct lateness_map {
    std::int32_t ranks = 1;                ///< in a cell, at most
    std::vector<std::uint64_t> numbers{};  ///< of each column's first invocation
    std::vector<std::size_t> counts{};     ///< invocations of each column
    std::vector<std::vector<time_ns>> columns{};
};

/// Computed from invocations that all ranks kept. Medians unless something else is said.
struct arrivals_seen {
    std::size_t invocations = 0;
    time_ns run_time{};   ///< first arrival to last exit
    time_ns tail{};       ///< last arrival to last exit
    time_ns imbalance{};  ///< first to last arrival, mean
    double waiting = 0;   ///< share of the time in the call before the last rank arrived
    who_often first{};
    who_often last{};
    predictability predictable{};
    std::vector<time_ns> pattern{};      ///< each rank's arrival, from the earliest on
    lateness_map map{};                  ///< of all of them
    std::vector<brief> all{};            ///< in their order
    std::vector<invocation> examples{};  ///< some of them, at random, in their order
};

struct row {
    std::size_t communicator = 0;  ///< of the observation's
    std::size_t site = 0;          ///< of the observation's
    collective what = collective::barrier;
    form how = form::blocking;
    std::int32_t root = 0;
    std::uint64_t calls = 0;   ///< of the rank with most
    std::int32_t callers = 0;  ///< ranks that called from there
    std::int64_t bytes = 0;    ///< of a call, mean
    time_ns time{};            ///< in the call, sum over the ranks
    time_ns median{};          ///< in the call, of those that were kept; 0 if none was
    // Of calls that do not block, see part_row; sums over the ranks.
    std::uint64_t ended = 0;
    time_ns apart{};
    time_ns waited{};
    std::optional<arrivals_seen> seen{};
};

struct communicator {
    std::vector<std::int32_t> members{};  ///< ranks in the world
    std::uint32_t count = 1;              ///< communicators with these members
};

struct observation {
    std::string program{};
    std::string library{};
    std::int32_t ranks = 0;
    std::vector<std::string> hosts{};  ///< of each rank; empty where nothing is known
    std::string mode{};                ///< of the drop-in
    bool ended = true;                 ///< false: made from the parts of a program that was ended, or still runs
    std::int32_t running = 0;          ///< ranks that run on a host from where that can be seen
    run_begun begun{};
    time_ns duration{};         ///< from MPI_Init to MPI_Finalize, or as far as is known
    std::int32_t parts = 0;     ///< ranks of which something is known
    std::string model{};        ///< of the network, if the program noted one
    profile_read profile{};     ///< of earlier runs
    std::uint64_t lost = 0;     ///< calls that are in no row, for lack of room
    bool every_call = false;    ///< is in FILE.calls
    std::uint64_t missing = 0;  ///< calls that are not in there, for lack of room
    std::vector<communicator> communicators{};
    std::vector<site> sites{};
    std::vector<row> rows{};               ///< most time first
    std::vector<recalled> from_profile{};  ///< by which directors began
    std::vector<decision> decisions{};

    /// Empty where nothing is known.
    std::string host_of(std::int32_t rank) const {
        const auto at = static_cast<std::size_t>(rank);
        return rank >= 0 && at < hosts.size() ? hosts[at] : std::string();
    }
};

// What the arrivals of several invocations have in common.

time_ns median_time(std::span<const double> ns);

/// Everything except `waiting`. Needs at least one invocation, with times from its first arrival on, of `calls` calls.
arrivals_seen describe(std::vector<invocation> met, std::uint64_t calls);

/// An invocation in short.
brief in_short(const invocation& m);
/// Needs at least one.
lateness_map map_of(std::span<const invocation> met);

/// Parts of one program; parts with ranks that the first part's program does not have are left out.
observation summarise(std::span<const part> parts);

/// Throws if it cannot be written; then the file is as it was.
void write(const observation& o, const std::filesystem::path& file);
/// A file that `write` wrote; or, if there is none or it is older, what FILE.parts has of a program that did not end.
/// Throws if there is neither.
observation read(const std::filesystem::path& file);
/// Whether a file, or its parts, is an observation, by its beginning.
bool is_observation(const std::filesystem::path& file);

}  // namespace rubato::dropin
