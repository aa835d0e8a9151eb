// Round trips as a known network would give them, with noise, must give its parameters back.
#include "simulator/network/loggp_fit.hpp"

#include "support/error_text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace rubato::simulator {
namespace {

struct protocol {
    std::int64_t begin;  // bytes
    double o, g, G;
    double o_per_byte = 0;
};

struct network {
    double L;
    std::vector<protocol> protocols;

    const protocol& at(std::int64_t bytes) const {
        const protocol* found = &protocols.front();
        for (const protocol& p : protocols)
            if (bytes >= p.begin) found = &p;
        return *found;
    }
};

constexpr int messages = 16;

std::vector<std::int64_t> sizes_to(std::int64_t most) {
    std::vector<std::int64_t> sizes{1, 8, 32};
    for (std::int64_t s = 128; s <= most; s *= 2) {
        sizes.push_back(s);
        if (s * 3 / 2 <= most) sizes.push_back(s * 3 / 2);
    }
    return sizes;
}

/// Equations II.5, II.8 and II.10. Noise only adds, as in life: a little always, much now and then.
std::vector<round_trips> measure(const network& n, double noise, double disturbed, unsigned seed, int repetitions = 30,
                                 std::int64_t most = 1 << 20) {
    std::mt19937 random(seed);
    const auto next = [&] { return static_cast<double>(random()) / 4294967296.; };
    const auto noisy = [&](double time) {
        const double factor = 1 + noise * next();
        return next() < disturbed ? time * factor * (2 + 20 * next()) : time * factor;
    };
    std::vector<round_trips> all;
    for (const std::int64_t bytes : sizes_to(most)) {
        const protocol& p = n.at(bytes);
        const double others = messages - 1;
        const auto more = static_cast<double>(bytes - 1);
        const double o = p.o + p.o_per_byte * more;
        const double single = 2 * (n.L + 2 * o + more * p.G);
        round_trips r{bytes, messages};
        for (int i = 0; i < repetitions; ++i) {
            r.single.push_back(noisy(single));
            r.burst.push_back(noisy(single + others * (p.g + more * p.G)));
            r.spaced.push_back(noisy(single + others * o));
        }
        all.push_back(std::move(r));
    }
    return all;
}

void expect_share(double value, double truth, double share) { EXPECT_NEAR(value, truth, truth * share); }

const network ethernet{45000, {{1, 3500, 9000, 8.5}}};

TEST(loggp_fit, exact_timings_give_the_exact_parameters) {
    const network_fit fit = fit_network(measure(ethernet, 0, 0, 1, 1));
    ASSERT_EQ(fit.ranges.size(), 1U);
    expect_share(fit.ranges[0].gap.first.value, 9000, 1e-6);
    expect_share(fit.ranges[0].gap.slope.value, 8.5, 1e-6);
    expect_share(fit.o.value, 3500, 1e-6);
    expect_share(fit.L.value, 45000, 1e-6);
    expect_share(fit.latency.value, 52000, 1e-6);
    EXPECT_LT(fit.ranges[0].gap.residual, 1e-6);
    const loggp m = loggp_of(fit, 0.123456, 65536);
    EXPECT_EQ(m, (loggp{45000, 3500, 9000, 8.5, 0.1235, 65536}));
    const hockney h = hockney_of(fit, 0.1);
    EXPECT_EQ(h, (hockney{52000, 8.5, 0.1}));
}

TEST(loggp_fit, noise_and_disturbed_repetitions) {
    for (unsigned seed = 1; seed <= 50; ++seed) {
        const network_fit fit = fit_network(measure(ethernet, 0.02, 0.3, seed));
        ASSERT_EQ(fit.ranges.size(), 1U) << seed;
        expect_share(fit.ranges[0].gap.first.value, 9000, 0.05);
        expect_share(fit.ranges[0].gap.slope.value, 8.5, 0.02);
        expect_share(fit.o.value, 3500, 0.05);
        expect_share(fit.L.value, 45000, 0.05);
    }
}

TEST(loggp_fit, eager_and_rendezvous) {
    const network n{6000, {{1, 1500, 2000, 0.7}, {65536, 20000, 40000, 1.0}}};
    for (unsigned seed = 1; seed <= 50; ++seed) {
        const network_fit fit = fit_network(measure(n, 0.01, 0.2, seed));
        ASSERT_EQ(fit.ranges.size(), 2U) << seed;
        EXPECT_EQ(fit.ranges[0].end, 49152);
        EXPECT_EQ(fit.ranges[1].begin, 65536);
        expect_share(fit.ranges[0].gap.first.value, 2000, 0.05);
        expect_share(fit.ranges[0].gap.slope.value, 0.7, 0.02);
        expect_share(fit.ranges[1].gap.first.value, 40000, 0.1);
        expect_share(fit.ranges[1].gap.slope.value, 1.0, 0.02);
        ASSERT_TRUE(fit.ranges[1].overhead);
        expect_share(fit.o.value, 1500, 0.05);
        EXPECT_EQ(fit.segments, 0U);
        expect_share(loggp_of(fit, 0, {}).G, 0.7, 0.02);
    }
}

TEST(loggp_fit, two_changes) {
    const network n{6000, {{1, 1000, 1500, 0.5}, {4096, 2000, 6000, 0.25}, {131072, 20000, 80000, 0.5}}};
    for (unsigned seed = 1; seed <= 50; ++seed) {
        const network_fit fit = fit_network(measure(n, 0.01, 0.2, seed));
        ASSERT_EQ(fit.ranges.size(), 3U) << seed;
        EXPECT_EQ(fit.ranges[1].begin, 4096);
        EXPECT_EQ(fit.ranges[2].begin, 131072);
        EXPECT_EQ(fit.segments, 1U);  // 4 KiB to 64 KiB
        const loggp m = loggp_of(fit, 0, 131072);
        expect_share(m.G, 0.25, 0.03);
        expect_share(m.g, 6000, 0.05);
        expect_share(m.o, 1000, 0.05);
        EXPECT_EQ(m.rendezvous, 131072);
    }
}

TEST(loggp_fit, one_odd_size_is_no_change) {
    for (std::size_t odd = 0; odd < sizes_to(1 << 20).size(); ++odd)
        for (const double factor : {0.6, 1.8}) {
            std::vector<round_trips> measured = measure(ethernet, 0.01, 0.1, 7);
            for (double& t : measured[odd].burst) t *= factor;
            const network_fit fit = fit_network(measured);
            EXPECT_EQ(fit.ranges.size(), 1U) << odd;
            expect_share(fit.ranges[0].gap.slope.value, 8.5, 0.02);
        }
}

TEST(loggp_fit, overhead_that_grows_and_is_not_measured_everywhere) {
    const network n{10000, {{1, 1000, 2000, 1, 0.1}}};
    std::vector<round_trips> measured = measure(n, 0.001, 0, 3);
    for (round_trips& r : measured)
        if (r.bytes > 65536) r.spaced.clear();
    const network_fit fit = fit_network(measured);
    ASSERT_TRUE(fit.ranges[0].overhead);
    expect_share(fit.ranges[0].overhead->slope.value, 0.1, 0.1);
    expect_share(fit.o.value, 1000, 0.05);
    EXPECT_FALSE(fit.sizes.back().overhead);
}

TEST(loggp_fit, latency_is_kept_where_overhead_hides_it) {
    std::vector<round_trips> measured = measure({-1000, {{1, 3000, 3000, 1}}}, 0, 0, 1, 1);
    const network_fit fit = fit_network(measured);
    EXPECT_EQ(fit.L.value, 0);
    const loggp m = loggp_of(fit, 0, {});
    EXPECT_EQ(m.L + 2 * m.o, fit.latency.value);
    EXPECT_EQ(m.rendezvous, loggp{}.rendezvous);
    for (round_trips& r : measured) r.burst = r.single;  // nothing is negative, whatever noise makes of it
    EXPECT_EQ(loggp_of(fit_network(measured), 0, {}).g, 0);
}

TEST(loggp_fit, short_messages_that_are_faster_than_the_line) {
    std::vector<round_trips> measured = measure({0, {{1, 100, 5000, 170}}}, 0.02, 0.1, 5);
    for (round_trips& r : measured)
        for (double& t : r.single) t = std::max(t - 2e6 * 170 / 1000, 40000.);  // 2000 bytes pass at once
    const network_fit fit = fit_network(measured);
    const hockney h = hockney_of(fit, 0);
    expect_share(h.alpha, 20000, 0.01);
    expect_share(h.beta, 170, 0.05);
}

TEST(loggp_fit, few_sizes) {
    EXPECT_EQ(fit_network(measure(ethernet, 0.01, 0, 1, 30, 32)).ranges.size(), 1U);
    std::vector<round_trips> two = measure(ethernet, 0, 0, 1, 1, 8);
    two.resize(2);
    EXPECT_EQ(error_text([&] { fit_network(two); }),
              "cannot fit a network: a line needs three message sizes; measure more");
    std::vector<round_trips> empty = measure(ethernet, 0, 0, 1, 1);
    empty[3].burst.clear();
    EXPECT_EQ(error_text([&] { fit_network(empty); }),
              "cannot fit a network: a message size was not measured; measure more");
}

/// Equations II.3 and II.4.
std::vector<double> fan(int ranks, double L, double o, double g, int f) {
    std::vector<double> times;
    for (int p = 1; p <= ranks; ++p)
        times.push_back(p <= f ? 2 * L + p * o + o : 2 * L + 2 * o + std::max((p - 1) * o, (p - f) * g));
    return times;
}

// II.2.3.1, with the bounds of its Fig. II.8.
TEST(loggp_fit, bounds_of_the_overhead) {
    std::vector<double> sends;
    for (int p = 1; p <= 16; ++p) sends.push_back(1600 + (p - 1) * 180);
    const overhead_bounds found = fit_overhead_bounds(sends);
    EXPECT_DOUBLE_EQ(found.least, 180);
    EXPECT_DOUBLE_EQ(found.most, 1600);
    // Disturbed measurements give bounds, too.
    EXPECT_DOUBLE_EQ(fit_overhead_bounds(std::vector<double>{100, 90}).least, 0);
    EXPECT_DOUBLE_EQ(fit_overhead_bounds(std::vector<double>{100, 900}).least, 100);

    network_fit fit;
    fit.latency.value = 5000;
    fit.ranges.resize(2);
    fit.ranges.front().gap.first.value = 650;  // of small messages
    const loggp m = logfgp_of(fit, {4000, 500, 700, 1, 0.5, 4096}, {6, false}, found);
    EXPECT_EQ(m, (loggp{1800, 1600, 650, 1, 0.5, 4096, 6, 180}));
    EXPECT_EQ(logfgp_of(fit, {}, {6, false}, {3000, 4000}), (loggp{0, 2500, 650, 0, 0, loggp{}.rendezvous, 6, 2500}));
}

TEST(loggp_fit, free_messages) {
    for (const int f : {3, 7, 10}) {
        const free_messages found = fit_free_messages(fan(20, 2000, 200, 2500, f));
        EXPECT_EQ(found.count, f);
        EXPECT_FALSE(found.at_least);
    }
    const free_messages all = fit_free_messages(fan(5, 2000, 200, 2500, 10));
    EXPECT_EQ(all.count, 5);
    EXPECT_TRUE(all.at_least);
}

}  // namespace
}  // namespace rubato::simulator
