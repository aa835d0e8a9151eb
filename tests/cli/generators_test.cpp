// build/bench/generators: the literature's generators beside the one that the command uses.
#include "command.hpp"

#include <algorithm>

namespace rubato {
namespace {

using nlohmann::json;

class generators_program : public command {
protected:
    std::string made(const std::string& arguments) const {
        const outcome result = shell(fmt::format("{} {}", RUBATO_GENERATORS, arguments));
        EXPECT_EQ(result.status, 0) << arguments << '\n' << result.err;
        EXPECT_EQ(result.err, "") << arguments;
        return result.out;
    }
    void refused(const std::string& arguments, std::string_view says) const {
        const outcome result = shell(fmt::format("{} {}", RUBATO_GENERATORS, arguments));
        EXPECT_EQ(result.status, 2) << arguments;
        EXPECT_EQ(result.out, "") << arguments;
        EXPECT_TRUE(result.err.starts_with("generators: ")) << arguments << ": " << result.err;
        EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << arguments << ": " << result.err;
        EXPECT_NE(result.err.find(says), std::string::npos) << arguments << ": " << result.err;
    }
};

TEST_F(generators_program, prints_the_rounds_that_the_command_prints) {
    const std::string what =
        "--ranks 21 --segments 9 --root 4 --arrivals uniform:max=40us,seed=3 --round-time 2us --format ";
    for (const char* format : {"json", "text"}) {
        const std::string own = good("schedule reduce/clairvoyant " + what + format);
        EXPECT_EQ(made(what + format), own);
        for (const char* name : {"production", "linear", "pairing_heap", "segment_tree"})
            EXPECT_EQ(made(fmt::format("{}{} --generator {}", what, format, name)), own) << name;
        EXPECT_EQ(made("reduce/clairvoyant_plus " + what + format),
                  good("schedule reduce/clairvoyant_plus " + what + format));
    }
    EXPECT_EQ(made("--ranks 3 --json"), made("--ranks 3 --format json"));
}

TEST_F(generators_program, statistics) {
    const std::string what = "--ranks 16 --segments 8 --generator linear --stats";
    const json j = json::parse(made(what + " --json"));
    EXPECT_EQ(j.at("generator"), "linear");
    EXPECT_EQ(j.at("length"), 4 + 8 - 1);
    EXPECT_EQ(j.at("lower_bound"), 4 + 8 - 1);
    EXPECT_EQ(j.at("busy_rounds"), 4 + 8 - 1);
    EXPECT_GE(j.at("transfers").get<int>(), 15 * 8);
    EXPECT_GT(j.at("generation_best_ns").get<std::int64_t>(), 0);
    EXPECT_GE(j.at("generation_median_ns"), j.at("generation_best_ns"));
    EXPECT_GT(j.at("ns_per_transfer").get<double>(), 0);
    EXPECT_GE(j.at("repetitions").get<int>(), 3);
    EXPECT_GE(j.at("result_bytes").get<std::int64_t>(), 12 * j.at("transfers").get<std::int64_t>());
    EXPECT_GT(j.at("memory_bytes"), j.at("result_bytes"));
    const std::string text = made(what);
    for (const char* word : {"length", "transfers", "generation", "per transfer", "memory", "made by linear"})
        EXPECT_NE(text.find(word), std::string::npos) << word;
}

/// At most 5 bits per process and segment and 64 bytes per process, beside the result.
TEST_F(generators_program, are_made_in_little_memory) {
    const auto within = [this](std::int64_t ranks, std::int64_t segments, const char* timing) {
        const json j =
            json::parse(made(fmt::format("--ranks {} --segments {} --stats --json {}", ranks, segments, timing)));
        const auto beside =
            j.at("one_rank_memory_bytes").get<std::int64_t>() - j.at("one_rank_result_bytes").get<std::int64_t>();
        EXPECT_GT(beside, 0);
        EXPECT_LE(beside, 5 * ranks * segments / 8 + 64 * ranks) << ranks << " ranks, " << segments << " segments";
    };
    within(512, 512, "--arrivals uniform:max=512ms,seed=1 --round-time 300us");
    within(512, 512, "--arrivals uniform:max=100ms,seed=3 --round-time 1us");
    within(300, 300, "--arrivals uniform:max=150ms,seed=3 --round-time 1us");
    within(200, 1000, "--arrivals uniform:max=200ms,seed=3 --round-time 1us");
    within(64, 512, "--arrivals uniform:max=1ms,seed=3 --round-time 1us");
    within(2000, 300, "--arrivals bernoulli:p=0.3,delay=11500us,seed=1 --round-time 1ms");
    within(20000, 16, "--arrivals single:rank=19999,delay=16ms --round-time 500us");
    within(20000, 16, "--arrivals bernoulli:p=0.5,delay=1500us,seed=1 --round-time 1ms");
    within(20000, 1, "--arrivals uniform:max=100ms,seed=1 --round-time 50us");
}

TEST_F(generators_program, errors) {
    refused("", "--ranks is required");
    refused("--ranks 4 --generator quick", "unknown generator 'quick'");
    refused("reduce/binomial --ranks 4", "does not plan in rounds");
    refused("reduce/clairvoyant_plus --ranks 4 --generator linear", "can be made by production");
    refused("--ranks 4 --root 4", "root 4");
    refused("--ranks 4 --segments 0", "'0' is not a number of segments");
    refused("--ranks 4 --arrivals 0,0,0,1", "how long a round takes (--round-time)");
    refused("--ranks 4 --radix 2", "--radix");
}

}  // namespace
}  // namespace rubato
