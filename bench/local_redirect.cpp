// Is it necessary to know which ranks are late? Reductions of data that is not cut: the binomial tree, Local Redirect,
// and Clairvoyant with one segment, told the arrivals of the reduction before or the true ones. In the style of Table 5
// of Marendic et al. 2016, simulated with that paper's costs.
//
//   local_redirect [PATIENCE [PAGE]]
//
// PATIENCE: how many rounds' time Local Redirect waits for a partner, 1 unless given.
// PAGE: prints only what is missing in this page; status 1 if anything is.
#include "page_check.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/arrival.hpp"
#include "rubato/cost.hpp"
#include "rubato/simulate.hpp"
#include "schedules/algorithms/dynamic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <functional>
#include <random>

namespace {

using namespace rubato;

constexpr std::int32_t ranks = 64;
constexpr std::int64_t bytes = 16 << 20;
constexpr int reductions = 100;
constexpr std::size_t contenders = 4;

using arrivals = std::vector<time_ns>;

class experiment {
public:
    explicit experiment(double patience)
        : network_(parse_model("curie")), round_(segment_time(network_, bytes)), patience_(patience) {}

    /// The time of a reduction of ranks that arrive together.
    time_ns balanced() const { return ceil_log2(ranks) * round_; }

    time_ns run(std::string_view id, const arrivals& told, const arrivals& real) {
        const algorithm& a = find_algorithm(id);
        problem p;
        p.what = collective::reduce;
        p.ranks = ranks;
        p.round_time = round_;
        p.arrivals = a.dynamic ? real : told;
        const std::vector<schedule> all = schedules(a, p);
        if (a.dynamic) {
            messages_ += count_cost(all, std::span(&size_, 1)).messages;
            root_takes_ += std::ranges::count_if(
                all.front().steps, [](const step& s) { return s.kind == step_kind::recv && s.count > 0; });
        }
        return tail(real, simulate(network_, all, std::span(&size_, 1), real).exits);
    }

    /// For Local Redirect, since the last call: mean messages per rank, and mean transfers of data to the root.
    std::pair<double, double> counted() {
        const auto messages = static_cast<double>(std::exchange(messages_, 0));
        const auto takes = static_cast<double>(std::exchange(root_takes_, 0));
        return {messages / (ranks - 1) / reductions, takes / reductions};
    }

private:
    std::vector<schedule> schedules(const algorithm& a, problem p) const {
        if (!a.dynamic) return build_all(a, p);
        p.round_time = time_ns(static_cast<std::int64_t>(patience_ * static_cast<double>(round_.count())));
        const hockney h = linear_costs(network_);
        const auto whole = [](double ns) { return time_ns(static_cast<std::int64_t>(ns) + 1); };
        const auto size = static_cast<double>(bytes);
        return rubato::schedules::record(a, p, {whole(h.alpha), whole(h.alpha + h.beta * size), whole(h.gamma * size)});
    }

    model network_;
    time_ns round_;
    double patience_;
    layout size_ = layout::uniform(bytes);
    std::int64_t messages_ = 0;
    std::int64_t root_takes_ = 0;
};

/// A family gives the arrivals of one reduction after the other; delays are in times of a balanced reduction.
struct family {
    std::string name;
    std::function<double(int rank)> delay;
    std::function<void()> next = [] {};
};

std::vector<family> families(std::mt19937_64& random) {
    const auto uniform = [&random] { return static_cast<double>(random() >> 11) * 0x1p-53; };
    std::vector<family> all{{"together", [](int) { return 0.0; }}};
    for (const double most : {0.01, 0.25, 1.0, 4.0, 16.0})
        all.push_back({fmt::format("uniform in 0 to {}, anew each time", most),
                       [most, uniform](int) { return most * uniform(); }});
    for (const double most : {1.0, 4.0}) {
        auto own = std::make_shared<std::vector<double>>(ranks);
        for (double& d : *own) d = most * uniform();
        all.push_back(
            {fmt::format("uniform in 0 to {}, the same for each rank but for 5 %", most),
             [own, most, uniform](int r) { return (*own)[static_cast<std::size_t>(r)] + 0.05 * most * uniform(); }});
    }
    for (const double late : {1.0, 4.0}) {
        auto who = std::make_shared<int>(0);
        all.push_back({fmt::format("one rank late by {}, another each time", late),
                       [who, late](int r) { return r == *who ? late : 0.0; },
                       [who, &random] { *who = static_cast<int>(random() % ranks); }});
    }
    all.push_back({"a quarter late by 4, others each time", [uniform](int) { return uniform() < 0.25 ? 4.0 : 0.0; }});
    return all;
}

}  // namespace

int main(int argc, char** argv) {
    experiment e(argc > 1 ? std::atof(argv[1]) : 1);
    std::mt19937_64 random(2016);
    constexpr std::array<std::string_view, contenders> ids{"reduce/binomial", "reduce/local_redirect",
                                                           "reduce/clairvoyant", "reduce/clairvoyant"};
    std::string output =
        "| arrivals | spread | binomial | local redirect | clairvoyant, last | clairvoyant, true | messages per rank | "
        "transfers to the root |\n"
        "|---|---|---|---|---|---|---|---|\n";
    for (const family& f : families(random)) {
        arrivals last(ranks);
        time_ns spread{};
        std::array<time_ns, contenders> tails{};
        for (int i = 0; i < reductions; ++i) {
            f.next();
            arrivals real;
            for (int r = 0; r < ranks; ++r)
                real.emplace_back(static_cast<std::int64_t>(f.delay(r) * static_cast<double>(e.balanced().count())));
            spread += absolute_imbalance(real);
            for (std::size_t c = 0; c < contenders; ++c) tails[c] += e.run(ids[c], c == 2 ? last : real, real);
            last = std::move(real);
        }
        std::string row = fmt::format("| {} | {:.2f} |", f.name, static_cast<double>(spread.count()) * 1e-9);
        for (const time_ns t : tails) row += fmt::format(" {:.2f} |", static_cast<double>(t.count()) * 1e-9);
        const auto [messages, takes] = e.counted();
        output += fmt::format("{} {:.1f} | {:.1f} |\n", row, messages, takes);
    }
    const bool compares = argc > 2;
    if (compares) output = missing_in(argv[2], aligned(lines_of(output)));
    fmt::print("{}", output);
    return compares && !output.empty() ? 1 : 0;
}
