#include "base/files/json.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstdint>
#include <limits>

namespace rubato::base {
namespace {

/// Both of the same members.
template <class Json>
Json sample_of() {
    Json made{{"number", 7},
              {"large", UINT64_MAX},
              {"share", 0.1},
              {"whole", 5.0},
              {"tiny", 1e-7},
              {"huge", 1e21},
              {"endless", std::numeric_limits<double>::infinity()},
              {"text", "a \"b\"\\\n\x01 \xc3\xa9"},
              {"right", true},
              {"nothing", nullptr},
              {"list", std::vector<int>{1, 2}},
              {"empty", Json::array()},
              {"inside", {{"a", "b"}, {"c", "d"}}}};
    made["items"].push_back({{"rank", 1}, {"name", "x"}});
    made["items"].push_back(3);
    made.update({{"number", 8}, {"last", -1}});
    return made;
}

TEST(json, is_the_text_that_the_parsers_library_writes) {
    for (const int indent : {-1, 2})
        EXPECT_EQ(sample_of<json>().dump(indent), sample_of<nlohmann::ordered_json>().dump(indent));
}

TEST(json, times_are_nanoseconds_and_nothing_is_null) {
    const json made{{"time", time_ns(5)}, {"some", std::optional(3)}, {"none", std::optional<int>()}};
    EXPECT_EQ(made.dump(), R"({"time":5,"some":3,"none":null})");
    EXPECT_EQ(json(std::vector{time_ns(1), time_ns(2)}).dump(), "[1,2]");
}

TEST(json, what_is_not_utf8_is_replaced) { EXPECT_EQ(json("a\xff").dump(), "\"a\xef\xbf\xbd\""); }

}  // namespace
}  // namespace rubato::base
