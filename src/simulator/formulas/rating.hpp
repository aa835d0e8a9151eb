// Which algorithm is best, and in what: all that have closed forms, with all numbers of segments, by four metrics.
#pragma once

#include "simulator/formulas/formula.hpp"

#include <optional>
#include <string_view>
#include <vector>

namespace rubato::simulator {

enum class metric : std::uint8_t { time, overhead, energy, memory };
inline constexpr std::string_view metric_names[] = {"time", "overhead", "energy", "memory"};
/// Throws if there is no metric of that name.
RUBATO_API metric parse_metric(std::string_view name);

/// One way to solve a problem.
struct RUBATO_API rated {
    const formula* by = nullptr;
    formula_problem with{};
    closed_form value{};
    double overhead_ns = 0;  ///< of CPUs on the longest chain: the time if the network cost nothing
    double static_j = 0;
    double dynamic_j = 0;
    double memory = 0;      ///< bytes of descriptors, of the rank that needs most
    bool on_front = false;  ///< no other way is better in time, energy or memory and as good in the others

    double energy_j() const { return static_j + dynamic_j; }
    double by_metric(metric m) const;
};

/// All ways, the fastest first. `asked.segments` is 0: all powers of two up to 1024; `asked.radix` is 0: some from 1 to
/// 32. Throws if the model has no closed forms.
RUBATO_API std::vector<rated> rate(const model& m, collective what, const formula_problem& asked);
/// The best by one metric, of equals the fastest; `all` is not empty.
RUBATO_API const rated& best_by(std::span<const rated> all, metric m);

struct budget {
    std::optional<double> energy_j{};
    std::optional<double> memory{};  ///< bytes

    bool allows(const rated& r) const {
        return (!energy_j || r.energy_j() <= *energy_j) && (!memory || r.memory <= *memory);
    }
};
/// Nothing if no way is within the budget.
RUBATO_API const rated* fastest_within(std::span<const rated> all, const budget& b);

}  // namespace rubato::simulator
