#include "reports/results/results.hpp"

#include "base/files/json_time.hpp"
#include "base/statistics/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <set>
#include <tuple>

namespace nlohmann {

template <>
struct adl_serializer<rubato::simulator::link> {
    static void to_json(json& j, const rubato::simulator::link& l) {
        j = {{"latency", l.latency}, {"ns_per_byte", l.ns_per_byte}};
    }
    static void from_json(const json& j, rubato::simulator::link& l) {
        l.latency = j.value("latency", l.latency);
        l.ns_per_byte = j.value("ns_per_byte", l.ns_per_byte);
    }
};

}  // namespace nlohmann

namespace rubato::reports {

NLOHMANN_JSON_SERIALIZE_ENUM(stage, {{stage::measure, "measure"}, {stage::warmup, "warmup"}, {stage::screen, "screen"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(conditions, command, rubato, compiler, mpi, mpi_settings, system, cpu,
                                                cores, hosts, started, seed, start, tolerance, delay, prediction,
                                                computation, model, link, clock_error)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(measured_case, number, collective, bytes, pattern, datatype, op, root,
                                                graph, asked)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(contestant, in_case, name, id, segments, round_time)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(sample, in_case, name, repetition, stage, late, arrivals, exits,
                                                predicted, bound, begun_early, by_tree)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(timeline_step, kind, peer, begin, end)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(timeline, in_case, name, arrivals, exits, steps)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(overlap, in_case, name, repetition, method, tests, total, computation,
                                                initiation, testing, waiting, overhead)

namespace {

using nlohmann::json;

/// A run that was ended may have left half a line.
constexpr base::json_lines our_lines{
    .head = "run",
    .not_ours = "it is not a file that 'rubato bench' or 'rubato exec' has written",
    .way_out = "measure again with 'rubato bench --output FILE'",
    .may_be_cut = true,
    .instead = "give a file of 'rubato bench', or of a program that called MPI_Init under 'rubato exec'",
};

void mark_done(run& r, std::int32_t number) {
    for (measured_case& c : r.cases)
        if (c.number == number) c.done = true;
}

void take(run& r, std::string_view kind, const json& fields) {
    if (kind == "case") r.cases.push_back(fields.get<measured_case>());
    if (kind == "contestant") r.contestants.push_back(fields.get<contestant>());
    if (kind == "sample") {
        r.samples.push_back(fields.get<sample>());
        if (fields.contains("stage") && json(r.samples.back().stage) != fields["stage"])
            throw json::other_error::create(501, "no such stage", nullptr);
    }
    if (kind == "timeline") r.timelines.push_back(fields.get<timeline>());
    if (kind == "overlap") r.overlaps.push_back(fields.get<overlap>());
    if (kind == "done") mark_done(r, fields.at("in_case").get<std::int32_t>());
    if (kind == "clock") r.how.clock_error = std::max(r.how.clock_error, fields.at("error").get<time_ns>());
}

void read_file(const std::string& file, std::vector<run>& runs) {
    our_lines.read(file, [&](std::string_view kind, const json& fields) {
        if (kind != our_lines.head) return take(runs.back(), kind, fields);
        runs.push_back({fields.get<conditions>()});
        runs.back().file = file;
    });
}

using group = std::vector<const overlap*>;

template <class Value>
double median_of(const group& g, Value value) {
    std::vector<double> values;
    for (const overlap* o : g) values.push_back(static_cast<double>(value(*o).count()));
    return base::median(values);
}

overlap_summary summary_of(const group& g) {
    overlap_summary s{g[0]->name, g[0]->method, g[0]->tests, g.size()};
    s.total = median_of(g, [](const overlap& o) { return o.total; });
    s.computation = median_of(g, [](const overlap& o) { return o.computation; });
    s.visible = std::max(0., median_of(g, visible));
    s.in_calls = median_of(g, in_calls);
    s.overhead = std::max(0., median_of(g, [](const overlap& o) { return o.overhead; }));
    return s;
}

}  // namespace

std::vector<run> read(std::span<const std::string> files) {
    std::vector<run> runs;
    for (std::size_t i = 0; i < files.size(); ++i) {
        std::error_code none;
        for (const std::string& other : files.first(i))
            if (std::filesystem::equivalent(files[i], other, none))
                throw error(fmt::format("'{}' is given twice", files[i]), "its samples would count twice",
                            "give it once");
        read_file(files[i], runs);
    }
    return runs;
}

std::map<std::string, std::string> decisive(const conditions& c) {
    const std::set<std::string> hosts(c.hosts.begin(), c.hosts.end());
    std::map<std::string, std::string> all{
        {"mpi", c.mpi},
        {"rubato", c.rubato},
        {"start", c.start},
        {"delay", c.delay},
        {"prediction", c.prediction},
        {"ranks per host", fmt::format("{:.3g}", static_cast<double>(c.hosts.size()) /
                                                     static_cast<double>(std::max<std::size_t>(1, hosts.size())))}};
    if (!c.computation.empty()) all["computation"] = c.computation;
    constexpr std::string_view prefix = "OMPI_MCA_";
    for (const auto& [name, value] : c.mpi_settings)
        all[name.starts_with(prefix) ? name.substr(prefix.size()) : name] = value;
    return all;
}

bool same(const measured_case& a, const measured_case& b) {
    return std::tie(a.collective, a.bytes, a.pattern, a.datatype, a.op, a.root, a.graph, a.asked) ==
           std::tie(b.collective, b.bytes, b.pattern, b.datatype, b.op, b.root, b.graph, b.asked);
}

recorder::recorder(std::string file, existing how) : file_(std::move(file)) {
    if (file_.empty()) return;
    const std::filesystem::path path(file_);
    std::error_code none;
    if (how == existing::refuse && std::filesystem::is_regular_file(path, none) &&
        std::filesystem::file_size(path, none) > 0)
        throw error(fmt::format("'{}' exists", file_), "measurements are not overwritten",
                    "give another name, or --resume to go on with it");
    constexpr std::uintmax_t enough = std::uintmax_t{64} << 20;
    const auto folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    const std::filesystem::space_info room = std::filesystem::space(folder, none);
    if (!none && room.available < enough)
        throw error(fmt::format("no room for '{}'", file_),
                    fmt::format("its disk has {} left", format_bytes(static_cast<std::int64_t>(room.available))),
                    fmt::format("make room for {}, or write elsewhere", format_bytes(enough)));
    out_.emplace(file_);
    // An interrupted run may have left half a line, which is ignored; a new line must not be appended to it.
    if (how == existing::append) out_->drop_cut_line();
}

void recorder::line(const char* kind, const json& fields) {
    if (!out_) return;
    if (const int why = out_->append(lines_.line(kind, fields)); why != 0)
        throw error(fmt::format("cannot write to '{}' any more", file_), std::strerror(why),
                    "what is in it can be read; make room, then go on with --resume");
}

template <class T>
void recorder::keep(std::vector<T>& all, const char* kind, const T& one) {
    all.push_back(one);
    line(kind, one);
}

void recorder::add(const conditions& c) {
    run_.how = c;
    line("run", c);
}
void recorder::add(const measured_case& c) { keep(run_.cases, "case", c); }
void recorder::add(const contestant& c) { keep(run_.contestants, "contestant", c); }
void recorder::add(const sample& s) { keep(run_.samples, "sample", s); }
void recorder::add(const timeline& t) { keep(run_.timelines, "timeline", t); }
void recorder::add(const overlap& o) { keep(run_.overlaps, "overlap", o); }
void recorder::add_clock(time_ns e) {
    run_.how.clock_error = std::max(run_.how.clock_error, e);
    line("clock", {{"error", e.count()}});
}
void recorder::add_done(std::int32_t in_case) {
    mark_done(run_, in_case);
    line("done", {{"in_case", in_case}});
}

time_ns in_calls(const overlap& o) { return o.initiation + o.testing + o.waiting; }
time_ns visible(const overlap& o) { return o.total - o.computation; }

double hidden_share(double seen, double blocking) { return blocking > 0 ? std::clamp(1 - seen / blocking, 0., 1.) : 0; }

std::vector<overlap_summary> summarise(std::span<const overlap> samples) {
    std::vector<group> groups;
    for (const overlap& o : samples) {
        const auto found = std::ranges::find_if(groups, [&o](const group& g) {
            return g[0]->name == o.name && g[0]->method == o.method && g[0]->tests == o.tests;
        });
        if (found == groups.end())
            groups.push_back({&o});
        else
            found->push_back(&o);
    }
    std::vector<overlap_summary> all;
    all.reserve(groups.size());
    for (const group& g : groups) all.push_back(summary_of(g));
    for (overlap_summary& s : all) {
        if (s.computation <= 0 && s.total > 0) s.busy = s.overhead / s.total;
        const auto blocking = std::ranges::find_if(
            all, [&s](const overlap_summary& b) { return b.name == s.name && b.method == "blocking"; });
        if (blocking == all.end() || s.computation <= 0) continue;
        s.hidden = hidden_share(s.visible, blocking->total);
        s.freed = hidden_share(s.in_calls, blocking->in_calls);
    }
    return all;
}

}  // namespace rubato::reports
