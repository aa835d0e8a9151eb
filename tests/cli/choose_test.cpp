// rubato choose: what is picked, and why (choose_network_test.cpp has networks).
#include "command.hpp"

#include <map>

namespace rubato {
namespace {

using nlohmann::json;

class choose_command : public command {};

TEST_F(choose_command, explains_its_choice) {
    const std::string text =
        good("choose reduce --ranks 16 --bytes 1MiB --model gige --arrivals single:rank=5,delay=200ms");
    EXPECT_TRUE(
        text.starts_with("reduce: 16 ranks, 1MiB, arrivals single:rank=5,delay=200ms, model gige\n\nALGORITHM "))
        << text;
    EXPECT_NE(text.find("/BOUND"), std::string::npos);
    const json all =
        good_json("choose reduce --ranks 16 --bytes 1MiB --model gige --arrivals single:rank=5,delay=200ms --json");
    const std::string last_line = text.substr(text.rfind('\n', text.size() - 2) + 1);
    EXPECT_EQ(last_line,
              fmt::format("{}: {}.\n", all.at("picked").get<std::string>(), all.at("why").get<std::string>()));
    EXPECT_EQ(all.at("candidates").at(0).at("name"), all.at("picked"));
    std::int64_t before = 0;
    for (std::size_t i = 1; i < all.at("candidates").size(); ++i) {
        const json& c = all.at("candidates").at(i);
        EXPECT_GE(c.at("run_time_ns"), before);
        EXPECT_EQ(c.at("how"), "simulated");
        EXPECT_FALSE(c.at("id").get<std::string>().ends_with("+early"));
        before = c.at("run_time_ns");
    }
}

TEST_F(choose_command, agrees_with_the_simulation) {
    const std::string problem = "--ranks 8 --bytes 100kB --segments 1 --model gige --arrivals single:rank=3,delay=5ms";
    std::map<std::string, std::int64_t> simulated;
    for (const json& row : good_json("sim scatter --json " + problem))
        if (!row.contains("skipped")) simulated[row.at("id")] = row.at("run_time_ns");
    std::size_t early = 0;
    const json chosen = good_json("choose scatter --early --json " + problem);
    for (const json& c : chosen.at("candidates")) {
        EXPECT_EQ(simulated.at(c.at("id")), c.at("run_time_ns")) << c;
        if (c.at("id").get<std::string>().ends_with("+early")) ++early;
    }
    EXPECT_GT(early, 0U);
}

TEST_F(choose_command, many_ranks_are_extrapolated) {
    const std::string text = good("choose barrier --ranks 50000");
    EXPECT_NE(text.find("from fewer ranks"), std::string::npos) << text;
}

TEST_F(choose_command, every_segment_size_is_a_row_if_asked_for) {
    const std::string problem = "choose bcast --ranks 8 --bytes 1MiB --model gige";
    const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
    EXPECT_GT(lines(good(problem + " --all")), lines(good(problem)));
    const json fixed = good_json(problem + " --segments 10 --json");
    for (const json& c : fixed.at("candidates")) EXPECT_EQ(c.at("segments"), c.at("segment_bytes") == 0 ? 1 : 10) << c;
    const json whole = good_json(problem + " --segments 1 --json");
    for (const json& c : whole.at("candidates")) EXPECT_EQ(c.at("segments"), 1) << c;
}

TEST_F(choose_command, messages_within_hosts_may_cost_less) {
    const std::string hosts = "choose gather --ranks 8 --bytes 1k --hosts cyclic:3 --json";
    const std::string problem = hosts + " --model gige";
    const auto uses_hosts = [](const json& chosen) {
        return chosen.at("picked").get<std::string>().find("two_level") != std::string::npos;
    };
    EXPECT_FALSE(uses_hosts(good_json(problem)));
    // A message that a rank takes in costs much, unless it comes from its own host.
    const std::string busy = hosts + " --model loggp:L=1us,o=50us,g=1us,G=1ns";
    EXPECT_TRUE(uses_hosts(good_json(busy + " --model-inside loggp:L=1us,o=1us,g=1us,G=0.1ns")));
    bad("choose reduce --ranks 8 --bytes 1MiB --model-inside curie", "say which ranks share one");
    bad(problem + " --model-inside curie", "of another kind");
}

TEST_F(choose_command, errors) {
    bad("choose", "COLLECTIVE is required");
    bad("choose reduce/chain --ranks 4 --bytes 1k", "reduce/chain");
    bad("choose reduce --ranks 4", "give one, such as --bytes 4MiB");
    bad("choose reduce --ranks 4 --bytes 1k --model curly", "curly");
}

TEST_F(choose_command, for_a_whole_program) {
    std::string text = "ranks 8\n";
    for (int i = 0; i < 16; ++i)
        text += fmt::format("compute single:rank={},delay=100ms uniform:max=8ms,seed={}\nreduce 64KiB\nallreduce 8\n",
                            (5 * i + 3) % 8, i);
    write("loop.program", text);
    const std::string asked =
        fmt::format("choose --program {} --model loggp:L=100us,o=20us,g=5us,G=167ns", path("loop.program"));
    const std::string said = good(asked);
    EXPECT_NE(said.find(": 8 ranks, 32 calls, model"), std::string::npos) << said;
    EXPECT_NE(said.find("times as long\n\nCALL    TIMES   CHUNK  ALGORITHM"), std::string::npos) << said;
    const json all = good_json(asked + " --json");
    EXPECT_LE(all.at("bound_ns"), all.at("run_time_ns"));
    ASSERT_EQ(all.at("calls").size(), 2U);
    const json& reduce = all.at("calls").at(0);
    EXPECT_EQ(reduce.at("count"), 16);
    EXPECT_EQ(reduce.at("candidates").at(0).at("id"), reduce.at("id"));

    const std::string wrong = rubato(asked + " --bytes 8").err;
    EXPECT_NE(wrong.find("with --program"), std::string::npos) << wrong;
    EXPECT_EQ(rubato("choose --ranks 4 --bytes 8").status, 2);
    EXPECT_EQ(rubato("choose reduce --bytes 8").status, 2);
}

}  // namespace
}  // namespace rubato
