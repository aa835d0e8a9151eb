// rubato sim: one call of each algorithm (program_test.cpp has programs).
#include "command.hpp"

#include "rubato/algorithm.hpp"

#include <map>

namespace rubato {
namespace {

using nlohmann::json;

using sim_command = command;

TEST_F(sim_command, json_has_a_row_for_each_algorithm_fastest_first) {
    const json rows = good_json("sim bcast --ranks 8 --bytes 64KiB --arrivals single:rank=3,delay=100us --json");
    std::int64_t before = 0;
    std::size_t measured = 0;
    for (const json& row : rows) {
        EXPECT_EQ(find_algorithm(row.at("id").get<std::string>()).what, collective::bcast);
        if (row.contains("skipped")) continue;
        ++measured;
        const auto run = row.at("run_time_ns").get<std::int64_t>();
        EXPECT_GE(run, before);
        before = run;
        const auto exits = row.at("exit_ns").get<std::vector<std::int64_t>>();
        ASSERT_EQ(exits.size(), 8U);
        EXPECT_EQ(std::ranges::max(exits), run) << "the first arrives at 0";
        EXPECT_EQ(row.at("tail_ns").get<std::int64_t>(), run - 100000);
        EXPECT_TRUE(row.at("absorption_ns").is_number_integer());
        EXPECT_GE(row.at("messages").get<std::int64_t>(), 7);
        EXPECT_GE(row.at("bytes").get<std::int64_t>(), 7 * 65536);
        EXPECT_GT(row.at("energy_j").get<double>(), 0);
        EXPECT_GE(row.at("memory_bytes").get<std::int64_t>(), 32);
        EXPECT_GE(row.at("segments").get<std::int64_t>(), 1);
        EXPECT_GE(row.at("rounds").get<std::int64_t>(), 1);
    }
    EXPECT_GE(measured, 1U);
}

TEST_F(sim_command, agrees_with_the_formula_of_a_binomial_tree) {
    const json rows =
        good_json("sim bcast/binomial --ranks 8 --bytes 1000 --model hockney:alpha=1us,beta=1ns,gamma=0ns --json");
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].at("run_time_ns"), 3 * (1000 + 1000));
    EXPECT_EQ(rows[0].at("messages"), 7);
    EXPECT_EQ(rows[0].at("bytes"), 7000);
    EXPECT_EQ(rows[0].at("absorption_ns"), 0);
}

TEST_F(sim_command, a_wide_buffer_is_shared_by_the_ranks) {
    // 1000 bytes for 3 ranks are chunks of 334.
    const json rows = good_json("sim gather/linear --ranks 3 --bytes 1000 --json");
    EXPECT_EQ(rows[0].at("bytes"), 2 * 334);
}

TEST_F(sim_command, a_barrier_needs_no_size) {
    for (const json& row : good_json("sim barrier --ranks 4 --json")) EXPECT_EQ(row.value("bytes", 0), 0);
}

TEST_F(sim_command, names_choose_algorithms) {
    const json rows = good_json("sim bcast/linear,binomial --ranks 4 --bytes 1k --json");
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].at("id"), "bcast/binomial");
    EXPECT_EQ(rows[1].at("id"), "bcast/linear");
}

TEST_F(sim_command, segments_are_chosen_or_given) {
    const std::string what = "sim bcast/chain --ranks 8 --bytes 4MiB --json";
    const json chosen = good_json(what)[0];
    const auto n = chosen.at("segments").get<std::int64_t>();
    EXPECT_GT(n, 1);
    EXPECT_TRUE(is_power_of_two(n));
    for (const std::int64_t other : {n / 2, n * 2})
        EXPECT_GE(good_json(fmt::format("{} --segments {}", what, other))[0].at("run_time_ns"),
                  chosen.at("run_time_ns"));
    EXPECT_EQ(good_json(what + " --segments 3")[0].at("segments"), 3);
    EXPECT_LE(good_json("sim bcast/chain --ranks 8 --bytes 5 --json")[0].at("segments"), 4) << "not more than bytes";
}

