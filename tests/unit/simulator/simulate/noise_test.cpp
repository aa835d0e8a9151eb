#include "rubato/noise.hpp"

#include "rubato/algorithm.hpp"
#include "rubato/simulate.hpp"
#include "support/error_text.hpp"

#include <gtest/gtest.h>

#include <unistd.h>
#include <cstdio>
#include <fstream>

namespace rubato::simulator {
namespace {

using namespace std::chrono_literals;

TEST(noise, none_delays_nothing) {
    const noise none;
    noise::processor p = none.of(3);
    EXPECT_EQ(p.end_of(5us, 7us), 12us);
}

TEST(noise, a_fixed_one_takes_its_share_of_long_work) {
    const noise n = parse_noise("fixed:period=1ms,duration=10us,seed=1");
    for (std::uint32_t r = 0; r < 20; ++r) {
        noise::processor p = n.of(r);
        const time_ns end = p.end_of(0us, 990ms);
        EXPECT_GE(end, 1s - 10us);
        EXPECT_LE(end, 1s + 10us);
        // Long after it, a short piece of work meets one detour at most.
        const time_ns later = p.end_of(100s, 1us);
        EXPECT_GE(later, 100s + 1us);
        EXPECT_LE(later, 100s + 11us);
    }
}

TEST(noise, work_in_pieces_ends_when_it_ends_in_one) {
    for (const char* text : {"fixed:period=100us,duration=30us,seed=4", "random:period=100us,duration=30us,seed=4"}) {
        const noise n = parse_noise(text);
        for (std::uint32_t r = 0; r < 10; ++r) {
            noise::processor whole = n.of(r);
            noise::processor pieces = n.of(r);
            time_ns at{};
            for (int i = 0; i < 1000; ++i) at = pieces.end_of(at, 7us);
            EXPECT_EQ(at, whole.end_of(0us, 7ms)) << text << ", rank " << r;
        }
    }
}

TEST(noise, a_random_one_has_the_mean_that_was_asked_for_and_repeats) {
    const noise n = parse_noise("random:period=1ms,duration=100us,seed=9");
    const noise again = parse_noise("random:period=1ms,duration=100us,seed=9");
    const noise other = parse_noise("random:period=1ms,duration=100us,seed=10");
    time_ns sum{};
    bool differs = false;
    for (std::uint32_t r = 0; r < 100; ++r) {
        const time_ns end = n.of(r).end_of(0us, 100ms);
        EXPECT_EQ(again.of(r).end_of(0us, 100ms), end);
        differs |= other.of(r).end_of(0us, 100ms) != end;
        sum += end;
    }
    EXPECT_TRUE(differs);
    EXPECT_NEAR(static_cast<double>(sum.count()) / 100 / 110e6, 1, 0.01);
}

class noise_file : public ::testing::Test {
protected:
    std::string name_ = ::testing::TempDir() + "rubato-noise-" + std::to_string(getpid());
    void write(const std::string& text) const { std::ofstream(name_) << text; }
    ~noise_file() override { std::remove(name_.c_str()); }
};

TEST_F(noise_file, a_trace_is_repeated) {
    write("# begin duration\n0us 10us\n1ms 30us\n2ms,20us\n");
    const noise n = parse_noise("file:" + name_ + ",seed=2");
    // 60 us of detours in 2.02 ms and the mean distance.
    const double period = 2020 + 2020.0 / 3;
    for (std::uint32_t r = 0; r < 5; ++r) {
        const double share = static_cast<double>(n.of(r).end_of(0us, 1s).count()) / 1e9;
        EXPECT_NEAR(share, period / (period - 60), 1e-3) << r;
    }
}

TEST_F(noise_file, wrong_lines_are_named) {
    write("0us 10us\n5us 1us\n");
    EXPECT_EQ(error_text([&] { (void)parse_noise("file:" + name_); }),
              "line 2 of noise trace '" + name_ +
                  "': a detour that begins before the last one ends: they are in the order of time; correct it");
    write("0us 10us 3us\n");
    EXPECT_NE(error_text([&] { (void)parse_noise("file:" + name_); }).find("line 1"), std::string::npos);
    write("0us soon\n");
    EXPECT_NE(error_text([&] { (void)parse_noise("file:" + name_); }).find("line 1"), std::string::npos);
}

TEST(noise, wrong_texts_are_refused) {
    for (const char* text :
         {"", "loud", "fixed", "fixed:period=1ms", "fixed:period=0s,duration=1us", "fixed:period=1us,duration=2us",
          "random:period=1ms,duration=1us,seed=-1", "fixed:period=1ms,duration=1us,phase=3", "file:/no/such/file"})
        EXPECT_THROW((void)parse_noise(text), error) << text;
}

/// Exits of a barrier, which any detour on the way of it delays.
std::vector<time_ns> exits(const model& m, std::int32_t ranks, const noise& n, unsigned cores = 1) {
    problem p;
    const algorithm& a = find_algorithm("barrier/dissemination");
    p.what = a.what;
    p.ranks = ranks;
    const layout sizes = layout::uniform(0);
    const std::vector<schedule> all = build_all(a, p);
    const std::vector<time_ns> arrivals(static_cast<std::size_t>(ranks));
    simulation_options how;
    how.detours = &n;
    how.cores = cores;
    return rubato::simulate(m, all, std::span(&sizes, 1), arrivals, how).exits;
}

TEST(noise, delays_simulated_ranks_and_the_result_repeats) {
    const model m = parse_model("loggp:L=2us,o=1us,g=1us,G=0ns");
    const noise n = parse_noise("fixed:period=100us,duration=50us,seed=7");
    const auto quiet = exits(m, 64, {});
    const auto loud = exits(m, 64, n);
    for (std::size_t r = 0; r < quiet.size(); ++r) EXPECT_GT(loud[r], quiet[r]);
    EXPECT_EQ(exits(m, 64, n), loud);
    EXPECT_THROW((void)exits(parse_model("hockney:alpha=1us,beta=1ns,gamma=1ns"), 4, n), error);
}

TEST(noise, the_number_of_cores_makes_no_difference) {
    const model m = parse_model("loggp:L=2us,o=1us,g=1us,G=0ns");
    const noise n = parse_noise("random:period=30us,duration=5us,seed=7");
    const auto alone = exits(m, 1 << 16, n, 1);
    EXPECT_EQ(exits(m, 1 << 16, n, 2), alone);
    EXPECT_EQ(exits(m, 1 << 16, n, 3), alone);
    EXPECT_EQ(exits(m, 1 << 16, n, 4), alone);
}

}  // namespace
}  // namespace rubato::simulator
