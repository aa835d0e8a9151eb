#include "direct/level.hpp"

#include "rubato/arrival.hpp"

#include <algorithm>

namespace rubato::direct {
namespace {

time_ns median(std::vector<time_ns> times) {
    std::ranges::sort(times);
    const std::size_t middle = times.size() / 2;
    return times.size() % 2 == 1 ? times[middle] : times[middle - 1] + (times[middle] - times[middle - 1]) / 2;
}

time_ns mean_period(std::span<const cost> calls) {
    time_ns sum{};
    for (const cost& c : calls) sum += c.period;
    return sum / static_cast<time_ns::rep>(std::max<std::size_t>(1, calls.size()));
}

}  // namespace

cost cost_of(const sample& s, std::int64_t bytes) {
    // Clocks agree only up to a bound, so a very short tail may seem negative.
    const time_ns measured = std::max(tail(s.arrivals, s.exits), time_ns{});
    const double scale = s.bytes > 0 ? static_cast<double>(bytes) / static_cast<double>(s.bytes) : 1;
    const time_ns last = std::ranges::max(s.arrivals);
    return {part(measured, scale), std::ranges::max(s.next) - last, std::ranges::min(s.next) < last};
}

level level_of(std::span<const cost> calls) {
    level l;
    std::vector<time_ns> tails;
    for (const cost& c : calls) {
        tails.push_back(c.tail);
        l.runs_ahead |= c.runs_ahead;
    }
    l.tail = median(std::move(tails));
    l.pace = mean_period(calls);
    const std::size_t half = calls.size() / 2;
    const time_ns change = mean_period(calls.first(half)) - mean_period(calls.subspan(half));
    l.noise = std::max(change, -change) / 2;
    return l;
}

}  // namespace rubato::direct
