// rubato predict: how well a trace could have been predicted.
#include "command.hpp"

#include <map>

namespace rubato {
namespace {

using nlohmann::json;

using predict_command = command;

TEST_F(predict_command, json_is_exact) {
    write("trace", "# 2 ranks\n10 10\n10 14\n20 28\n100 100\n6 0\n");
    const json j = good_json(fmt::format("predict {} --predictor last --predictor balanced --json", path("trace")));
    EXPECT_EQ(j.at("trace"), path("trace"));
    EXPECT_EQ(j.at("ranks"), 2);
    EXPECT_EQ(j.at("invocations"), 5);
    EXPECT_EQ(j.at("lag"), 2);
    EXPECT_EQ(j.at("predicted"), 3);
    EXPECT_EQ(j.at("mean_imbalance_ns"), 5);  // 8, 0, 6
    ASSERT_EQ(j.at("predictors").size(), 2U);

    // Lateness 0 0, 0 4, 0 8, 0 0, 6 0, each predicted to be that of two before.
    const json& last = j["predictors"][0];
    EXPECT_EQ(last.at("predictor"), "last");
    EXPECT_EQ(last.at("error"), json::parse(R"({"mean_ns":4,"median_ns":4,"p95_ns":8,"max_ns":8})"));  // 0 8 0 4 6 8
    EXPECT_DOUBLE_EQ(last.at("share_of_imbalance"), 0.8);
    EXPECT_DOUBLE_EQ(last.at("last_rank_right"), 1. / 3);  // once all came together, so all were last
    EXPECT_EQ(last["per_rank"][1].at("rank"), 1);
    EXPECT_EQ(last["per_rank"][1].at("error").at("mean_ns"), 7);
    EXPECT_EQ(last["per_rank"][0].at("error").at("max_ns"), 6);
    ASSERT_EQ(last["per_invocation"].size(), 3U);
    EXPECT_EQ(last["per_invocation"][0],
              json::parse(R"({"invocation":2,"imbalance_ns":8,"last_rank":1,"predicted_last_rank":null,)"
                          R"("last_rank_right":false,"uncertainty_ns":null,"error_ns":[0,8]})"));
    EXPECT_EQ(last["per_invocation"][2],
              json::parse(R"({"invocation":4,"imbalance_ns":6,"last_rank":0,"predicted_last_rank":1,)"
                          R"("last_rank_right":false,"uncertainty_ns":4,"error_ns":[6,8]})"));

    const json& balanced = j["predictors"][1];
    EXPECT_EQ(balanced.at("error").at("max_ns"), 8);
    EXPECT_TRUE(balanced["per_invocation"][1].at("last_rank_right"));  // nobody was
}

TEST_F(predict_command, the_same_trace_is_a_perfect_prediction) {
    for (const char* name : {"phases", "straggler"}) {
        const std::string trace = fmt::format("{}/examples/traces/{}.txt", RUBATO_SOURCE, name);
        const json j = good_json(fmt::format("predict {} --predictor given:{} --lag 3 --json", trace, trace));
        EXPECT_EQ(j.at("ranks"), 16);
        EXPECT_EQ(j.at("invocations"), 100);
        EXPECT_EQ(j["predictors"][0].at("error").at("max_ns"), 0);
        EXPECT_EQ(j["predictors"][0].at("last_rank_right"), 1.);
    }
}

// What the traces were made for.
TEST_F(predict_command, a_trend_sees_a_drifting_straggler) {
    const std::string trace = RUBATO_SOURCE "/examples/traces/straggler.txt";
    const json j = good_json(fmt::format("predict {} --json", trace));
    std::map<std::string, std::int64_t> error;
    for (const json& p : j.at("predictors")) error[p.at("predictor")] = p.at("error").at("mean_ns");
    EXPECT_EQ(error.size(), 5U);
    for (const auto& [name, mean] : error) {
        EXPECT_LE(error.at("trend:window=8"), mean) << name;
        EXPECT_GE(error.at("balanced"), mean) << name;
    }
    const json sooner = good_json(fmt::format("predict {} --lag 1 --predictor last --json", trace));
    EXPECT_LT(sooner["predictors"][0].at("error").at("mean_ns"), error.at("last"));
}

TEST_F(predict_command, text_lines_up) {
    write("trace", "0 1us\n0 3us\n0 5us\n0 6us\n");
    auto table = lines(good(fmt::format("predict {} --per-rank --per-invocation", path("trace"))));
    ASSERT_EQ(table.size(), 2U + 6 + 1 + 3 + 1 + 3);
    EXPECT_EQ(table[0], fmt::format("{}: 2 ranks, 4 invocations, 2 predicted; mean imbalance 5.50 us", path("trace")));
    for (const auto& [from, to] : {std::pair(2, 8), std::pair(9, 12), std::pair(13, 16)})
        for (int i = from; i < to; ++i)
            EXPECT_EQ(table[static_cast<std::size_t>(i)].size(), table[static_cast<std::size_t>(from)].size()) << i;
    EXPECT_TRUE(table[11].starts_with("1     5.50 us   5.50 us  3.50 us ")) << table[11];
    EXPECT_TRUE(table[15].starts_with("3             6.00 us          1   3.00 us  1.50 us ")) << table[15];
}

TEST_F(predict_command, example_traces_are_what_the_script_makes) {
    EXPECT_EQ(shell(fmt::format("{}/tools/make-traces {}", RUBATO_SOURCE, path("traces"))).status, 0);
    for (const char* name : {"phases.txt", "straggler.txt"}) {
        const std::string made = slurp(path("traces") + "/" + name);
        EXPECT_FALSE(made.empty());
        EXPECT_EQ(made, slurp(std::filesystem::path(RUBATO_SOURCE "/examples/traces") / name)) << name;
    }
}

TEST_F(predict_command, errors) {
    write("short", "0 1us\n0 3us\n");
    write("uneven", "0 1us\n0 3us 4us\n0 1us\n");
    bad("predict", "TRACE is required");
    bad(fmt::format("predict {}", path("none")), "cannot read trace");
    bad(fmt::format("predict {}", path("short")), "with a lag of 2 the first 2 cannot be predicted");
    good(fmt::format("predict {} --lag 1", path("short")));
    bad(fmt::format("predict {} --lag 0", path("short")), "'0' is not a lag");
    bad(fmt::format("predict {}", path("uneven")), "line 2 of trace");
    bad(fmt::format("predict {} --lag 1 --predictor edge:fraction=0.5", path("short")), "unknown predictor 'edge'");
    bad(fmt::format("predict {} --lag 1 --predictor average:window=x", path("short")), "'x' is not a window");
}

}  // namespace
}  // namespace rubato
