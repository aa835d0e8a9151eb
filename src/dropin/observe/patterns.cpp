#include "dropin/observe/observation.hpp"

#include "base/core/splitmix.hpp"
#include "base/statistics/statistics.hpp"
#include "rubato/arrival.hpp"
#include "simulator/arrival/predictor.hpp"

#include <algorithm>
#include <cmath>

namespace rubato::dropin {
namespace {

/// Predicting more times would noticeably delay the end of a program.
constexpr std::size_t most_predicted = std::size_t{1} << 16;
/// Enough to simulate, and for a picture.
constexpr std::size_t most_examples = 256;
constexpr std::size_t fewest_examples = 4;
constexpr std::size_t most_example_times = std::size_t{1} << 14;
constexpr std::size_t most_map_rows = 64;
constexpr std::size_t most_map_columns = 128;

double count(time_ns t) { return static_cast<double>(t.count()); }

std::size_t last_of(const std::vector<time_ns>& arrivals) {
    return static_cast<std::size_t>(std::ranges::max_element(arrivals) - arrivals.begin());
}

predictability try_predictor(std::string_view text, std::span<const invocation> met, std::size_t ahead) {
    const std::size_t ranks = met.front().arrivals.size();
    simulator::pattern_predictor predictor(text, static_cast<std::int32_t>(ranks), static_cast<std::int32_t>(ahead));
    std::vector<time_ns> predicted;
    double error = 0;
    double deviation = 0;
    std::size_t right = 0;
    for (std::size_t k = ahead; k < met.size(); ++k) {
        predictor.observe(met[k - ahead].arrivals);
        predictor.next(predicted);
        const std::vector<time_ns>& actual = met[k].arrivals;
        std::vector<time_ns> sorted = actual;
        std::ranges::nth_element(sorted, sorted.begin() + static_cast<std::ptrdiff_t>(ranks / 2));
        for (std::size_t r = 0; r < ranks; ++r) {
            error += std::abs(count(predicted[r] - actual[r]));
            deviation += std::abs(count(sorted[ranks / 2] - actual[r]));
        }
        if (actual[last_of(predicted)] == actual[last_of(actual)]) ++right;
    }
    const auto tried = static_cast<double>(met.size() - ahead);
    const auto mean = [&](double sum) { return time_ns(std::llround(sum / tried / static_cast<double>(ranks))); };
    return {std::string(text), mean(error), mean(deviation), static_cast<double>(right) / tried};
}

/// Exchanged arrivals are used two invocations later; where invocations were dropped, for the next one that was kept.
predictability best_predictor(std::span<const invocation> met, bool thinned) {
    const std::size_t ahead = thinned ? 1 : 2;
    const std::size_t most = std::max<std::size_t>(2 * ahead, most_predicted / met.front().arrivals.size());
    if (met.size() > most) met = met.last(most);
    predictability best;
    if (met.size() <= ahead) return best;
    for (const std::string_view text : simulator::predictors_to_try()) {
        if (text == "balanced") continue;  // predicts nothing; its error is `deviation`
        const predictability tried = try_predictor(text, met, ahead);
        if (best.predictor.empty() || tried.error < best.error) best = tried;
    }
    return best;
}

who_often most_often(const std::vector<std::size_t>& times, std::size_t invocations) {
    const auto most = std::ranges::max_element(times);
    if (*most == 0) return {};  // all ranks always arrived together
    return {static_cast<std::int32_t>(most - times.begin()),
            static_cast<double>(*most) / static_cast<double>(invocations)};
}

/// At random: every third, say, of calls at which ranks take turns to be late would mislead.
std::vector<invocation> examples_of(std::vector<invocation> met) {
    const std::size_t most =
        std::clamp(most_example_times / met.front().arrivals.size(), fewest_examples, most_examples);
    if (met.size() <= most) return met;
    base::splitmix random(1);
    std::vector<invocation> some;
    const std::size_t all = met.size();
    for (std::size_t i = 0; i < all; ++i)
        if (random.below(all - i) < most - some.size()) some.push_back(std::move(met[i]));
    return some;
}

/// From their arrivals until the last rank is there, mean over the ranks.
time_ns mean_waiting(const invocation& m) {
    const time_ns last = std::ranges::max(m.arrivals);
    double sum = 0;
    for (std::size_t r = 0; r < m.arrivals.size(); ++r) sum += count(std::min(last, m.exits[r]) - m.arrivals[r]);
    return time_ns(std::llround(sum / static_cast<double>(m.arrivals.size())));
}

}  // namespace

double predictability::share() const {
    return deviation > time_ns{} ? std::max(0.0, 1 - count(error) / count(deviation)) : 0;
}

time_ns median_time(std::span<const double> ns) { return time_ns(std::llround(base::median(ns))); }

lateness_map map_of(std::span<const invocation> met) {
    const std::size_t ranks = met.front().arrivals.size();
    const std::size_t together = (ranks + most_map_rows - 1) / most_map_rows;
    const std::size_t successive = (met.size() + most_map_columns - 1) / most_map_columns;
    lateness_map map;
    map.ranks = static_cast<std::int32_t>(together);
    for (std::size_t k = 0; k < met.size(); k += successive) {
        const auto in = met.subspan(k, std::min(successive, met.size() - k));
        map.numbers.push_back(in.front().number);
        map.counts.push_back(in.size());
        std::vector<time_ns>& column = map.columns.emplace_back();
        for (std::size_t r = 0; r < ranks; r += together) {
            double sum = 0;
            for (const invocation& m : in) {
                const auto first = m.arrivals.begin() + static_cast<std::ptrdiff_t>(r);
                const auto n = static_cast<std::ptrdiff_t>(std::min(together, ranks - r));
                sum += count(*std::max_element(first, first + n));
            }
            column.push_back(time_ns(std::llround(sum / static_cast<double>(in.size()))));
        }
    }
    return map;
}

brief in_short(const invocation& m) {
    const bool together = absolute_imbalance(m.arrivals) == time_ns{};
    return {m.number, together ? -1 : static_cast<std::int32_t>(last_of(m.arrivals)), mean_waiting(m)};
}

arrivals_seen describe(std::vector<invocation> met, std::uint64_t calls) {
    const std::size_t ranks = met.front().arrivals.size();
    arrivals_seen out;
    out.invocations = met.size();
    std::vector<double> run_times;
    std::vector<double> tails;
    double imbalance = 0;
    std::vector<std::size_t> firsts(ranks);
    std::vector<std::size_t> lasts(ranks);
    for (const invocation& m : met) {
        run_times.push_back(count(run_time(m.arrivals, m.exits)));
        tails.push_back(count(tail(m.arrivals, m.exits)));
        const time_ns spread = absolute_imbalance(m.arrivals);
        imbalance += count(spread);
        out.all.push_back(in_short(m));
        if (spread == time_ns{}) continue;
        ++firsts[static_cast<std::size_t>(std::ranges::min_element(m.arrivals) - m.arrivals.begin())];
        ++lasts[last_of(m.arrivals)];
    }
    out.run_time = median_time(run_times);
    out.tail = median_time(tails);
    out.imbalance = time_ns(std::llround(imbalance / static_cast<double>(met.size())));
    out.first = most_often(firsts, met.size());
    out.last = most_often(lasts, met.size());
    std::vector<double> of_rank(met.size());
    for (std::size_t r = 0; r < ranks; ++r) {
        std::ranges::transform(met, of_rank.begin(), [r](const invocation& m) { return count(m.arrivals[r]); });
        out.pattern.push_back(median_time(of_rank));
    }
    const time_ns earliest = std::ranges::min(out.pattern);
    for (time_ns& t : out.pattern) t -= earliest;
    out.predictable = best_predictor(met, calls > met.size());
    out.map = map_of(met);
    out.examples = examples_of(std::move(met));
    return out;
}

}  // namespace rubato::dropin
