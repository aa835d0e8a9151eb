#include "simulator/arrival/predictor.hpp"

#include "rubato/problem.hpp"
#include "support/error_text.hpp"
#include "support/temporary_file.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace rubato::simulator {
namespace {

using times = std::vector<time_ns>;

std::unique_ptr<predictor> after(std::string_view text, const std::vector<std::int64_t>& seen, std::int32_t ahead = 1) {
    auto p = make_predictor(text, ahead);
    for (const std::int64_t t : seen) p->observe(time_ns(t));
    return p;
}
std::int64_t value(std::string_view text, const std::vector<std::int64_t>& seen, std::int32_t ahead = 1) {
    return after(text, seen, ahead)->next().value.count();
}

TEST(predictor, knows_nothing_at_first) {
    for (const std::string_view text : predictors_to_try()) {
        const auto p = make_predictor(text);
        EXPECT_EQ(p->next().value, time_ns(0)) << text;
        EXPECT_EQ(p->next().uncertainty, unsure) << text;
        p->observe(no_arrival);
        EXPECT_EQ(p->next().uncertainty, unsure) << text;
        p->observe(time_ns(7));
        EXPECT_EQ(p->next().uncertainty, unsure) << text;
        p->observe(time_ns(7));
        EXPECT_NE(p->next().uncertainty, unsure) << text;
    }
}

TEST(predictor, last) { EXPECT_EQ(value("last", {3, 1, 4}), 4); }

TEST(predictor, balanced_expects_nobody_late) {
    EXPECT_EQ(value("balanced", {3, 5}), 0);
    EXPECT_EQ(after("balanced", {3, 5, 7})->next().uncertainty, time_ns(6));
}

TEST(predictor, average_of_the_window) {
    EXPECT_EQ(value("average:window=3", {100, 1, 2, 6}), 3);
    EXPECT_EQ(value("average:window=3", {1, 2}), 2);  // 1.5, halves up
    EXPECT_EQ(value("average:window=2", {-1, -2}), -1);
    EXPECT_EQ(value("average:window=1", {5, 9}), 9);
}

TEST(predictor, exponential_goes_part_of_the_way) {
    EXPECT_EQ(value("exponential:weight=0.5", {100}), 100);
    EXPECT_EQ(value("exponential:weight=0.5", {100, 200}), 150);
    EXPECT_EQ(value("exponential:weight=0.5", {100, 200, 100}), 125);
    EXPECT_EQ(value("exponential:weight=1", {100, 7}), 7);
    EXPECT_EQ(value("exponential:weight=0.001", {0, 1'000'000}), 1007);  // the weight is a multiple of 2^-16
}

TEST(predictor, trend_continues_a_line) {
    EXPECT_EQ(value("trend:window=4", {5}), 5);
    EXPECT_EQ(value("trend:window=4", {5, 8}), 11);
    EXPECT_EQ(value("trend:window=3", {1000, 10, 20, 30}), 40);
    EXPECT_EQ(value("trend:window=3", {30, 20, 10}, 3), -20);
    EXPECT_EQ(value("trend:window=4", {0, 3, 2, 5}), 6);  // 2.5 + 1.4 * 2.5
}

// The same in floating point, with the formula of the textbook.
TEST(predictor, trend_is_least_squares) {
    std::vector<std::int64_t> seen;
    std::uint32_t random = 1;
    for (int i = 0; i < 40; ++i) {
        random = random * 1664525U + 1013904223U;
        seen.push_back(random >> 8U);
        const std::size_t n = std::min<std::size_t>(seen.size(), 7);
        if (n < 2) continue;
        double mx = 0, my = 0, xy = 0, xx = 0;
        for (std::size_t x = 0; x < n; ++x) {
            mx += static_cast<double>(x) / static_cast<double>(n);
            my += static_cast<double>(seen[seen.size() - n + x]) / static_cast<double>(n);
        }
        for (std::size_t x = 0; x < n; ++x) {
            xy += (static_cast<double>(x) - mx) * (static_cast<double>(seen[seen.size() - n + x]) - my);
            xx += (static_cast<double>(x) - mx) * (static_cast<double>(x) - mx);
        }
        EXPECT_NEAR(static_cast<double>(value("trend:window=7", seen, 2)),
                    my + xy / xx * (static_cast<double>(n) + 1 - mx), 1);
    }
}

TEST(predictor, uncertainty_is_the_mean_of_the_last_errors) {
    EXPECT_EQ(after("last", {0, 10})->next().uncertainty, time_ns(10));
    EXPECT_EQ(after("last", {0, 10, 30})->next().uncertainty, time_ns(15));
    EXPECT_EQ(after("last", {0, 100, 0, 1, 2, 3, 4, 5, 6, 7, 8})->next().uncertainty, time_ns(1));  // eight are kept
    EXPECT_EQ(after("trend:window=2", {0, 10, 20, 30, 41})->next().uncertainty, time_ns(3));        // 10, 0, 0, 1
}

TEST(predictor, uncertainty_is_that_of_predictions_so_far_ahead) {
    EXPECT_EQ(after("last", {0, 10}, 2)->next().uncertainty, unsure);
    EXPECT_EQ(after("last", {0, 10, 20, 30}, 2)->next().uncertainty, time_ns(20));
    EXPECT_EQ(after("last", {0, 10, 20, 30}, 3)->next().uncertainty, time_ns(30));
    EXPECT_EQ(after("trend:window=4", {0, 10, 20, 30, 40}, 2)->next().value, time_ns(60));
}

TEST(predictor, an_absent_time_changes_nothing) {
    for (const std::string_view text : predictors_to_try()) {
        const auto p = after(text, {4, 6, 9});
        const prediction before = p->next();
        p->observe(no_arrival);
        EXPECT_EQ(p->next().value, before.value) << text;
        EXPECT_EQ(p->next().uncertainty, before.uncertainty) << text;
    }
}

TEST(predictor, times_of_any_size_do_not_overflow) {
    constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max();
    for (const std::string_view text :
         {"balanced", "last", "average:window=1024", "exponential:weight=0.3", "trend:window=1024", "trend:window=2"}) {
        for (const std::int32_t ahead : {1, 1024}) {
            const auto p = make_predictor(text, ahead);
            for (int i = 0; i < 1100; ++i) p->observe(time_ns(i % 3 == 0 ? far : -far));
            EXPECT_LE(std::chrono::abs(p->next().value), longest_time) << text;
            EXPECT_LE(p->next().uncertainty, longest_time) << text;
        }
    }
    EXPECT_EQ(value("average:window=8", std::vector<std::int64_t>(8, far)), longest_time.count());
}

TEST(predictor, errors) {
    const auto refusal = [](std::string_view text) { return error_text([text] { make_predictor(text); }); };
    EXPECT_EQ(refusal("avarage:window=5"),
              "unknown predictor 'avarage': rubato knows balanced, last, average, exponential, trend, and for a whole "
              "pattern given:TRACE; use one of them, for example average:window=5");
    EXPECT_EQ(refusal("").find("unknown predictor ''"), 0U);
    EXPECT_EQ(refusal("given:file").find("unknown predictor 'given'"), 0U);
    EXPECT_EQ(refusal("average"), "'average' lacks the parameter 'window': it has no default; add window=...");
    EXPECT_EQ(refusal("last:window=2").find("unknown parameter 'window' in 'last:window=2': it takes none"), 0U);
    EXPECT_EQ(refusal("average:window=0"), "'0' is not a window: it must be a whole number from 1 to 1024; correct it");
    EXPECT_EQ(refusal("average:window=1025").find("'1025' is not a window"), 0U);
    EXPECT_EQ(refusal("trend:window=1").find("'1' is not a window: it must be a whole number from 2 to 1024"), 0U);
    EXPECT_EQ(refusal("exponential:weight=0").find("'0' is not a weight: it must be a number from 0.001 to 1"), 0U);
    EXPECT_EQ(refusal("exponential:weight=nan").find("'nan' is not a weight"), 0U);
}

times next(const pattern_predictor& p) {
    times arrivals;
    EXPECT_TRUE(p.next(arrivals));
    return arrivals;
}
times list(const std::vector<std::int64_t>& ns) {
    times all;
    for (const std::int64_t t : ns) all.push_back(time_ns(t));
    return all;
}

TEST(pattern_predictor, counts_from_the_earliest) {
    pattern_predictor p("average:window=2", 3);
    times arrivals;
    EXPECT_FALSE(p.next(arrivals));
    EXPECT_EQ(p.uncertainty(), unsure);
    p.observe(list({1000, 1010, 1030}));
    EXPECT_EQ(next(p), list({0, 10, 30}));
    p.observe(list({5020, 5000, 5030}));
    EXPECT_EQ(next(p), list({5, 0, 25}));     // 10, 5, 30
    EXPECT_EQ(p.uncertainty(), time_ns(10));  // off by 20, 10 and 0
}

TEST(pattern_predictor, an_absent_rank_keeps_its_prediction) {
    pattern_predictor p("last", 3);
    p.observe(times(3, no_arrival));
    times arrivals;
    EXPECT_FALSE(p.next(arrivals));
    p.observe({{time_ns(50), no_arrival, time_ns(70)}});
    EXPECT_EQ(next(p), list({0, 0, 20}));
    p.observe({{time_ns(115), time_ns(110), no_arrival}});
    EXPECT_EQ(next(p), list({5, 0, 20}));
    EXPECT_EQ(p.uncertainty(), time_ns(5));  // rank 0 alone can tell
}

TEST(pattern_predictor, nobody_is_predicted_before_the_earliest) {
    pattern_predictor p("trend:window=2", 3);
    p.observe(list({0, 50, 100}));
    p.observe(list({0, 10, 100}));
    EXPECT_EQ(next(p), list({0, 0, 100}));
}

TEST(pattern_predictor, given_by_a_trace) {
    const temporary_file trace("10 10 12\n20 23 20\n35 30 30\n");
    pattern_predictor p("given:" + trace.path(), 3);
    p.observe(list({0, 0, 2}));
    EXPECT_EQ(next(p), list({0, 3, 0}));
    p.observe(list({6, 0, no_arrival.count()}));
    EXPECT_EQ(next(p), list({5, 0, 0}));
    EXPECT_EQ(p.uncertainty(), time_ns(5));  // off by 6 and 3
    p.observe(list({5, 0, 0}));
    EXPECT_EQ(next(p), list({0, 0, 2}));  // begins again
    pattern_predictor later("given:" + trace.path(), 3, 2);
    later.observe(list({0, 0, 0}));
    EXPECT_EQ(next(later), list({5, 0, 0}));
    EXPECT_NE(error_text([&] { pattern_predictor("given:" + trace.path(), 4); }).find("there are 4 ranks"),
              std::string::npos);
    EXPECT_EQ(error_text([&] { pattern_predictor("given:", 4); }).find("cannot read trace ''"), 0U);
}

// One answer, written down, so that a machine or compiler that computes differently shows.
TEST(pattern_predictor, is_the_same_everywhere) {
    std::vector<std::int64_t> sums;
    for (const std::string_view text : predictors_to_try()) {
        pattern_predictor p(text, 8, 2);
        std::uint32_t random = 7;
        times arrivals(8);
        std::int64_t sum = 0;
        for (int k = 0; k < 50; ++k) {
            for (time_ns& t : arrivals) t = time_ns((random = random * 1664525U + 1013904223U) >> 4U);
            p.observe(arrivals);
            for (const time_ns t : next(p)) sum = sum * 31 % 1'000'000'007 + t.count();
        }
        sums.push_back(sum + p.uncertainty().count());
    }
    EXPECT_EQ(sums, (std::vector<std::int64_t>{110026392, 479108470, 1028625356, 799348764, 1071478776}));
}

TEST(edge, continues_at_the_same_speed) {
    EXPECT_EQ(edge(time_ns(1000), time_ns(1500), 0.5).value, time_ns(2000));
    EXPECT_EQ(edge(time_ns(1000), time_ns(1500), 0.5).uncertainty, time_ns(500));
    EXPECT_EQ(edge(time_ns(-100), time_ns(200), 0.75).value, time_ns(300));
    EXPECT_EQ(edge(time_ns(10), time_ns(40), 0.1).value, time_ns(310));
    EXPECT_EQ(edge(time_ns(5), time_ns(5), 0.3).value, time_ns(5));
}

TEST(edge, does_not_overflow) {
    constexpr time_ns last = time_ns::max();
    EXPECT_EQ(edge(last - time_ns(4), last - time_ns(2), 0.25).value, last);
    EXPECT_EQ(edge(time_ns(0), time_ns(1000), std::numeric_limits<double>::denorm_min()).value, longest_time);
    EXPECT_EQ(edge(time_ns::min(), last, 0.5).value, last);
}

TEST(edge, errors) {
    const auto refusal = [](std::int64_t now, double done) {
        return error_text([=] { edge(time_ns(0), time_ns(now), done); });
    };
    for (const double done : {0., 1., -0.5, 1.5, std::numeric_limits<double>::quiet_NaN()})
        EXPECT_EQ(refusal(1, done).find("a fraction of "), 0U) << done;
    EXPECT_EQ(refusal(-1, 0.5), "an edge before the start: work is done after it began; give times of one clock");
}

}  // namespace
}  // namespace rubato::simulator
