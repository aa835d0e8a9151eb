// rubato predict: how well could arrivals have been predicted?
#include "base/core/text.hpp"
#include "command/cli/command.hpp"
#include "rubato/arrival.hpp"
#include "simulator/arrival/predictor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

namespace rubato::command {
namespace {

struct predict_options {
    std::string trace{};
    std::vector<std::string> predictors{};
    std::int32_t lag = 2;
    bool per_rank = false;
    bool per_invocation = false;
    bool json = false;
};

using rank_times = std::vector<time_ns>;

/// Of several absolute errors.
struct summary {
    time_ns mean{};
    time_ns median{};
    time_ns most_of_them{};  ///< 95 of 100 are not larger
    time_ns max{};
};

/// One invocation, predicted.
struct attempt {
    rank_times errors{};  ///< one per rank
    time_ns uncertainty{};
    std::optional<std::size_t> last{};  ///< the rank predicted to arrive last, unless all arrive together
    bool last_is_right = false;
};

struct predicted_row {
    std::string predictor{};
    std::vector<attempt> attempts{};
    summary all{};
    std::size_t last_right = 0;
};

/// What is to be predicted: how long after the earliest each rank arrived, in the invocations that have a history.
struct predict_setting {
    std::vector<rank_times> trace{};
    std::size_t lag = 0;

