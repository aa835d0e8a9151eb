// The file of a measurement: one JSON object per line, whose "kind" says what it is.
//
//   run         the conditions: what is needed to repeat it. What follows belongs to it, up to the next one.
//   case        what was measured: collective, bytes, arrival pattern, ...
//   contestant  one way to do it, in a case
//   sample      one call: when each rank came and left
//   timeline    one call with the steps of every rank
//   overlap     one measurement of a non-blocking collective
//   done        a case is complete
//   clock       the clock was synchronised again, with its new error
//
// Times are whole nanoseconds. Lines are written as soon as they are known, so a file of an interrupted run is whole; a
// last line that is cut is left out. Each line has a checksum, see json_lines.hpp.
#pragma once

#include "base/files/json_lines.hpp"
#include "base/files/output_file.hpp"
#include "simulator/simulate/bound.hpp"

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rubato::reports {

struct conditions {
    std::string command{};
    std::string rubato{};  ///< version
    std::string compiler{};
    std::string mpi{};
    std::map<std::string, std::string> mpi_settings{};
    std::string system{};
    std::string cpu{};
    std::int32_t cores = 0;
    std::vector<std::string> hosts{};  ///< of each rank
    std::string started{};             ///< in UTC
    std::uint64_t seed = 0;
    std::string start{};  ///< "window" or "barrier"
    time_ns tolerance{};  ///< with "window": if a rank arrives later than planned by more, the sample is not valid
    std::string delay{};  ///< "sleep" or "spin"
    std::string prediction{};
    std::string computation{};  ///< beside which overlap was measured: "compute", "sleep"; else empty
    std::string model{};        ///< as parse_model reads it; empty if none was given
    simulator::link link{};     ///< as measured, between ranks 0 and 1
    time_ns clock_error{};

    std::int32_t ranks() const { return static_cast<std::int32_t>(hosts.size()); }
};

/// The conditions that influence times, by name. Not the model: unless it was given, it comes from a measurement.
std::map<std::string, std::string> decisive(const conditions& c);

struct measured_case {
    std::int32_t number = 0;  ///< in its run
    std::string collective{};
    std::int64_t bytes = 0;  ///< of the vector, or of the wider buffer in all
    std::string pattern{};
    std::string datatype{};
    std::string op{};
    std::int32_t root = 0;
    std::string graph{};  ///< of a neighbour collective
    std::string asked{};  ///< the contestants that were asked for, and how vectors are cut
    bool done = false;    ///< nothing is missing; there is a line for that
};
/// Whether they are equal apart from their numbers.
bool same(const measured_case& a, const measured_case& b);

struct contestant {
    std::int32_t in_case = 0;
    std::string name{};  ///< "reduce/chain@8KiB", "native", "native:pipeline@8KiB"
    std::string id{};    ///< of the algorithm; empty: the MPI library's
    std::uint32_t segments = 1;
    time_ns round_time{};  ///< that its plan used
};

/// The purpose of a sample.
enum class stage {
    warmup,   ///< a first call
    screen,   ///< to find the contestants worth measuring
    measure,  ///< used in the statistics
};

/// Times are from the planned start on, on the common clock.
struct sample {
    std::int32_t in_case = 0;
    std::string name{};  ///< of the contestant
    std::int32_t repetition = 0;
    reports::stage stage = reports::stage::measure;
    bool late = false;  ///< a rank missed its planned arrival: does not count
    std::vector<time_ns> arrivals{};
    std::vector<time_ns> exits{};
    std::vector<time_ns> predicted{};  ///< arrivals that its plan used, if not the true ones
    time_ns bound{};                   ///< no algorithm can end earlier, for these arrivals
    std::int32_t begun_early = 0;      ///< ranks on which it had begun when they arrived
    std::string by_tree{};             ///< of multicast: why a tree was called instead; empty if none was
};

/// Step times are on the same clock as arrivals.
struct timeline_step {
    std::string kind{};      ///< "send", "recv", "combine", "copy"
    std::int32_t peer = -1;  ///< of a message
    time_ns begin{};
    time_ns end{};
};

struct timeline {
    std::int32_t in_case = 0;
    std::string name{};
    std::vector<time_ns> arrivals{};
    std::vector<time_ns> exits{};
    std::vector<std::vector<timeline_step>> steps{};  ///< of each rank
};

/// One way to call it, with or without a computation at the same time. `total` and `computation` are the longest of all
/// ranks, the rest are means over ranks.
struct overlap {
    std::int32_t in_case = 0;
    std::string name{};
    std::int32_t repetition = 0;
    std::string method{};    ///< "blocking", "thread" (blocking in another), "nonblocking", "nonblocking+compute",
                             ///< "background", "background+compute" (with Rubato's thread)
    std::int32_t tests = 0;  ///< during the computation
    time_ns total{};         ///< from the start to the end of everything
    time_ns computation{};   ///< time of the computation alone, in the same repetition
    time_ns initiation{};    ///< the call that begins it
    time_ns testing{};       ///< in all calls of test
    time_ns waiting{};       ///< in the call that ends it; all the time of a blocking call
    time_ns overhead{};      ///< CPU time of all the process's threads beyond that of the computation alone
};

/// All of one run.
struct run {
    conditions how{};
    std::vector<measured_case> cases{};
    std::vector<contestant> contestants{};
    std::vector<sample> samples{};
    std::vector<timeline> timelines{};
    std::vector<overlap> overlaps{};
    std::string file{};
};

/// Throws, naming file and line, if one cannot be read or is not of this form.
std::vector<run> read(std::span<const std::string> files);

/// Keeps what was measured, and appends it to a file if one is named. The file is opened before any measurement: a
/// path that cannot be written to, or a disk without room, is reported then.
class recorder {
public:
    enum class existing { refuse, append };
    explicit recorder(std::string file = {}, existing how = existing::refuse);

    void add(const conditions& c);
    void add(const measured_case& c);
    void add(const contestant& c);
    void add(const sample& s);
    void add(const timeline& t);
    void add(const overlap& o);
    void add_clock(time_ns error);
    void add_done(std::int32_t in_case);

    /// What was added.
    const run& recorded() const { return run_; }

private:
    template <class T>
    void keep(std::vector<T>& all, const char* kind, const T& one);
    void line(const char* kind, const nlohmann::json& fields);

    std::string file_;
    std::optional<base::appended_file> out_{};
    base::json_line_writer lines_{"run"};
    run run_{};
};

// Summaries of measured overlap (Hoefler 2008, IV.2.5 and IV.4.3.4).

/// The time in which the calling thread communicates and cannot compute: IV.2.5's overhead.
time_ns in_calls(const overlap& o);
/// By how much the computation's end is later than without communication: the workload-based overhead of IV.4.3.4.
/// Below 0 if the computation alone was disturbed more.
time_ns visible(const overlap& o);

/// Of a blocking call's time: 1 - seen / blocking, from 0 (nothing, or it takes longer than the blocking call) to 1.
/// 0 where there was nothing to hide.
double hidden_share(double seen, double blocking);

/// Medians over repetitions, in nanoseconds.
struct overlap_summary {
    std::string name{};  ///< of the contestant
    std::string method{};
    std::int32_t tests = 0;
    std::size_t samples = 0;
    double total = 0;
    double computation = 0;
    double visible = 0;
    double in_calls = 0;
    double overhead = 0;
    std::optional<double> hidden{};  ///< share of the contestant's blocking call that does not delay the computation
    std::optional<double> freed{};   ///< share of the blocking call's time that the calling thread gets back
    /// Of calls without a computation: processor time by elapsed time (III.2.3). What is missing to 1 could be won by
    /// overlap without a second core; MPI libraries that poll while they wait leave nothing.
    std::optional<double> busy{};
};
/// One per contestant, method and number of tests, in the order of their first samples. Shares are of
/// those with a computation, if the blocking call was measured.
std::vector<overlap_summary> summarise(std::span<const overlap> samples);

}  // namespace rubato::reports