TEST_F(sim_command, rounds_get_segments_and_time_from_the_model) {
    const std::string what = "sim reduce/clairvoyant --ranks 128 --bytes 4MiB --json --arrivals ";
    const json late = good_json(what + "single:rank=127,delay=20ms")[0];
    EXPECT_EQ(late.at("segments"), 78) << "the formula gives 78.3";
    // A segment of 53774 bytes.
    EXPECT_EQ(late.at("round_time_ns"), 2660 + 34863);
    // The others are done long before, and the late one hands over a vector.
    EXPECT_LE(late.at("tail_ns").get<std::int64_t>(), 78 * 37523 + 78);
    EXPECT_LE(good_json(what + "balanced")[0].at("run_time_ns").get<std::int64_t>(), (7 + 78 - 1) * 37523);

    const json given = good_json(what + "balanced --segments 10 --round-time 9us")[0];
    EXPECT_EQ(given.at("segments"), 10);
    EXPECT_EQ(given.at("round_time_ns"), 9000);
}

TEST_F(sim_command, knows_what_messages_within_hosts_cost) {
    const std::string what = "sim bcast/two_level --ranks 8 --bytes 1MiB --segments 8 --json";
    const auto time = [&](const char* more) {
        return good_json(fmt::format("{} {}", what, more))[0].at("run_time_ns").get<std::int64_t>();
    };
    const char* const cheap = "--hosts 2 --model-inside hockney:alpha=1ns,beta=0,gamma=0";
    EXPECT_LT(time(cheap), time("--hosts 2"));
    EXPECT_NE(good(fmt::format("sim bcast/two_level --ranks 8 --bytes 1MiB {}", cheap)).find("hosts 2, "),
              std::string::npos);
    bad(what + " --model-inside curie", "--model-inside without --hosts");
    bad(what + " --hosts 2 --model-inside loggp5:L=1,o=1,G=1", "of another kind");
}

TEST_F(sim_command, tells_what_it_skips) {
    const json rows = good_json("sim allgather --ranks 7 --bytes 7k --json");
    bool skipped = false;
    for (const json& row : rows) {
        if (row.at("id") != "allgather/neighbour_exchange") continue;
        skipped = true;
        EXPECT_EQ(row.at("skipped"), "it needs an even number of ranks, and there are 7");
    }
    EXPECT_TRUE(skipped);
    EXPECT_NE(good("sim allgather --ranks 7 --bytes 7k")
                  .find("allgather/neighbour_exchange skipped: it needs an even number of ranks, and there are 7\n"),
              std::string::npos);
}

TEST_F(sim_command, text_lines_up) {
    auto table = lines(good("sim bcast --ranks 8 --bytes 64KiB"));
    ASSERT_GT(table.size(), 3U);
    EXPECT_EQ(table[0], "bcast: 8 ranks, 64KiB, arrivals balanced, model curie");
    table.erase(table.begin(), table.begin() + 2);
    const std::size_t width = table.front().size();
    for (const std::string& row : table) EXPECT_EQ(row.size(), width) << row;
}

TEST_F(sim_command, draws_one_or_compares_many) {
    good(fmt::format("sim bcast/binomial --ranks 8 --bytes 1k --arrivals single:rank=3,delay=50us --svg {}",
                     path("one.svg")));
    EXPECT_NE(slurp(path("one.svg")).find("last arrival"), std::string::npos);
    good(fmt::format("sim bcast --ranks 8 --bytes 1k --svg {}", path("many.svg")));
    EXPECT_NE(slurp(path("many.svg")).find("bcast/linear"), std::string::npos);
}

TEST_F(sim_command, early_forms_begin_before_their_rank_arrives) {
    const std::string late = "--ranks 8 --bytes 1MiB --arrivals single:rank=2,delay=20ms --json";
    EXPECT_LT(good_json("sim bcast/binomial+early " + late)[0].at("run_time_ns"),
              good_json("sim bcast/binomial " + late)[0].at("run_time_ns"));
}

TEST_F(sim_command, reads_models_and_traces_from_files) {
    write("model", "hockney:alpha=1us,beta=1ns,gamma=0ns\n");
    write("trace", "0 5us\n");
    const json rows =
        good_json(fmt::format("sim bcast/binomial --ranks 2 --bytes 1000 --model file:{} --arrivals trace:{} --json",
                              path("model"), path("trace")));
    EXPECT_EQ(rows[0].at("run_time_ns"), 5000 + 2000);
}