    std::size_t ranks() const { return trace.front().size(); }
    std::size_t predicted() const { return trace.size() - lag; }
    std::span<const rank_times> to_predict() const { return std::span(trace).subspan(lag); }
};

time_ns mean(std::span<const time_ns> t) {
    double sum = 0;
    for (const time_ns one : t) sum += static_cast<double>(one.count());
    return time_ns(std::llround(sum / static_cast<double>(t.size())));
}

summary summarise(rank_times errors) {
    std::ranges::sort(errors);
    const auto at_most = [&errors](std::size_t percent) { return errors[(errors.size() * percent + 99) / 100 - 1]; };
    return {mean(errors), at_most(50), at_most(95), errors.back()};
}

/// Nothing if all arrive together.
std::optional<std::size_t> last_of(const rank_times& arrivals) {
    const auto last = std::ranges::max_element(arrivals);
    if (*last == std::ranges::min(arrivals)) return std::nullopt;
    return static_cast<std::size_t>(last - arrivals.begin());
}

predict_setting read(const predict_options& o) {
    predict_setting s;
    s.trace = read_trace(o.trace);
    s.lag = static_cast<std::size_t>(o.lag);
    if (s.trace.size() <= s.lag)
        throw error(fmt::format("trace '{}' has {} invocations", o.trace, s.trace.size()),
                    fmt::format("with a lag of {} the first {} cannot be predicted", s.lag, s.lag),
                    "give a longer trace");
    for (rank_times& line : s.trace) {
        const time_ns earliest = std::ranges::min(line);
        for (time_ns& t : line) t -= earliest;
    }
    return s;
}

predicted_row evaluate(const predict_setting& s, const std::string& text) {
    predicted_row result{text};
    simulator::pattern_predictor predictor(text, static_cast<std::int32_t>(s.ranks()),
                                           static_cast<std::int32_t>(s.lag));
    rank_times predicted;
    rank_times all;
    for (std::size_t k = s.lag; k < s.trace.size(); ++k) {
        const rank_times& actual = s.trace[k];
        predictor.observe(s.trace[k - s.lag]);
        predictor.next(predicted);
        attempt a{{}, predictor.uncertainty(), last_of(predicted)};
        for (std::size_t r = 0; r < actual.size(); ++r) a.errors.push_back(std::chrono::abs(predicted[r] - actual[r]));
        // If several ranks are last, any of them is right.
        a.last_is_right = a.last ? actual[*a.last] == std::ranges::max(actual) : !last_of(actual);
        if (a.last_is_right) ++result.last_right;
        all.insert(all.end(), a.errors.begin(), a.errors.end());
        result.attempts.push_back(std::move(a));
    }
    result.all = summarise(std::move(all));
    return result;
}

rank_times errors_of_rank(const predicted_row& r, std::size_t rank) {
    rank_times errors;
    for (const attempt& a : r.attempts) errors.push_back(a.errors[rank]);
    return errors;
}

/// Latest minus earliest, on average.
time_ns mean_imbalance(const predict_setting& s) {
    rank_times imbalances;
    for (const rank_times& line : s.to_predict()) imbalances.push_back(std::ranges::max(line));
    return mean(imbalances);
}

double share(time_ns part, time_ns whole) { return whole == time_ns{} ? 0 : normalised(part, whole); }
double last_share(const predicted_row& r) {
    return static_cast<double>(r.last_right) / static_cast<double>(r.attempts.size());
}
std::string compare(const predict_setting& s, const std::vector<predicted_row>& rows) {
    const time_ns imbalance = mean_imbalance(s);
    table lines{{"PREDICTOR", ">MEAN ERROR", ">MEDIAN", ">95 %", ">MAX", ">OF IMBALANCE", ">LAST RANK RIGHT"}};
    for (const predicted_row& r : rows)
        lines.push_back({r.predictor, format_time(r.all.mean), format_time(r.all.median),
                         format_time(r.all.most_of_them), format_time(r.all.max), percent(share(r.all.mean, imbalance)),
                         percent(last_share(r))});
    return align(lines);
}

/// A row for each rank or invocation, a column with the mean error of each predictor.
template <class Describe, class Errors>
std::string detail(std::vector<std::string> heading, const std::vector<predicted_row>& rows, std::size_t count,
                   Describe describe, Errors errors) {
    for (const predicted_row& r : rows) heading.push_back('>' + r.predictor);
    table lines{std::move(heading)};
    for (std::size_t i = 0; i < count; ++i) {
        lines.push_back(describe(i));
        for (const predicted_row& r : rows) lines.back().push_back(format_time(mean(errors(r, i))));
    }
    return "\n" + align(lines);
}

std::string as_text(const predict_options& o, const predict_setting& s, const std::vector<predicted_row>& rows) {
    std::string out =
        fmt::format("{}: {}, {}, {} predicted; mean imbalance {}\n\n", o.trace, base::counted(s.ranks(), "rank"),
                    base::counted(s.trace.size(), "invocation"), s.predicted(), format_time(mean_imbalance(s)));
    out += compare(s, rows);
    if (o.per_rank) {
        const auto describe = [&s](std::size_t r) {
            rank_times late;
            for (const rank_times& line : s.to_predict()) late.push_back(line[r]);
            return std::vector{fmt::format("{}", r), format_time(mean(late))};
        };
        out += detail({"RANK", ">LATE BY"}, rows, s.ranks(), describe, errors_of_rank);
    }
    if (o.per_invocation) {
        const auto describe = [&s](std::size_t i) {
            const rank_times& line = s.to_predict()[i];
            return std::vector{fmt::format("{}", s.lag + i), format_time(std::ranges::max(line)),
                               last_of(line) ? fmt::format("{}", *last_of(line)) : "-"};
        };
        out += detail({"INVOCATION", ">IMBALANCE", ">LAST RANK"}, rows, s.predicted(), describe,
                      [](const predicted_row& r, std::size_t i) { return r.attempts[i].errors; });
    }
    return out;
}

base::json to_json(const summary& s) {
    return {{"mean_ns", s.mean}, {"median_ns", s.median}, {"p95_ns", s.most_of_them}, {"max_ns", s.max}};
}

base::json to_json(const predict_setting& s, const predicted_row& r) {
    auto per_rank = base::json::array();
    for (std::size_t rank = 0; rank < s.ranks(); ++rank)
        per_rank.push_back({{"rank", rank}, {"error", to_json(summarise(errors_of_rank(r, rank)))}});
    auto per_invocation = base::json::array();
    for (std::size_t i = 0; i < r.attempts.size(); ++i) {
        const attempt& a = r.attempts[i];
        const rank_times& actual = s.to_predict()[i];
        per_invocation.push_back({{"invocation", s.lag + i},
                                  {"imbalance_ns", std::ranges::max(actual)},
                                  {"last_rank", last_of(actual)},
                                  {"predicted_last_rank", a.last},
                                  {"last_rank_right", a.last_is_right},
                                  {"uncertainty_ns", a.uncertainty == simulator::unsure ? base::json() : a.uncertainty},
                                  {"error_ns", a.errors}});
    }
    return {{"predictor", r.predictor},
            {"error", to_json(r.all)},
            {"share_of_imbalance", share(r.all.mean, mean_imbalance(s))},
            {"last_rank_right", last_share(r)},
            {"per_rank", per_rank},
            {"per_invocation", per_invocation}};
}

std::string as_json(const predict_options& o, const predict_setting& s, const std::vector<predicted_row>& rows) {
    auto predictors = base::json::array();
    for (const predicted_row& r : rows) predictors.push_back(to_json(s, r));
    return pretty({{"trace", o.trace},
                   {"ranks", s.ranks()},
                   {"invocations", s.trace.size()},
                   {"lag", s.lag},
                   {"predicted", s.predicted()},
                   {"mean_imbalance_ns", mean_imbalance(s)},
                   {"predictors", predictors}});
}

void predict(const predict_options& o) {
    const predict_setting s = read(o);
    std::vector<std::string> chosen = o.predictors;
    if (chosen.empty()) chosen.assign(simulator::predictors_to_try().begin(), simulator::predictors_to_try().end());
    std::vector<predicted_row> rows;
    rows.reserve(chosen.size());
    for (const std::string& text : chosen) {
        if (std::ranges::count(chosen, text) > 1)
            throw error(fmt::format("predictor {} is given twice", text), "once is enough", "remove one of them");
        rows.push_back(evaluate(s, text));
    }
    write_out(o.json ? as_json(o, s, rows) : as_text(o, s, rows));
}

}  // namespace

void add_predict(CLI::App* app, int&) {
    auto o = std::make_shared<predict_options>();
    require(
        add_value(*app, "TRACE", o->trace, "", "a file with a line per invocation and in each line a time per rank"));
    one_value_each_time(add_value(*app, "--predictor", o->predictors, "PREDICTOR",
                                  "may be given several times (default: one of each kind)"));
    add_integer(*app, "--lag", o->lag, "lag", 1, 1024,
                "invocation k is predicted from the invocations up to k - N (default: 2)");
    add_flag(*app, "--per-rank", o->per_rank, "also print the mean error for each rank");
    add_flag(*app, "--per-invocation", o->per_invocation, "also print the mean error for each invocation");
    add_flag(*app, "--json", o->json, "print an object with all errors");
    add_footer(*app, R"(
A prediction says how long after the earliest rank each rank arrives. Errors are absolute, over all ranks and
all predicted invocations. OF IMBALANCE: the mean error as a share of the mean imbalance, which is the latest
minus the earliest arrival. LAST RANK RIGHT: how often the predicted last rank was the last.
Predictors: balanced (no rank is late), last, average:window=N, exponential:weight=X, trend:window=N (a
straight line), given:FILE (the lines of another trace, such as that of an earlier run; the same trace is a
perfect prediction).
Lag: ranks exchange arrivals in one invocation, and all ranks surely have them two invocations later.
Predictions from progress (PAT_Edge: half of the work is done) cannot be judged here: a trace does not tell
when half of the work was done.
Examples:
  rubato predict examples/traces/phases.txt
  rubato predict examples/traces/straggler.txt --predictor last --predictor trend:window=4 --per-rank
  rubato predict examples/traces/phases.txt --lag 1 --json)");
    when_called(*app, [o] { predict(*o); });
}

}  // namespace rubato::command
