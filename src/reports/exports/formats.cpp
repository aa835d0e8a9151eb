#include "reports/exports/formats.hpp"

#include "dropin/observe/held_up.hpp"
#include "reports/report/output.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <sstream>

namespace rubato::reports {
namespace {

/// The output is opened first: a name at which nothing can be written is found before a long trace is read.
template <void (*Write)(const trace&, const piece_taker&)>
std::optional<written_trace> write_trace(const std::string& file, const std::string& output) {
    const base::output_file out(output);
    written_trace t{read_trace(file)};
    out.write([&](const piece_taker& put) { Write(t.what, put); });
    t.calls = calls_in(t.what);
    return t;
}

std::optional<written_trace> write_archive(const std::string& file, const std::string& output) {
    written_trace t{read_trace(file)};
    write_otf2(t.what, output);
    t.calls = calls_in(t.what);
    return t;
}

std::optional<written_trace> write_sums(const std::string& file, const std::string& output) {
    const base::output_file out(output);
    out.write(prometheus_text(dropin::read(file)));
    return std::nullopt;
}

std::optional<written_trace> write_program(const std::string& file, const std::string& output) {
    const base::output_file out(output);
    written_trace t{read_trace(file)};
    out.write([&](const piece_taker& put) { t.calls = write_goal(t.what, dropin::read(file), file, put); });
    return t;
}

std::string sample_table(std::span<const run> runs) {
    std::ostringstream text;
    write_csv(text, runs);
    return text.str();
}

}  // namespace

std::span<const export_format> export_formats() {
    static constexpr std::array rows{
        export_format{"otf2", "for Vampir, Scalasca and otf2-print", write_archive, nullptr},
        export_format{"perfetto", "for ui.perfetto.dev", write_trace<write_perfetto>, nullptr},
        export_format{"csv",
                      "a line per call and rank, times\nin nanoseconds from the beginning; of measurements, as 'rubato "
                      "report --csv'",
                      write_trace<write_csv>, sample_table},
        export_format{"prometheus", "sums for the textfile\ncollector of node exporter", write_sums, prometheus_text},
        export_format{"goal", "computing, and calls as messages, for LogGOPSim and 'rubato goal read'", write_program,
                      nullptr}};
    return rows;
}

std::span<const import_format> import_formats() {
    static constexpr std::array rows{
        import_format{"otf2", ".otf2", true,
                      "the collectives that block, at the place that 'rubato export' noted, or else in the function "
                      "around the\ncall. ",
                      read_otf2},
        import_format{
            "csv", ".csv", false,
            "a line of column names, then a line per call and rank:\n"
            "  rank, collective (allreduce, MPI_Allreduce), arrival_ns, exit_ns (or _us, _ms, _s), which all must be "
            "there;\n"
            "  bytes (of the vector, or of one rank's chunk), root, place, host, form (blocking, nonblocking, "
            "persistent),\n"
            "  communicator (any name), members (its ranks, such as 0-7 12; otherwise those that call on it), call "
            "(its\n"
            "  number on the communicator; otherwise calls are counted in their order).\n"
            "Other columns, and lines that begin with #, are left out.\n",
            read_csv}};
    return rows;
}

std::uint64_t calls_in(const trace& t) { return t.calls - std::min(t.calls, t.missing); }

std::string missing_text(const trace& t) {
    return t.missing > 0 ? fmt::format("{} of {} calls are missing", t.missing, t.calls) : "";
}

std::string rank_text(const trace& t, std::int32_t rank) {
    const std::string& host = t.hosts[static_cast<std::size_t>(rank)];
    return host.empty() ? fmt::format("rank {}", rank) : fmt::format("rank {} on {}", rank, host);
}

std::string members_field(std::span<const std::int32_t> members) {
    return fmt::format("{}", fmt::join(dropin::runs_of_ranks(members), " "));
}

std::vector<std::uint32_t> lanes_of(std::span<const traced_call> calls) {
    std::vector<std::uint32_t> lanes;
    std::vector<time_ns> ends;
    lanes.reserve(calls.size());
    for (const traced_call& c : calls) {
        const auto free = std::ranges::find_if(ends, [&](time_ns end) { return end <= c.arrival; });
        lanes.push_back(static_cast<std::uint32_t>(free - ends.begin()));
        if (free == ends.end())
            ends.push_back(c.exit);
        else
            *free = c.exit;
    }
    return lanes;
}

}  // namespace rubato::reports
