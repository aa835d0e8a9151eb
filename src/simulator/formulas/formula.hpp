// Closed forms: what an algorithm costs by a formula, without its schedule, if all ranks arrive together.
//
// Time is that of Hoefler & Moor's LogGP: a message takes L + 2o + sG, its sender is busy for o + sG, its receiver for
// o. Energy and memory follow from three counts, which a formula gives too.
#pragma once

#include "rubato/algorithm.hpp"
#include "rubato/model.hpp"

#include <span>
#include <string_view>

namespace rubato::simulator {

/// What a formula is asked for.
struct formula_problem {
    std::int32_t ranks = 1;
    std::int64_t bytes = 0;  ///< of the vector, or of a chunk
    std::uint32_t segments = 1;
    std::int32_t radix = 0;  ///< 0: the algorithm's own choice
};

struct closed_form {
    double time_ns = 0;
    double messages = 0;   ///< of all ranks
    double bytes = 0;      ///< sent by all ranks
    double most_sent = 0;  ///< messages of the rank that sends most
};

/// The variables of the formulas.
struct formula_terms {
    double L = 0, o = 0, g = 0, G = 0;
    double o_min = 0;    ///< of LogfGP; else o
    double f = 1;        ///< of LogfGP
    double combine = 0;  ///< per byte; c in the texts
    double P = 0;        ///< ranks, 2 or more
    double s = 0;        ///< bytes
    double x = 0;        ///< s G
    double N = 0;        ///< segments
    double n = 0;        ///< ceil(log2 P)
    std::int32_t k = 0;  ///< radix
};

using terms = const formula_terms&;

/// For which problems the time of a formula is that of the schedule, up to rounding: 1 ns per message on the longest
/// chain, and segments or parts of a vector that differ in size.
enum class formula_fit : std::uint8_t {
    always,
    powers_of_two,       ///< of ranks
    only_powers_of_two,  ///< for other numbers of ranks there is no formula
    complete_trees,      ///< all inner ranks have k children, all leaves are equally deep; a single segment
    whole_vectors,       ///< a single segment
    nearly,
};

struct formula {
    std::string_view id;        ///< of the registry
    std::string_view skeleton;  ///< Hoefler & Moor's abbreviation, P after it: personalised; or an equation; or nothing
    std::string_view time;
    std::string_view energy;  ///< dynamic
    std::string_view memory;
    formula_fit fit;
    /// Where the fit is not met: the largest error of the time, as a share of the simulated time, over the problems
    /// that the tests try.
    double within;
    std::int32_t radix;  ///< the algorithm's own choice; 0: it has none
    closed_form (*value)(const formula_terms&);
};

/// Under a model, in the order of the registry. Throws if it is not one of LogGP.
RUBATO_API std::span<const formula> formulas(const model& m);
/// Nothing if the algorithm has no closed form under the model.
RUBATO_API const formula* find_formula(const model& m, std::string_view id);
/// Whether there is a formula for this number of ranks.
RUBATO_API bool applies(const formula& f, const formula_problem& p);
/// Whether the time is that of the schedule.
RUBATO_API bool is_exact(const formula& f, const formula_problem& p);
/// The formula is one of this model's.
RUBATO_API closed_form evaluate(const formula& f, const model& m, const formula_problem& p);

/// T P + D.
RUBATO_API double energy(const model& m, const closed_form& c, std::int32_t ranks);
RUBATO_API double descriptor_memory(const model& m, const closed_form& c);

// The parts of the tables: two under loggp5, one under loggp and one under logfgp.
std::span<const formula> rooted_formulas();
std::span<const formula> unrooted_formulas();
std::span<const formula> loggp_formulas();
std::span<const formula> logfgp_formulas();

}  // namespace rubato::simulator
