// A trace, an observation or a measurement in the formats of other tools, and traces made by others as observations of
// a program.
#pragma once

#include "base/files/output_file.hpp"
#include "reports/exports/trace.hpp"
#include "reports/results/results.hpp"

namespace rubato::reports {

/// A trace that was written, and how many of its calls are calls in the format as well.
struct written_trace {
    trace what{};
    std::uint64_t calls = 0;
};

struct export_format {
    std::string_view name;
    std::string_view help;
    /// An observed program, from its file to the output. Nothing: the format has sums, and no calls.
    std::optional<written_trace> (*program)(const std::string& file, const std::string& output);
    /// Null: the format needs all calls on one time line, where measurements have none.
    std::string (*measurements)(std::span<const run> runs);
};
std::span<const export_format> export_formats();

struct import_format {
    std::string_view name;
    std::string_view extension;
    bool folders;  ///< a folder has this format, too
    std::string_view help;
    trace (*read)(const std::filesystem::path& file);
};
std::span<const import_format> import_formats();

using piece_taker = base::output_file::piece_taker;
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
std::uint64_t write_goal(const trace& t, const dropin::observation& of, const std::string& file,
                         const piece_taker& put);

/// For the textfile collector of Prometheus's node exporter.
std::string prometheus_text(const dropin::observation& o);
std::string prometheus_text(std::span<const run> runs);

/// The file traces.otf2 of a trace, or its folder. Collectives that block are read, with the place in the program: what
/// `rubato export` noted, or else the function around the call. Throws with the place of what is wrong.
trace read_otf2(const std::filesystem::path& file);
/// A line per call, after one of column names: rank, collective, arrival and exit, and what else there is of bytes,
/// root, communicator, members, call, place, host, form. Throws with the line of what is wrong.
trace read_csv(const std::filesystem::path& file);
/// As if the drop-in had seen it.
dropin::observation observe_trace(const trace& t);

/// For each of a rank's calls in the order of their arrivals, its lane: calls in one lane do not overlap. More than one
/// lane is needed if several threads call.
std::vector<std::uint32_t> lanes_of(std::span<const traced_call> calls);

/// Of `t.calls`, those that are in the trace.
std::uint64_t calls_in(const trace& t);
/// "12 of 400 calls are missing", or nothing.
std::string missing_text(const trace& t);
/// "rank 3 on n1"
std::string rank_text(const trace& t, std::int32_t rank);
/// "0-15", "0 2 4-7"
std::string members_field(std::span<const std::int32_t> members);

}  // namespace rubato::reports
