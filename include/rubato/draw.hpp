// Who talks to whom when: all ranks' schedules as text or as an SVG picture.
#pragma once

#include "rubato/problem.hpp"
#include "rubato/schedule.hpp"

#include <span>
#include <string>
#include <vector>

namespace rubato {

/// A message, by the steps that send and receive it.
struct message {
    rank from{};
    rank to{};
    std::uint32_t send = 0;  ///< step of `from`
    std::uint32_t recv = 0;  ///< step of `to`
    std::int64_t round = 0;  ///< 1 is the first
    /// The data that it carries, wherever that is in memory: the number of each block in the buffer that has a chunk
    /// per rank (in alltoall, the buffer of its last receiver), else in the input.
    std::vector<block> blocks{};
};

/// The steps of all ranks in time, when a message takes a round and everything else no time. In a round a rank sends
/// one message and receives one, in the order of its steps, each as soon as both sides are ready.
struct timetable {
    std::int64_t rounds = 0;
    std::uint32_t blocks = 1;                       ///< how many different ones there are to carry
    std::vector<message> messages{};                ///< by round, then receiver, then sender
    std::vector<std::vector<std::int64_t>> ends{};  ///< rank, step -> the round in which it ends
};
/// Throws if some message is never sent or never received, or if the schedules wait for each other in a circle.
RUBATO_API timetable make_timetable(const problem& p, std::span<const schedule> all);
/// What a message carries: "3", "4-7" (also around the end: "6-1"), "x4" if they do not lie together; nothing if there
/// is only one block.
RUBATO_API std::string block_label(const timetable& t, const message& m);

struct drawing {
    std::string_view title{};
    const problem& p;
    std::span<const schedule> all{};
    /// When each step of each rank ran, from a simulation; empty: in rounds.
    std::span<const std::vector<span_ns>> times{};
    /// Of each rank, when `times` is given.
    std::span<const time_ns> arrivals{};
    std::string_view note{};  ///< what else a picture's subtitle should say
};

/// The messages of each round, and a picture of them if it is not too large.
RUBATO_API std::string draw_text(const drawing& d);
/// Lanes of ranks, time from left to right. Readable on light and dark.
RUBATO_API std::string draw_svg(const drawing& d);

struct bar {
    std::string label{};
    time_ns run_time{};
    time_ns tail{};  ///< the part of it after the last arrival
};
/// Compares run times.
RUBATO_API std::string draw_bars(std::string_view title, std::string_view subtitle, std::span<const bar> bars);

}  // namespace rubato
