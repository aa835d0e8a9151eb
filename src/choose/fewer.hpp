// A problem with fewer ranks, and what follows from such ones for more.
#pragma once

#include "rubato/algorithm.hpp"

#include <array>
#include <optional>

namespace rubato {

/// The same problem with about half of the ranks, or as few as the algorithm's needs ask for; nothing if these leave
/// no choice. Groups of neighbours become one rank. Of arrivals, the last ones stay as they are and the others keep
/// their distribution, in the order of the groups; the root keeps its own.
std::optional<problem> with_fewer_ranks(const algorithm& a, const problem& p);

/// a + b log2 n + c n through three points, of which the first has the most ranks, b and c not below 0; what does not
/// grow from each to the next stays as it is with the most.
class growth {
public:
    growth(const std::array<double, 3>& ranks, const std::array<double, 3>& values);
    double at(double ranks) const;

private:
    double ranks_;
    double value_;
    double per_doubling_ = 0;
    double per_rank_ = 0;
};

}  // namespace rubato
