// Local search with incremental evaluation: swaps of two ranks, worse ones accepted less and less often, and at the end
// only better ones.
#include "base/core/splitmix.hpp"
#include "simulator/topology/remap.hpp"

#include <algorithm>
#include <cmath>

namespace rubato::simulator {

std::uint64_t steps_for(std::uint32_t ranks) { return std::clamp<std::uint64_t>(200ULL * ranks, 20000, 400000); }

mapping anneal(const routes& r, const traffic& t, const mapping& start, aim what, std::uint64_t steps,
               std::uint64_t seed) {
    placement now(r, t, start);
    mapping best = start;
    if (t.ranks < 2) return best;
    base::splitmix random(seed);
    const auto chance = [&random] { return static_cast<double>(random.next() >> 11) / 9007199254740992.; };
    const auto pick = [&] {
        const auto a = static_cast<std::uint32_t>(random.below(t.ranks));
        const auto b = static_cast<std::uint32_t>(random.below(t.ranks - 1));
        return std::pair(a, b < a ? b : b + 1);
    };
    double present = score(now.sums(), what);
    double lowest = present;
    // What a swap changes on average, from which the search starts.
    double change = 0;
    constexpr int samples = 64;
    for (int i = 0; i < samples; ++i) {
        const auto [a, b] = pick();
        now.swap(a, b);
        change += std::abs(score(now.sums(), what) - present) / samples;
        now.swap(a, b);
    }
    const double hot = std::max(change / 2, 1e-9);
    for (std::uint64_t i = 0; i < steps; ++i) {
        const double left = 1 - static_cast<double>(i) / static_cast<double>(steps);
        const double heat = hot * left * left * left;
        const auto [a, b] = pick();
        now.swap(a, b);
        const double then = score(now.sums(), what);
        if (then > present && chance() >= std::exp((present - then) / heat)) {
            now.swap(a, b);
            continue;
        }
        present = then;
        if (present < lowest - 1e-9) {
            lowest = present;
            best = now.where();
        }
    }
    return best;
}

}  // namespace rubato::simulator
