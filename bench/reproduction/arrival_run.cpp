#include "arrival_run.hpp"

namespace reproduction {

using namespace rubato;

std::vector<time_ns> exits(std::string_view id, const hockney& m, std::int64_t chunk,
                           const std::vector<time_ns>& arrivals) {
    const algorithm& a = find_algorithm(id);
    problem p;
    p.what = a.what;
    p.ranks = static_cast<std::int32_t>(arrivals.size());
    p.arrivals = arrivals;
    const layout sizes = layout::uniform(chunk);
    return simulate({m}, build_all(a, p), std::span(&sizes, 1), arrivals, {.early = a.early}).exits;
}

}  // namespace reproduction
