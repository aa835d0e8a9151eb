#include "rubato/pipeline.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace rubato {
namespace {

struct tracked {
    std::vector<std::int64_t> held{};
    bool under_way = false;
};

TEST(pipeline, needs_a_buffer_and_a_step) {
    std::vector<tracked> none;
    std::vector<tracked> one(1);
    const auto nothing = [](auto&&...) {};
    EXPECT_THROW(pipeline_tiled_window(3, 1, none, nothing, nothing, nothing), std::invalid_argument);
    EXPECT_THROW(pipeline_tiled_window(3, 0, one, nothing, nothing, nothing), std::invalid_argument);
}

TEST(pipeline, every_step_is_computed_started_and_finished_once_in_order) {
    for (const std::int64_t steps : {0, 1, 2, 5, 12, 13}) {
        for (const std::int64_t tile : {1, 2, 5, 20}) {
            for (const std::size_t window : {1U, 2U, 3U, 7U}) {
                std::vector<tracked> buffers(window);
                std::int64_t next = 0;
                std::vector<std::int64_t> sent;
                std::size_t under_way = 0;
                std::size_t most = 0;
                int started = 0;
                pipeline_tiled_window(
                    steps, tile, buffers,
                    [&](std::int64_t i, tracked& b) {
                        EXPECT_EQ(i, next++);
                        EXPECT_FALSE(b.under_way);
                        b.held.push_back(i);
                    },
                    [&](tracked& b) {
                        EXPECT_LE(std::ssize(b.held), tile);
                        b.under_way = true;
                        most = std::max(most, ++under_way);
                        ++started;
                    },
                    [&](tracked& b) {
                        EXPECT_TRUE(std::exchange(b.under_way, false));
                        --under_way;
                        sent.insert(sent.end(), b.held.begin(), b.held.end());
                        b.held.clear();
                    });
                EXPECT_EQ(next, steps);
                EXPECT_EQ(under_way, 0U);
                EXPECT_EQ(started, (steps + tile - 1) / tile);
                EXPECT_EQ(most, std::min<std::size_t>(window, static_cast<std::size_t>(started)));
                ASSERT_EQ(std::ssize(sent), steps);
                for (std::int64_t i = 0; i < steps; ++i) EXPECT_EQ(sent[static_cast<std::size_t>(i)], i);
            }
        }
    }
}

TEST(pipeline, a_short_search_finds_the_best_shape) {
    for (const pipeline_shape best : {pipeline_shape{8, 4}, {1, 1}, {64, 2}}) {
        int tried = 0;
        const auto cost = [&](pipeline_shape s) {
            ++tried;
            const auto far = [](std::int64_t a, std::int64_t b) {
                return std::abs(std::log2(static_cast<double>(a)) - std::log2(static_cast<double>(b)));
            };
            return far(s.tile, best.tile) + 0.3 * far(s.window, best.window);
        };
        EXPECT_EQ(best_pipeline(64, 8, cost), best);
        EXPECT_LE(tried, 24);
    }
    // With one step there is nothing to find.
    EXPECT_EQ(best_pipeline(1, 1, [](pipeline_shape) { return 1.; }), (pipeline_shape{1, 1}));
}

}  // namespace
}  // namespace rubato
