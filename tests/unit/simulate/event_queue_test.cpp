#include "simulate/event_queue.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <tuple>

namespace rubato {
namespace {

using entry = std::tuple<std::int64_t, std::uint32_t, bool>;

// Random pushes and pops, never into the past, against a set. Small ranges make for many events at one time.
TEST(event_queue, agrees_with_a_sorted_set) {
    std::mt19937 random(1);
    for (const std::int64_t range : {1, 3, 1000, 1000000000}) {
        for (const std::int64_t start : {std::int64_t{0}, std::int64_t{-500}, std::int64_t{-1} << 62}) {
            event_queue queue;
            std::set<entry> expected;
            std::int64_t now = start;
            for (int i = 0; i < 5000; ++i) {
                const bool draining = i > 4000;
                if (!draining && random() % 5 < 3) {
                    const event e{now + static_cast<std::int64_t>(random()) % range,
                                  static_cast<std::uint32_t>(random() % 50), random() % 2 == 0};
                    if (expected.emplace(e.time, e.step, e.arrives).second) queue.push(e);
                }
                ASSERT_EQ(queue.empty(), expected.empty());
                if (expected.empty() || (!draining && random() % 5 < 2)) continue;
                const event e = queue.pop();
                ASSERT_EQ(entry(e.time, e.step, e.arrives), *expected.begin());
                expected.erase(expected.begin());
                now = e.time;
            }
        }
    }
}

}  // namespace
}  // namespace rubato
