// When ranks arrive: their order, whether the last one arrives alone, and which ranks can work together before.
#pragma once

#include "rubato/builder.hpp"

#include <functional>
#include <span>
#include <vector>

namespace rubato::schedules {

/// One schedule for each of these ranks. What is equal for all, above all their order, is computed once before: with
/// thousands of ranks, sorting them again for each would take longer than everything else.
template <class Build>
std::vector<schedule> build_each(std::span<const rank> who, Build build) {
    std::vector<schedule> some;
    some.reserve(who.size());
    for (const rank me : who) some.push_back(build(me));
    return some;
}

time_ns arrival(const problem& p, rank r);
/// All ranks but the root, in the order of ranks.
std::vector<rank> others(const problem& p);
/// The same, earliest first; ranks that arrive together in the order of places, or of ranks.
std::vector<rank> by_arrival(const problem& p);
/// All ranks, earliest first; ranks that arrive together in the order of places, or of ranks.
std::vector<rank> line_up(const problem& p);
/// How long all but one rank take to tell each other, up a tree and down it.
inline std::int64_t rounds_up_and_down(const problem& p) { return std::int64_t{2} * ceil_log2(p.ranks); }
/// All ranks but one, in the order of ranks, and what they do among themselves before that one arrives.
struct all_but_one {
    std::vector<rank> who{};

    all_but_one(const problem& p, rank one);

    /// A rank's number among them.
    rank number(rank r) const;
    /// The problem of these ranks. Their last one is the root: in a binomial tree with the excluded rank as root it is
    /// a leaf, and free to serve that rank.
    problem among(const problem& p, collective what) const;
};
/// Of one rank; `line`: all in the order of arrival, `others`: all but its last.
using built_for_straggler = schedule(const problem& p, rank me, const std::vector<rank>& line,
                                     const all_but_one& others);
/// By `late` if the last rank arrives so many rounds after all others, else by `usual`.
std::vector<schedule> build_for_straggler(const problem& p, std::span<const rank> who, std::int64_t rounds,
                                          built_for_straggler& late, schedule (&usual)(const problem&, rank));

/// Ranks of a line that join an exchange of each with each together: [old, end).
struct joining {
    std::size_t old;
    std::size_t end;
};
/// The line, cut where the gap before a rank is long enough for all earlier ranks to finish. With more cuts, an
/// exchange would only delay the next one.
std::vector<joining> joining_groups(const problem& p, const std::vector<rank>& line,
                                    const std::function<std::int64_t(std::size_t)>& rounds);
/// When each of the line arrives, in ns after the first; all together without predicted arrivals.
std::vector<double> since_first(const problem& p, const std::vector<rank>& line);
/// Whether all but the root are predicted to arrive together, so that there is nothing to sort.
bool others_together(const problem& p);

}  // namespace rubato::schedules
