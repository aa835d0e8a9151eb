#include "rubato/arrival.hpp"

#include "support/error_text.hpp"
#include "support/temporary_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rubato::simulator {
namespace {

using std::chrono_literals::operator""ns;
using std::chrono_literals::operator""us;
using std::chrono_literals::operator""ms;
using times = std::vector<time_ns>;

std::string refusal(std::string_view pattern, std::int32_t ranks = 4) {
    return error_text([&] { parse_arrivals(pattern, ranks); });
}

double mean(const times& t) {
    return static_cast<double>(std::accumulate(t.begin(), t.end(), time_ns{}).count()) / static_cast<double>(t.size());
}

double deviation(const times& t) {
    double sum = 0;
    const double middle = mean(t);
    for (const time_ns x : t) sum += std::pow(static_cast<double>(x.count()) - middle, 2);
    return std::sqrt(sum / static_cast<double>(t.size()));
}

TEST(arrival, fixed_patterns) {
    EXPECT_EQ(parse_arrivals("balanced", 3), (times{0ns, 0ns, 0ns}));
    EXPECT_EQ(parse_arrivals("single:rank=1,delay=60ms", 3), (times{0ns, 60ms, 0ns}));
    EXPECT_EQ(parse_arrivals("single:delay=60,rank=0", 2), (times{60ns, 0ns}));
    EXPECT_EQ(parse_arrivals("alternating:even=1us,odd=5ms", 5), (times{1us, 5ms, 1us, 5ms, 1us}));
}

TEST(arrival, plain_list) {
    EXPECT_EQ(parse_arrivals("0,7,5ms", 3), (times{0ns, 7ns, 5ms}));
    EXPECT_EQ(parse_arrivals("0, 1.5us ,.5ms", 3), (times{0ns, 1500ns, 500us}));
    EXPECT_EQ(parse_arrivals("5us", 1), (times{5us}));
}

TEST(arrival, random_patterns_never_change) {
    const auto golden = [](std::string_view pattern) { return parse_arrivals(pattern, 4); };
    EXPECT_EQ(golden("uniform:max=50ms,seed=1"), (times{44239491ns, 28490576ns, 35445846ns, 27021677ns}));
    EXPECT_EQ(golden("uniform:max=50ms,seed=2"), (times{28251491ns, 6668122ns, 20472430ns, 42947314ns}));
    EXPECT_EQ(golden("normal:mean=10ms,sd=2ms,seed=1"), (times{11865214ns, 10912145ns, 11955367ns, 13805941ns}));
    EXPECT_EQ(golden("gamma:shape=2,scale=5ms,seed=1"), (times{15919233ns, 11637547ns, 16371414ns, 27640953ns}));
    EXPECT_EQ(golden("gamma:shape=0.5,scale=5ms,seed=1"), (times{3321405ns, 1375130ns, 843372ns, 2678959ns}));
    EXPECT_EQ(golden("bernoulli:p=0.5,delay=20ms,seed=3"), (times{0ns, 0ns, 0ns, 20ms}));
    // So large that twelve digits of the logarithm show.
    EXPECT_EQ(golden("normal:mean=10000s,sd=1000s,seed=1"),
              (times{10932607128133ns, 10456072568984ns, 10977683486975ns, 11902970492707ns}));
    EXPECT_EQ(golden("gamma:shape=0.5,scale=1000s,seed=1"),
              (times{664280907032ns, 275025957661ns, 168674473027ns, 535791730148ns}));
    EXPECT_EQ(parse_arrivals("uniform:max=50ms,seed=1", 4, 1), (times{37854205ns, 19600183ns, 34172881ns, 29088291ns}));
}

TEST(arrival, a_rank_draws_the_same_among_any_number) {
    for (const std::string_view pattern : {"uniform:max=1s,seed=3", "gamma:shape=0.7,scale=1ms,seed=3"}) {
        const times few = parse_arrivals(pattern, 5, 7);
        const times many = parse_arrivals(pattern, 500, 7);
        EXPECT_TRUE(std::equal(few.begin(), few.end(), many.begin())) << pattern;
        EXPECT_NE(parse_arrivals(pattern, 5, 8), few) << pattern;
    }
}

// Bounds are five standard errors of 40000 draws; a fixed seed makes them pass or fail for ever.
TEST(arrival, random_patterns_have_their_moments) {
    constexpr std::int32_t n = 40000;
    const times uniform = parse_arrivals("uniform:max=1ms,seed=5", n);
    EXPECT_NEAR(mean(uniform), 5e5, 7300);
    EXPECT_NEAR(deviation(uniform), 1e6 / std::sqrt(12.), 4000);
    EXPECT_LE(std::ranges::max(uniform), 1ms);

    const times normal = parse_arrivals("normal:mean=1s,sd=1ms,seed=5", n);
    EXPECT_NEAR(mean(normal), 1e9, 25000);
    EXPECT_NEAR(deviation(normal), 1e6, 18000);
    const auto within = std::ranges::count_if(normal, [](time_ns t) { return t >= 999ms && t <= 1001ms; });
    EXPECT_NEAR(static_cast<double>(within), 0.682689 * n, 465);

    for (const double shape : {0.3, 1., 2., 9.5}) {
        const times gamma = parse_arrivals("gamma:shape=" + std::to_string(shape) + ",scale=1ms,seed=5", n);
        EXPECT_NEAR(mean(gamma), shape * 1e6, 25000 * std::sqrt(shape)) << shape;
        EXPECT_NEAR(deviation(gamma), std::sqrt(shape) * 1e6, 12500 * std::sqrt(2 * shape + 6)) << shape;
    }

    const times bernoulli = parse_arrivals("bernoulli:p=0.1,delay=1ms,seed=5", n);
    EXPECT_NEAR(mean(bernoulli), 1e5, 7500);
    for (const time_ns t : bernoulli) ASSERT_TRUE(t == 0ns || t == 1ms);
}

TEST(arrival, neighbouring_ranks_seeds_and_invocations_are_independent) {
    constexpr std::int32_t n = 20000;
    const auto correlation = [](const times& a, const times& b) {
        double sum = 0;
        const double mean_a = mean(a), mean_b = mean(b);
        for (std::size_t i = 0; i < a.size(); ++i)
            sum += (static_cast<double>(a[i].count()) - mean_a) * (static_cast<double>(b[i].count()) - mean_b);
        return sum / static_cast<double>(a.size()) / deviation(a) / deviation(b);
    };
    const times a = parse_arrivals("uniform:max=1s,seed=1", n);
    times shifted = a;
    std::rotate(shifted.begin(), shifted.begin() + 1, shifted.end());
    EXPECT_NEAR(correlation(a, shifted), 0, 0.035);
    EXPECT_NEAR(correlation(a, parse_arrivals("uniform:max=1s,seed=2", n)), 0, 0.035);
    EXPECT_NEAR(correlation(a, parse_arrivals("uniform:max=1s,seed=1", n, 1)), 0, 0.035);
}

TEST(arrival, extremes) {
    for (const time_ns t : parse_arrivals("normal:mean=0,sd=1ms,seed=1", 100)) EXPECT_GE(t, 0ns);
    EXPECT_EQ(parse_arrivals("bernoulli:p=0,delay=1ms,seed=1", 100), times(100, 0ns));
    EXPECT_EQ(parse_arrivals("bernoulli:p=1,delay=1ms,seed=1", 100), times(100, 1ms));
    EXPECT_EQ(parse_arrivals("normal:mean=3us,sd=0,seed=1", 2), times(2, 3us));
    for (const time_ns t : parse_arrivals("gamma:shape=0.001,scale=1s,seed=1", 100)) EXPECT_GE(t, 0ns);
    for (const time_ns t : parse_arrivals("gamma:shape=1e6,scale=1e18,seed=1", 10))
        EXPECT_LE(t, time_ns(1'000'000'000'000'000'000));
}

TEST(arrival, trace) {
    const temporary_file file("# two invocations\n0 5us\t7\n\n  # between\n1ms,2ms , 3ms\r\n");
    const std::string pattern = "trace:" + file.path();
    EXPECT_EQ(parse_arrivals(pattern, 3), (times{0ns, 5us, 7ns}));
    EXPECT_EQ(parse_arrivals(pattern, 3, 1), (times{1ms, 2ms, 3ms}));
    EXPECT_EQ(parse_arrivals(pattern, 3, 2), (times{0ns, 5us, 7ns}));
    EXPECT_EQ(parse_arrivals(pattern, 3, 5), (times{1ms, 2ms, 3ms}));
}

TEST(arrival, trace_errors) {
    EXPECT_EQ(refusal("trace:/nonexistent/t"),
              "cannot read trace '/nonexistent/t': No such file or directory; check the name of the file");
    EXPECT_EQ(refusal("trace:" + ::testing::TempDir()).substr(0, 17), "cannot read trace");
    const temporary_file empty("# nothing\n\n");
    EXPECT_EQ(refusal("trace:" + empty.path()),
              "trace '" + empty.path() + "' is empty: blank lines and lines with # do not count; add a line");
    const temporary_file narrow("#\n1 2 3 4\n1 2 3\n");
    EXPECT_EQ(refusal("trace:" + narrow.path()), "line 3 of trace '" + narrow.path() +
                                                     "' holds 3 times: there are 4 ranks; give each line as many times "
                                                     "as ranks");
    const temporary_file bad("1 2 soon 4\n");
    EXPECT_EQ(refusal("trace:" + bad.path()).find("line 1 of trace '" + bad.path() + "': 'soon' is not a time"), 0U);
}

TEST(arrival, errors) {
    EXPECT_EQ(refusal("singel:rank=1,delay=5ms"),
              "unknown arrival pattern 'singel': rubato knows balanced, single, alternating, uniform, normal, gamma, "
              "bernoulli, trace, and plain lists of times; use one of them, for example single:rank=0,delay=5ms");
    EXPECT_EQ(refusal("").find("unknown arrival pattern ''"), 0U);
    EXPECT_EQ(refusal("single:rank=1,dealy=5ms"),
              "unknown parameter 'dealy' in 'single:rank=1,dealy=5ms': it takes rank, delay; correct or remove it");
    EXPECT_EQ(refusal("balanced:seed=1"),
              "unknown parameter 'seed' in 'balanced:seed=1': it takes none; correct or remove it");
    EXPECT_EQ(refusal("single:rank=1,delay=5ms,").find("unknown parameter ''"), 0U);
    EXPECT_EQ(refusal("single:rank=1"),
              "'single:rank=1' lacks the parameter 'delay': it has no default; add delay=...");
    EXPECT_EQ(refusal("uniform:max=5ms").find("'uniform:max=5ms' lacks the parameter 'seed'"), 0U);
    EXPECT_EQ(refusal("single:rank=1,rank=2,delay=5ms"),
              "parameter 'rank' is given twice in 'single:rank=1,rank=2,delay=5ms': only one value can be used; remove "
              "one of them");
    EXPECT_EQ(refusal("single:rank,delay=5ms"),
              "parameter 'rank' in 'single:rank,delay=5ms' has no value: a parameter is written name=value; write "
              "rank=...");
    EXPECT_EQ(refusal("single:rank=4,delay=5ms"),
              "'4' is not a rank: it must be a whole number from 0 to 3; correct it");
    EXPECT_EQ(refusal("single:rank=1,delay=-5ms").find("'-5ms' is not a time"), 0U);
    EXPECT_EQ(refusal("bernoulli:p=1.1,delay=1,seed=1"),
              "'1.1' is not a probability: it must be a number from 0 to 1; correct it");
    EXPECT_EQ(refusal("bernoulli:p=nan,delay=1,seed=1").find("'nan' is not a probability"), 0U);
    EXPECT_EQ(refusal("bernoulli:p=0.5x,delay=1,seed=1").find("'0.5x' is not a probability"), 0U);
    EXPECT_EQ(refusal("gamma:shape=0,scale=1,seed=1").find("'0' is not a shape"), 0U);
    EXPECT_EQ(refusal("uniform:max=1,seed=-1").find("'-1' is not a seed"), 0U);
    EXPECT_EQ(refusal("single:rank=1,delay=1e10s"),
              "'1e10s' is too late: a rank arrives within 31 years; give an earlier time");
    EXPECT_EQ(refusal("0,1,2"),
              "3 arrival times for 4 ranks: each rank has one arrival time; give as many times as ranks");
    EXPECT_EQ(refusal("0,1,2,3,4").find("5 arrival times for 4 ranks"), 0U);
    EXPECT_EQ(refusal("0,,1,2").find("'' is not a time"), 0U);
    EXPECT_EQ(refusal("0,1,2,").find("'' is not a time"), 0U);
    EXPECT_EQ(refusal("-1,0,0,0").find("'-1' is not a time"), 0U);
}

TEST(arrival, measures) {
    const times arrivals{3us, 1us, 9us};
    const times exits{12us, 10us, 11us};
    EXPECT_EQ(absolute_imbalance(arrivals), 8us);
    EXPECT_EQ(run_time(arrivals, exits), 11us);
    EXPECT_EQ(tail(arrivals, exits), 3us);
    EXPECT_EQ(absorption(5us, 11us, 8us), 2us);
    EXPECT_EQ(absorption(5us, 14us, 8us), -1us);
    EXPECT_EQ(normalised(2us, 8us), 0.25);
}

}  // namespace
}  // namespace rubato::simulator