TEST_F(sim_command, nothing_simulated_is_an_error) {
    bad("sim reduce/clairvoyant --ranks 4 --bytes 1k --noncommutative",
        "reduce/clairvoyant cannot be used here: it reorders the operands, and the operator does not commute");
    bad("sim allreduce/dissemination,n_way_dissemination --ranks 5 --bytes 1k",
        "none of 2 algorithms can be simulated: allreduce/dissemination: ");
    bad("sim bcast/linear --ranks 4 --bytes 1000G --model hockney:alpha=1us,beta=1us,gamma=0", "three hours");
}

TEST_F(sim_command, many_ranks_are_extrapolated) {
    const json rows = good_json("sim allreduce --ranks 1000000 --bytes 4MiB --json");
    bool ring = false;
    for (const json& row : rows) {
        if (row.contains("skipped")) continue;
        EXPECT_EQ(row.at("how"), "from fewer ranks") << row;
        if (row.at("id") != "allreduce/ring") continue;
        ring = true;
        // 2 (P - 1) messages of each rank, one after the other, of 2.66 us each and more.
        EXPECT_GE(row.at("run_time_ns").get<std::int64_t>(), std::int64_t{2} * 999998 * 2660);
        EXPECT_FALSE(row.contains("exit_ns"));
    }
    EXPECT_TRUE(ring);
    const std::string text = good("sim allreduce/ring --ranks 1000000 --bytes 4MiB");
    EXPECT_NE(
        text.find("from fewer ranks: extrapolated. To simulate all ranks (--force) takes\n  allreduce/ring  about "),
        std::string::npos)
        << text;
}

/// Both have few steps; but of Rabenseifner's each rank keeps a block for each other.
TEST_F(sim_command, what_takes_gigabytes_is_extrapolated) {
    EXPECT_EQ(good_json("sim bcast/binomial --ranks 100000 --bytes 1MiB --json")[0].at("how"), "simulated");
    const std::string text = good("sim allreduce/rabenseifner --ranks 65536 --bytes 1MiB");
    EXPECT_NE(text.find("from fewer ranks: extrapolated"), std::string::npos) << text;
    EXPECT_NE(text.find("GiB for "), std::string::npos) << text;
}

TEST_F(sim_command, what_follows_from_fewer_ranks_is_near_to_a_simulation) {
    const std::string what = "sim bcast/linear,binomial,scatter_ring --ranks 20000 --bytes 1MiB --json";
    std::map<std::string, double> times;
    for (const json& row : good_json(what)) times[row.at("id")] = row.at("run_time_ns").get<double>();
    for (const json& row : good_json("sim bcast/binomial,linear --ranks 20000 --bytes 1MiB --json --force")) {
        EXPECT_EQ(row.at("how"), "simulated");
        EXPECT_NEAR(times.at(row.at("id")) / row.at("run_time_ns").get<double>(), 1, 0.2) << row.at("id");
    }
}

TEST_F(sim_command, pictures_of_millions_of_steps_are_refused) {
    bad(fmt::format("sim allreduce/ring --ranks 400 --bytes 1MiB --svg {}", path("x.svg")),
        "allreduce/ring is too large to be drawn");
    EXPECT_FALSE(std::filesystem::exists(path("x.svg")));
}

TEST_F(sim_command, errors) {
    bad("sim brodcast --ranks 4 --bytes 1k", "unknown collective 'brodcast'");
    bad("sim bcast/binomal --ranks 4 --bytes 1k", "did you mean bcast/binomial?");
    bad("sim bcast --ranks 4", "give one, such as --bytes 4MiB");
    bad("sim bcast --ranks 4 --bytes 4Mib", "'4Mib' is not a size");
    bad("sim bcast --ranks 4 --bytes 1k --model curry", "curry");
    bad("sim bcast --ranks 4 --bytes 1k --model hockney:alpha=fast,beta=1ns,gamma=1ns", "fast");
    bad("sim bcast --ranks 4 --bytes 1k --arrivals uniform:max=1ms,sed=1", "sed");
    bad("sim bcast --ranks 0 --bytes 1k", "'0' is not a number of ranks");
    bad("sim bcast --ranks 4 --bytes 1k --root 7", "ranks are numbered 0 to 3");
}

}  // namespace
}  // namespace rubato
