// The function behind every row of the table, so that one algorithm can be made of another. All algorithms' files
// include it: after it, a function without a row is an error.
#pragma once

#include "rubato/problem.hpp"
#include "rubato/schedule.hpp"
#include "schedules/algorithms/dynamic.hpp"

namespace rubato::schedules {

#define ROW(c, n, needs, uses, summary, source) schedule c##_##n(const problem&, rank);
#define ROW_TOGETHER(c, n, needs, uses, summary, source) \
    std::vector<schedule> c##_##n(const problem&, std::span<const rank>);
#define ROW_DYNAMIC(c, n, needs, uses, summary, source) std::unique_ptr<state_machine> c##_##n(const problem&, rank);
#define EARLY(c, n, f, source) schedule f(const problem&, rank);
#define EARLY_TOGETHER(c, n, f, source) std::vector<schedule> f(const problem&, std::span<const rank>);
#include "schedules/algorithms/table.def"

#ifdef __clang__
#pragma GCC diagnostic error "-Wmissing-prototypes"
#else
#pragma GCC diagnostic error "-Wmissing-declarations"
#endif

}  // namespace rubato::schedules
