#include "simulator/simulate/event_queue.hpp"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <tuple>
#include <vector>

namespace rubato::simulator {
namespace {

using entry = std::tuple<std::int64_t, std::uint32_t, std::uint32_t>;

bool next(event_queue& queue, std::vector<event>& batch) {
    const std::int64_t window = queue.next_window();
    if (window == event_queue::never) return false;
    queue.take(window, batch);
    return true;
}

/// Random pushes, never for a window that has passed, against a sorted set. Small ranges make for many events at one
/// time, wide windows for events that are pushed for the present one.
TEST(event_queue, gives_windows_in_their_order) {
    std::mt19937 random(1);
    for (const unsigned shift : {0U, 1U, 10U}) {
        for (const std::int64_t range : {1, 3, 1000, 1000000000}) {
            for (const std::int64_t start : {std::int64_t{0}, std::int64_t{-500}, std::int64_t{-1} << 62}) {
                event_queue queue(shift);
                std::multiset<entry> expected;
                std::int64_t now = start;
                const auto push_some = [&] {
                    for (int n = static_cast<int>(random() % 8); n > 0; --n) {
                        const event e{now + static_cast<std::int64_t>(random()) % range,
                                      static_cast<std::uint32_t>(random() % 50),
                                      static_cast<std::uint32_t>(random() % 20)};
                        queue.push(e);
                        expected.emplace(e.time, e.rank, e.what);
                    }
                };
                std::vector<event> batch;
                for (int i = 0; i < 700 || !expected.empty(); ++i) {
                    if (i < 700) push_some();
                    ASSERT_EQ(next(queue, batch), !expected.empty());
                    if (expected.empty()) continue;
                    const std::int64_t window = std::get<0>(*expected.begin()) >> shift;
                    ASSERT_TRUE(queue.is_now(window << shift));
                    for (const event& e : batch) {
                        ASSERT_EQ(e.time >> shift, window);
                        const auto found = expected.find({e.time, e.rank, e.what});
                        ASSERT_NE(found, expected.end());
                        expected.erase(found);
                    }
                    ASSERT_TRUE(expected.empty() || std::get<0>(*expected.begin()) >> shift > window);
                    now = std::max(now, batch.front().time);
                }
                ASSERT_EQ(queue.next_window(), event_queue::never);
            }
        }
    }
}

TEST(event_queue, takes_events_for_the_present_window) {
    event_queue queue(4);
    queue.push({100, 1, 1});
    std::vector<event> batch;
    ASSERT_TRUE(next(queue, batch));
    queue.push({97, 2, 2});  // in the same window, from 96 to 111
    queue.push({112, 3, 3});
    ASSERT_TRUE(next(queue, batch));
    ASSERT_EQ(batch.size(), 1U);
    EXPECT_EQ(batch.front().rank, 2U);
    ASSERT_TRUE(next(queue, batch));
    EXPECT_EQ(batch.front().rank, 3U);
    EXPECT_FALSE(next(queue, batch));
}

// Where something happens that is no event of the queue.
TEST(event_queue, takes_windows_before_its_next) {
    event_queue queue(0);
    std::vector<event> batch;
    for (const std::int64_t time : {100, 1000, 7}) queue.push({time, 0, 0});
    std::vector<std::int64_t> times;
    for (const std::int64_t window : {3, 7, 40, 41, 100, 999, 1000, 2000}) {
        queue.take(window, batch);
        EXPECT_TRUE(queue.is_now(window));
        for (const event& e : batch) {
            EXPECT_EQ(e.time, window);
            times.push_back(e.time);
        }
        if (window == 40) queue.push({41, 0, 0});
    }
    EXPECT_EQ(times, (std::vector<std::int64_t>{7, 41, 100, 1000}));
    EXPECT_EQ(queue.next_window(), event_queue::never);
}

}  // namespace
}  // namespace rubato::simulator
