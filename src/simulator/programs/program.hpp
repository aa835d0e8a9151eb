// Programs: what ranks compute, and which collectives they call, one after the other.
#pragma once

#include "rubato/algorithm.hpp"
#include "rubato/model.hpp"
#include "rubato/simulate.hpp"
#include "schedules/schedule/shapes.hpp"
#include "simulator/simulate/bound.hpp"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::simulator {

/// A call of a collective, as a program has it in one place.
struct program_call {
    std::string place{};  ///< where the program has it: "line 5"
    collective what = collective::barrier;
    const algorithm* use = nullptr;  ///< null: by the plan, or the one that suits the network
    std::int64_t chunk = 0;          ///< bytes of the vector, or of each rank's chunk
    rank root{};
    std::uint32_t segments = 0;  ///< 0: those that suit the network
    std::shared_ptr<const graph> neighbours{};
    std::string graph_text{};             ///< whose they are
    std::vector<std::int32_t> members{};  ///< ranks that take part; empty: all
    bool blocking = true;                 ///< false: what follows does not wait for its end
};

/// Before a call each of its ranks computes for its time.
struct program_event {
    std::size_t call = 0;  ///< of program::calls; as many as there are: none, ranks only compute
    std::vector<time_ns> computing{};
};

struct program {
    std::int32_t ranks = 0;
    std::vector<program_call> calls{};
    std::vector<program_event> events{};
};

/// Reads the text form, which docs/simulator.md describes. `ranks` 0: those that the text says. Throws, naming the
/// line.
RUBATO_API program parse_program(std::string_view text, const std::string& name, std::int32_t ranks);
/// The same of a file.
RUBATO_API program read_program(const std::string& file, std::int32_t ranks);

/// The rank computes as long as the median of the others, each time.
RUBATO_API void even_out(program& p, std::size_t rank);
/// The rank that computes longest.
RUBATO_API std::size_t slowest_rank(const program& p);

/// An algorithm for each collective of which the program does not say which.
using program_plan = std::map<collective, const algorithm*>;

/// Of a program_call: means over its events.
struct played_call {
    std::string_view id{};  ///< of the algorithm
    std::uint32_t segments = 1;
    time_ns round_time{};  ///< that the algorithm plans by
    std::int64_t count = 0;
    time_ns imbalance{};  ///< first to last arrival
    time_ns run_time{};   ///< first arrival to last exit
    time_ns tail{};       ///< last arrival to last exit
};

struct played_program {
    std::vector<time_ns> exits{};
    std::vector<time_ns> computing{};  ///< sums, with noise and slow processors
    std::vector<played_call> calls{};
    std::int64_t messages = 0;
};

/// Simulates the steps of all ranks.
using program_simulator =
    std::function<simulation(schedules::shape_table&, std::span<const time_ns> arrivals, const simulation_options&)>;

/// All events in one simulation: a rank's exit from one call is where it begins to compute for the next. An algorithm
/// that plans by arrivals knows how long each rank computes before the call. Throws if it would be too large, or if an
/// algorithm cannot do it.
/// `by`: instead of the simulation under the model.
RUBATO_API played_program play(const program& p, const model& network, const program_plan& plan,
                               const simulation_options& how, const program_simulator& by = {});

/// When the last rank can end at the earliest, on links like this one, where ranks may run ahead of each other as far
/// as their calls allow: the longest sum over ranks of computing and own link time where calls have roots, and of last
/// arrivals and what comes after them elsewhere.
RUBATO_API time_ns earliest_end(const program& p, const link& l);

/// The same events as GOAL text, handed over in pieces: computing is calc, calls are the messages of their algorithms.
/// Throws as `play` does.
RUBATO_API void write_goal(const program& p, const model& network, const program_plan& plan,
                           const std::function<void(std::string_view)>& put);

}  // namespace rubato::simulator
