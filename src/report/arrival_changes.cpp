#include "report/arrival_changes.hpp"

#include <algorithm>
#include <cmath>

namespace rubato::report {

time_ns typical(const arrival_times& arrivals) {
    arrival_times sorted = arrivals;
    const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
    std::ranges::nth_element(sorted, middle);
    return *middle;
}

arrival_times without(const arrival_times& arrivals, std::span<const std::int32_t> ranks) {
    arrival_times others;
    for (std::size_t r = 0; r < arrivals.size(); ++r)
        if (std::ranges::find(ranks, static_cast<std::int32_t>(r)) == ranks.end()) others.push_back(arrivals[r]);
    if (others.empty()) return arrivals;
    const time_ns usual = typical(others);
    arrival_times out = arrivals;
    for (const std::int32_t r : ranks)
        out[static_cast<std::size_t>(r)] = std::min(out[static_cast<std::size_t>(r)], usual);
    return out;
}

arrival_times without_stragglers(const arrival_times& arrivals) {
    const time_ns usual = typical(arrivals);
    const time_ns limit = usual + (std::ranges::max(arrivals) - usual) / 2;
    arrival_times out = arrivals;
    for (time_ns& t : out)
        if (t > limit) t = usual;
    return out;
}

arrival_times without_noise(const arrival_times& arrivals) {
    const time_ns usual = typical(arrivals);
    arrival_times out = arrivals;
    for (time_ns& t : out) t = std::min(t, usual);
    return out;
}

arrival_times balanced(const arrival_times& arrivals) {
    double sum = 0;
    for (const time_ns t : arrivals) sum += static_cast<double>(t.count());
    const time_ns mean(std::llround(sum / static_cast<double>(arrivals.size())));
    return arrival_times(arrivals.size(), mean);
}

}  // namespace rubato::report
