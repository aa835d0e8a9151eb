#include "rubato/core.hpp"

#include <gtest/gtest.h>

namespace rubato::base {
namespace {

TEST(parse_bytes, takes_whole_bytes) {
    EXPECT_EQ(parse_bytes("0"), 0);
    EXPECT_EQ(parse_bytes("1.5KiB"), 1536);
    EXPECT_EQ(parse_bytes("2.3M"), 2'300'000) << "2.3 * 1e6 is a little less";
    EXPECT_EQ(parse_bytes("4.2GB"), 4'200'000'000);
    for (const char* part : {"0.0001", "2.5", "0.1KiB", "1e-300", "1.0001k"})
        EXPECT_THROW(parse_bytes(part), error) << part;
}

}  // namespace
}  // namespace rubato::base
