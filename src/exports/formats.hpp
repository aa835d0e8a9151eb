// A trace, an observation or a measurement in the formats of other tools.
#pragma once

#include "exports/trace.hpp"
#include "files/output_file.hpp"
#include "results/results.hpp"

namespace rubato::exports {

using piece_taker = files::output_file::piece_taker;
/// Texts are handed over when they are longer.
inline constexpr std::size_t piece_size = std::size_t{1} << 20;

/// A line per call, after one of column names.
void write_csv(const trace& t, const piece_taker& put);
/// Perfetto's trace format: a track per rank, a slice per call.
void write_perfetto(const trace& t, const piece_taker& put);
/// OTF2, for Vampir, Scalasca and otf2-print: a folder with traces.otf2, which must be new or empty. Throws if Rubato
/// was built without the library.
void write_otf2(const trace& t, const std::filesystem::path& folder);

/// GOAL, for LogGOPSim and 'rubato goal read': computing as calc, calls as the messages of an algorithm. Returns how
/// many calls of ranks are in it; the others are calc. Throws if there are none.
std::uint64_t write_goal(const trace& t, const observe::observation& of, const std::string& file,
                         const piece_taker& put);

/// For the textfile collector of Prometheus's node exporter.
std::string prometheus_text(const observe::observation& o);
std::string prometheus_text(std::span<const results::run> runs);

/// For each of a rank's calls in the order of their arrivals, its lane: calls in one lane do not overlap. More than one
/// lane is needed if several threads call.
std::vector<std::uint32_t> lanes_of(std::span<const traced_call> calls);

/// "12 of 400 calls are missing", or nothing.
std::string missing_text(const trace& t);
/// "rank 3 on n1"
std::string rank_text(const trace& t, std::int32_t rank);

}  // namespace rubato::exports
