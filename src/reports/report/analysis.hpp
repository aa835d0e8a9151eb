// The analysis of result files: samples grouped into cases, the measures of every contestant, and their comparison. All
// statistics are computed here, so that the terminal and the page show the same numbers.
#pragma once

#include "base/statistics/statistics.hpp"
#include "reports/results/results.hpp"
#include "rubato/model.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::reports {

/// Cases that differ only in size and arrivals belong in one chart.
struct setup {
    std::string collective{};
    std::string datatype{};
    std::string op{};
    std::int32_t root = 0;
    std::int32_t ranks = 0;
    std::string graph{};       ///< of a neighbour collective
    std::string conditions{};  ///< those in which the runs of a report differ, such as "start=barrier"

    bool operator==(const setup&) const = default;
    auto operator<=>(const setup&) const = default;
};

/// An arrival pattern, and where it lies among those like it: "single:rank=3,delay=5ms" is 5 ms in "single:rank=3".
struct pattern_family {
    std::string name{};                ///< the whole pattern, if nothing in it is a delay
    std::optional<double> delay_ns{};  ///< of balanced arrivals, 0
};
pattern_family family_of(const std::string& pattern);

/// One sample that counts, and its measures in nanoseconds.
struct call {
    const sample* from = nullptr;
    std::size_t run = 0;   ///< in which run
    double run_time = 0;   ///< first arrival to last exit
    double tail = 0;       ///< last arrival to last exit
    double elapsed = 0;    ///< arrival to exit, mean over the ranks
    double root_exit = 0;  ///< first arrival to the root's exit
    double to_bound = 0;   ///< run time as a multiple of the bound; 0: no bound is known
    double imbalance = 0;  ///< first to last arrival
};

struct versus {
    base::comparison is{};
    std::size_t pairs = 0;  ///< 0: compared as two unrelated groups

    /// "faster", "slower", "not significant" (no difference was shown), or "too few to say". The test and the interval
    /// must agree, as they use the pairs in different ways.
    std::string_view verdict() const;
};

/// What a cost model says of a contestant.
struct model_check {
    double predicted = 0;  ///< median run time, in nanoseconds
    double error = 0;      ///< of the prediction, as a share of what was measured
    double energy_j = 0;   ///< of its messages, and of all ranks during the run time that was measured
    double memory = 0;     ///< bytes of descriptors, of the rank that needs most
    /// No other contestant of the case is better in measured time, energy or memory and as good in the others.
    bool on_front = false;
};

/// The contestant of a case that `choose` would have picked with the planned arrivals, and its run time as a multiple
/// of the fastest that was measured.
struct choice_check {
    std::string picked{};
    std::string fastest{};
    double ratio = 0;

    /// Whether that is near enough.
    bool good() const { return ratio <= 1.1; }
};

/// One contestant in one case. Medians, in nanoseconds, where nothing else is said.
struct entry {
    std::string name{};
    std::string id{};
    std::uint32_t segments = 1;
    time_ns round_time{};
    bool screened_only = false;  ///< it was not worth measuring after the screening
    std::size_t late = 0;        ///< samples that do not count, as a rank missed its planned arrival
    std::vector<call> calls{};   ///< in the order in which they were measured

    base::estimate run_time{};
    double tail = 0;
    double elapsed = 0;
    double imbalance = 0;
    std::optional<double> root_exit{};  ///< of collectives with a root
    std::optional<double> to_bound{};
    std::optional<double> first_call{};
    std::optional<double> prediction_error{};    ///< mean, of those that were planned by predicted arrivals
    std::optional<double> early_ranks{};         ///< ranks on which it had begun before they arrived; mean
    std::optional<base::estimate> absorption{};  ///< normalised (Marendic et al. 2016, Definition 3.9)
    std::vector<std::string_view> remarks{};
    std::map<std::string, versus> to_reference{};  ///< by the name of the reference
    std::optional<model_check> model{};

    bool native() const { return id.empty(); }
    bool measured() const { return !calls.empty() && !screened_only; }
    /// The call whose run time is the median, or next to it.
    const call& typical() const;
};

/// What contestants are compared with. The first and the last are different contestants in different cases.
inline constexpr std::string_view best_native = "best native";
inline constexpr std::string_view native_default = "native";
inline constexpr std::string_view best_rubato = "best Rubato";

struct analysed_case {
    setup in{};
    std::int64_t bytes = 0;
    std::string pattern{};
    pattern_family family{};
    std::size_t hosts = 0;
    std::vector<std::int32_t> host_of{};  ///< each rank's, as problem::hosts has it, in the last run
    std::vector<entry> entries{};  ///< the fastest first, then those that were only screened, then those without a call
    std::vector<overlap_summary> overlaps{};
    std::vector<const timeline*> timelines{};
    std::optional<choice_check> choice{};

    const entry* find(std::string_view name) const;
    /// The contestant that a reference means here, if there is one.
    const entry* reference(std::string_view role) const;
};

struct analysis {
    std::vector<run> runs{};  ///< what follows points into it
    std::vector<analysed_case> cases{};
    std::string reference{};  ///< one more contestant to compare with, by name
    std::string model{};      ///< as it was given; empty if none

    analysis() = default;
    analysis(const analysis&) = delete;
    analysis(analysis&&) = default;
    analysis& operator=(analysis&&) = default;
    std::vector<std::string> references() const;
};

/// Sorts samples into cases; computes no statistics yet. Throws if a file contradicts itself or nothing was measured.
analysis group(std::vector<run> runs);
/// Medians, intervals, comparisons. Cases are independent of each other.
void evaluate(analysed_case& c, const std::vector<std::string>& references);
/// Measures that need two cases: absorption needs the balanced one.
void relate(analysis& a);
/// Simulates every contestant of ours that was measured, not only screened, with the arrivals that were measured.
void check_model(analysed_case& c, const model& network);
/// Lets the model choose among our contestants. A contestant that was only screened has the times of the screening.
void check_choice(analysed_case& c, const model& network);

/// Median and worst of the absolute errors of a model, as shares; nothing if no contestant was simulated.
struct model_summary {
    double median = 0;
    double worst = 0;
    std::size_t rows = 0;
};
std::optional<model_summary> summarise_model(const analysis& a);

}  // namespace rubato::reports
