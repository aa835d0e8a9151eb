// What must be the same bits on every processor: an x86 and an Arm in one communicator choose alone.
#include "base/core/portable.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

namespace rubato::base {
namespace {

TEST(portable, logarithms_have_these_bits) {
    const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
    // glibc's differ from the first and the third in the last digit, a fused multiply and add from the last two.
    EXPECT_EQ(bits(natural_log(3)), 0x3ff193ea7aad030a);
    EXPECT_EQ(bits(natural_log(7)), 0x3fff2272ae325a56);
    EXPECT_EQ(bits(binary_log(114. / 85)), 0x3fdb1a9be080c953);
}

TEST(portable, logarithms_are_those_of_the_library_to_the_last_digits) {
    for (int n = 0; n < 4400; ++n) {
        const double x = std::exp2(-1000 + 0.4541 * n);
        EXPECT_NEAR(natural_log(x), std::log(x), 4e-16 * std::abs(std::log(x))) << x;
        EXPECT_NEAR(binary_log(x), std::log2(x), 4e-16 * std::abs(std::log2(x))) << x;
    }
    for (int n = -1000; n <= 1000; ++n) EXPECT_EQ(binary_log(std::ldexp(1, n)), n);
}

TEST(portable, a_time_that_does_not_fit_is_the_longest) {
    EXPECT_EQ(nearest_time(2.5), time_ns(3));
    EXPECT_EQ(nearest_time(-2.5), time_ns(-3));
    EXPECT_EQ(time_within(2.9), time_ns(2));
    EXPECT_EQ(time_within(-2.9), time_ns(-2));
    for (const double too_long : {1.2e18, 1e19, 1e300, std::numeric_limits<double>::infinity()}) {
        EXPECT_EQ(nearest_time(too_long), longest_time);
        EXPECT_EQ(nearest_time(-too_long), -longest_time);
        EXPECT_EQ(time_within(too_long), longest_time);
    }
    EXPECT_EQ(nearest_time(std::numeric_limits<double>::quiet_NaN()), longest_time);
}

}  // namespace
}  // namespace rubato::base
