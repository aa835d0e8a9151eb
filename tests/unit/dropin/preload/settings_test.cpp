#include "dropin/preload/settings.hpp"

#include "support/error_text.hpp"

#include <gtest/gtest.h>

namespace rubato::dropin {
namespace {

settings with(const std::string& variable, const std::string& value) { return parse_settings({{variable, value}}); }

std::string refusal(const std::string& variable, const std::string& value) {
    return error_text([&] { with(variable, value); });
}

TEST(settings, forces_an_algorithm_of_each_collective_named) {
    const settings one = with("RUBATO_MODE", "force=allreduce/ring");
    EXPECT_EQ(one.mode, mode::force);
    ASSERT_EQ(one.force.size(), 1U);
    const settings several = with("RUBATO_MODE", "force=allreduce/ring,bcast/chain+early,gather/binomial");
    ASSERT_EQ(several.force.size(), 3U);
    EXPECT_EQ(several.force[0]->id, "allreduce/ring");
    EXPECT_EQ(several.force[1]->id, "bcast/chain+early");
    EXPECT_EQ(several.force[2]->id, "gather/binomial");
}

TEST(settings, refuses_two_algorithms_of_a_collective) {
    const std::string said = refusal("RUBATO_MODE", "force=bcast/chain,allreduce/ring,bcast/binomial");
    EXPECT_NE(said.find("bcast/chain and bcast/binomial are for the same collective"), std::string::npos) << said;
    EXPECT_NE(said.find("force one algorithm of each collective"), std::string::npos) << said;
}

TEST(settings, refuses_an_algorithm_that_is_none) {
    for (const char* list : {"force=", "force=bcast/chain,", "force=bcast/chain,bcast/nonsense"})
        EXPECT_NE(refusal("RUBATO_MODE", list), "no error") << list;
}

TEST(settings, every_row_reads_its_example) {
    for (const setting_row& r : setting_rows()) {
        if (r.variable == "RUBATO_MODEL") continue;  // a file
        EXPECT_EQ(refusal(std::string(r.variable), std::string(r.example)), "no error") << r.variable;
    }
    EXPECT_DOUBLE_EQ(with("RUBATO_MARGIN", "5%").careful.margin, 0.05);
    EXPECT_EQ(with("RUBATO_LEAVE", "bcast,alltoall").leave.size(), 2U);
    EXPECT_EQ(with("RUBATO_UNKNOWN", "1").mode, mode::observe);
}

}  // namespace
}  // namespace rubato::dropin
