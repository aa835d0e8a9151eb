// Random draws of tests that a seed repeats.
#pragma once

#include "rubato/core.hpp"

#include <random>
#include <vector>

namespace rubato::testing {

class dice {
public:
    explicit dice(std::uint64_t seed) : random_(seed) {}

    std::uint64_t operator()() { return random_(); }
    /// Below n.
    std::int32_t draw(std::int32_t n) { return static_cast<std::int32_t>(random_() % static_cast<std::uint64_t>(n)); }
    bool chance(int percent) { return draw(100) < percent; }
    time_ns up_to(time_ns most) {
        return time_ns(static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(most.count() + 1)));
    }
    template <class T>
    const T& one_of(const std::vector<T>& all) {
        return all[static_cast<std::size_t>(draw(static_cast<std::int32_t>(all.size())))];
    }

private:
    std::mt19937_64 random_;
};

}  // namespace rubato::testing
