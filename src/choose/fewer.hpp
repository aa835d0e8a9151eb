// A problem with fewer ranks, and the extrapolation from such problems to more ranks.
#pragma once

#include "rubato/algorithm.hpp"

#include <optional>
#include <span>

namespace rubato {

/// The same problem with about half of the ranks, or the next lower count that meets the algorithm's needs; nothing if
/// there is none. Groups of neighbours become one rank. The last arrivals stay as they are and the others keep
/// their distribution, in the order of the groups; the root keeps its own.
std::optional<problem> with_fewer_ranks(const algorithm& a, const problem& p);

/// a + b log2 n + c n, with b and c not below 0, through the first point, which has the most ranks, and as near to the
/// others as possible: the cost of rounds grows in steps.
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
