// A problem with fewer ranks, and what follows from such ones for more.
#pragma once

#include "rubato/algorithm.hpp"

#include <optional>
#include <span>

namespace rubato {

/// The same problem with about half of the ranks, or as few as the algorithm's needs ask for; nothing if these leave
/// no choice. Groups of neighbours become one rank. Of arrivals, the last ones stay as they are and the others keep
/// their distribution, in the order of the groups; the root keeps its own.
std::optional<problem> with_fewer_ranks(const algorithm& a, const problem& p);

/// a + b log2 n + c n, with b and c not below 0, through the first of some points, which has the most ranks, and as
/// near to the others as can be: what rounds add comes in steps.
class growth {
public:
    growth(std::span<const double> ranks, std::span<const double> values);
    double at(double ranks) const;

private:
    double ranks_;
    double value_;
    double per_doubling_ = 0;
    double per_rank_ = 0;
};

}  // namespace rubato
