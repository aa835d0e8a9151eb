// Cost models: what a message, a combination and an operation cost in time, energy and memory.
#pragma once

#include "rubato/core.hpp"

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace rubato {

/// Marendic et al. 2016, Definition 3.1: one send and one receive at a time, full duplex, no buffering, no
/// communication while combining. Each port serves its steps in the schedule's order. Nanoseconds (per byte).
struct hockney {
    double alpha = 0;
    double beta = 0;
    double gamma = 0;

    bool operator==(const hockney&) const = default;
};

/// Hoefler 2008, II.2: a message of s bytes takes L + 2o + (s-1)G; its sender's network is busy for g + (s-1)G.
/// With more than one message free, or o between two bounds, this is LogfGP (II.2.3).
struct loggp {
    double L = 0;
    double o = 0;  ///< of a message by itself
    double g = 0;
    double G = 0;
    double combine = 0;  ///< per byte
    std::int64_t rendezvous =
        std::numeric_limits<std::int64_t>::max();            ///< messages this large wait for their receiver
    std::int32_t f = 1;                                      ///< so many messages in a row leave before the gap counts
    double o_min = std::numeric_limits<double>::infinity();  ///< of a message right after others, if that is less

    bool is_logfgp() const { return *this != loggp{L, o, g, G, combine, rendezvous}; }
    double least_o() const { return o_min < o ? o_min : o; }

    bool operator==(const loggp&) const = default;
};

/// Hoefler & Moor 2014: a message takes L + 2o + sG and keeps its sender busy for o + sG; computing is free.
struct loggp5 {
    double L = 0;
    double o = 0;
    double G = 0;

    bool operator==(const loggp5&) const = default;
};

/// Hoefler, Schneider & Lumsdaine 2010, as LogGOPSim has it, with O = 0: the processor of the receiver is busy for
/// o + (s-1)G with every message, whether or not a receive waits for it. Messages larger than S end at their sender
/// when the receiver takes them.
struct loggops {
    double L = 0;
    double o = 0;
    double g = 0;
    double G = 0;
    std::int64_t S = std::numeric_limits<std::int64_t>::max();
    double combine = 0;  ///< per byte

    bool operator==(const loggops&) const = default;
};

struct model {
    std::variant<hockney, loggp, loggp5, loggops> network{};
    // Hoefler & Moor 2014, 4.2.
    double message_energy = 16.5e-6;  ///< J per message (e)
    double byte_energy = 8.1e-9;      ///< J per byte (E)
    double static_power = 0.5;        ///< W of each rank
    std::int64_t descriptor = 32;     ///< bytes per message a rank sends

    bool operator==(const model&) const = default;
};

/// `loggp:L=2.5us,o=1.5us,g=1us,G=0.6ns[,combine=0.1ns][,rendezvous=64KiB]`,
/// `logfgp:L=2.5us,omin=0.2us,omax=1.5us,g=1us,G=0.6ns,f=10[,...]`, `loggp5:L=..,o=..,G=..`,
/// `loggops:L=..,o=..,g=..,G=..[,S=65535][,combine=..]`, `hockney:alpha=2.66us,beta=0.48179ns,gamma=0.16654ns`, each
/// with optional
/// `e=16.5uJ,E=8.1nJ,static=0.5W,descriptor=32`; a preset name; or `file:NAME`, the first such line of a file, or
/// `file:NAME,hockney` (loggp, logfgp, loggp5), the first of that kind. Lines that begin with # are comments.
RUBATO_API model parse_model(std::string_view text);
/// Joules of a text such as 16.5uJ.
RUBATO_API double parse_energy(std::string_view text);
/// The model in the form that parse_model reads.
RUBATO_API std::string to_string(const model& m);
/// The same without energy and memory.
RUBATO_API std::string network_text(const model& m);

struct preset {
    std::string_view name;
    std::string_view text;
    std::string_view source;
};
RUBATO_API std::span<const preset> presets();

/// The nearest model in which a message of m bytes takes alpha + m beta, and combining it m gamma. Of a LogGP network,
/// alpha is L + 2o, or g if that is longer, as no rank can send more often.
RUBATO_API hockney linear_costs(const model& m);
/// With how many segments ceil(log2 P) + N - 1 rounds are over soonest: sqrt((ceil(log2 P) - 1) m (beta + gamma) /
/// alpha) (Marendic et al. 2016, 5.2).
RUBATO_API double ideal_segments(const model& m, std::int32_t ranks, std::int64_t bytes);
/// The same as a number of segments: whole, at least 1, and not more than there are bytes or than 4096.
RUBATO_API std::uint32_t optimal_segments(const model& m, std::int32_t ranks, std::int64_t bytes);
/// How long a round takes in which such a segment is sent and combined: alpha + bytes (beta + gamma), at least 1 ns.
RUBATO_API time_ns segment_time(const model& m, std::int64_t bytes);
/// The round time to plan with where rounds are not simulated: half as long again. Real rounds are longer because of
/// messages both ways, ranks that share cores and waiting for others. A plan whose rounds take longer than it assumes
/// is not finished with the early ranks when the late ones arrive; if rounds take less, little is lost.
RUBATO_API time_ns cautious_round_time(const model& m, std::int64_t bytes);

}  // namespace rubato
