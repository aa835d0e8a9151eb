// rubato model: what it prints, and what it refuses.
#include "command.hpp"

#include <map>
#include <set>

namespace rubato {
namespace {

using nlohmann::json;

class model_command : public command {};

constexpr const char* paper = "--model loggp5:L=6us,o=4.7us,G=0.73ns,e=16.5uJ,E=8.1nJ,static=0.5W,descriptor=32";

TEST_F(model_command, gives_rows_by_formula_with_the_simulation_beside_them) {
    const json rows = good_json(fmt::format("model bcast --ranks 64 --bytes 64KiB {} --json", paper));
    std::set<std::string> ids;
    double before = 0;
    for (const json& row : rows) {
        EXPECT_TRUE(ids.insert(row.at("id")).second) << row;
        EXPECT_GE(row.at("time_ns"), before);
        before = row.at("time_ns");
        const double simulated = row.at("simulated_ns");
        EXPECT_NEAR(row.at("time_ns"), simulated, (row.at("exact") ? 1e-3 : 0.35) * simulated) << row;
        EXPECT_NEAR(row.at("energy_j"), row.at("dynamic_j").get<double>() + row.at("static_j").get<double>(), 1e-12);
    }
    EXPECT_TRUE(ids.contains("bcast/binomial"));
    EXPECT_TRUE(ids.contains("bcast/two_tree"));
}

/// The same problem in 'rubato sim', which counts on schedules.
TEST_F(model_command, agrees_with_sim) {
    const std::string problem = fmt::format("--ranks 16 --bytes 1024 {} --json", paper);
    std::map<std::string, json> simulated;
    for (const json& row : good_json("sim scatter/binomial,linear " + problem)) simulated[row.at("id")] = row;
    std::size_t compared = 0;
    for (const json& row : good_json("model scatter " + problem)) {
        if (!simulated.contains(row.at("id"))) continue;
        const json& other = simulated.at(row.at("id"));
        EXPECT_EQ(row.at("simulated_ns"), other.at("run_time_ns")) << row;
        EXPECT_EQ(row.at("memory_bytes"), other.at("memory_bytes")) << row;
        EXPECT_EQ(row.at("messages"), other.at("messages")) << row;
        EXPECT_EQ(row.at("bytes"), other.at("bytes")) << row;
        EXPECT_NEAR(row.at("energy_j"), other.at("energy_j"), 1e-4 * other.at("energy_j").get<double>()) << row;
        ++compared;
    }
    EXPECT_EQ(compared, 2U);
}

TEST_F(model_command, the_fastest_within_a_budget) {
    const std::string problem = "model bcast --ranks 64 --bytes 1MiB";
    EXPECT_EQ(good(problem).find("within the budget"), std::string::npos);
    EXPECT_NE(good(problem + " --memory 32").find("fastest within the budget: bcast/chain in 1 segment, "),
              std::string::npos);
    EXPECT_NE(good(problem + " --energy 1nJ").find("within the budget: none\n"), std::string::npos);
    for (const json& row : good_json(problem + " --memory 200 --all --json"))
        EXPECT_EQ(row.at("within_budget"), row.at("memory_bytes") <= 200) << row;
}

TEST_F(model_command, every_number_of_segments_if_asked_for) {
    const std::string problem = "model bcast --ranks 8 --bytes 1MiB --json";
    EXPECT_GT(good_json(problem + " --all").size(), good_json(problem).size());
    for (const json& row : good_json(problem + " --segments 10"))
        EXPECT_TRUE(row.at("segments") == 10 || row.at("segments") == 1) << row;
}

TEST_F(model_command, a_map_has_the_best_of_each_problem) {
    for (const char* metric : {"time_ns", "overhead_ns", "energy_j", "memory_bytes"}) {
        const std::string name = std::string(metric).substr(0, std::string(metric).find('_'));
        const json cells = good_json(fmt::format("model bcast --ranks 20 --bytes 4096 --map {} --json", name));
        ASSERT_EQ(cells.size(), 4U * 13U);
        const json& last = cells.back();
        EXPECT_EQ(last.at("ranks"), 16);
        EXPECT_EQ(last.at("bytes"), 4096);
        double least = 1e300;
        for (const json& row : good_json("model bcast --ranks 16 --bytes 4096 --all --json"))
            least = std::min(least, row.at(metric).get<double>());
        EXPECT_DOUBLE_EQ(last.at("value"), least) << metric;
    }
    const std::string text = good("model barrier --ranks 8 --map time");
    EXPECT_NE(text.find("BYTES  2  4  8\n  0 B  a  b  b\n\na: barrier/dissemination\nb: barrier/n_way_dissemination\n"),
              std::string::npos)
        << text;
}

TEST_F(model_command, pictures) {
    good(fmt::format("model bcast --ranks 64 --bytes 4096 --map energy --svg {}", path("map.svg")));
    const std::string map = slurp(path("map.svg"));
    EXPECT_TRUE(map.starts_with("<svg") && map.ends_with("</svg>\n"));
    EXPECT_NE(map.find("bcast: the best by energy"), std::string::npos);
    EXPECT_NE(map.find(">bcast/fibonacci</text>"), std::string::npos) << "the legend";
    good(fmt::format("model bcast --ranks 64 --bytes 1MiB --svg {}", path("front.svg")));
    const std::string front = slurp(path("front.svg"));
    for (const json& row : good_json("model bcast --ranks 64 --bytes 1MiB --all --json")) {
        const bool drawn = front.find(fmt::format(">{}", row.at("id").get<std::string>())) != std::string::npos;
        EXPECT_TRUE(drawn || !row.at("pareto").get<bool>()) << row;
    }
    bad("model bcast --ranks 64 --bytes 4096 --svg /nowhere/at/all", "cannot write '/nowhere/at/all'");
    bad("model bcast --ranks 1 --bytes 4096 --svg " + path("x.svg"), "a picture of one rank");
    EXPECT_FALSE(std::filesystem::exists(path("x.svg")));
}

TEST_F(model_command, radices_are_tried_unless_one_is_given) {
    std::map<std::string, json> best;
    for (const json& row : good_json("model bcast --ranks 64 --bytes 8 --json")) best[row.at("id")] = row;
    EXPECT_EQ(best.at("bcast/fibonacci").at("radix"), 4);  // L + 2o is 3.3 o
    EXPECT_TRUE(best.at("bcast/binomial").at("radix").is_null());
    for (const json& row : good_json("model bcast --ranks 64 --bytes 8 --radix 5 --json"))
        EXPECT_TRUE(row.at("radix") == 5 || row.at("radix").is_null()) << row;
}

TEST_F(model_command, logfgp_has_formulas_too) {
    const std::string network = "--model logfgp:L=6us,omin=0.2us,omax=1.6us,g=5us,G=0.73ns,f=8 --json";
    for (const char* what : {"barrier", "bcast --bytes 64", "allreduce --bytes 4096"})
        for (const json& row : good_json(fmt::format("model {} --ranks 64 {}", what, network)))
            EXPECT_NEAR(row.at("time_ns"), row.at("simulated_ns"),
                        (row.at("exact") ? 1e-3 : 0.3) * row.at("time_ns").get<double>())
                << row;
    const json picked = good_json("choose barrier --ranks 64 " + network).at("picked");
    EXPECT_EQ(picked, "barrier/n_way_dissemination:8");
    good_json("sim barrier --ranks 64 " + network);
    bad("sim barrier --ranks 64 --model logfgp:L=6us,omin=2us,omax=1us,g=5us,G=1ns,f=8",
        "omin=2us is more than omax=1us");
}

TEST_F(model_command, large_problems_are_not_simulated) {
    const json rows = good_json("model alltoall --ranks 100000 --bytes 100MB --json");
    for (const json& row : rows) EXPECT_GT(row.at("time_ns"), 0) << row;
    EXPECT_TRUE(std::ranges::any_of(rows, [](const json& row) { return row.at("simulated_ns").is_null(); }));
}

TEST_F(model_command, under_loggp_a_few_algorithms_have_formulas) {
    const json rows = good_json("model allreduce --ranks 16 --bytes 64KiB --model gige --json");
    EXPECT_EQ(rows.size(), 3U);
    for (const json& row : rows)
        EXPECT_NEAR(row.at("time_ns"), row.at("simulated_ns"), 1e-3 * row.at("time_ns").get<double>()) << row;
    bad("model gather --ranks 4 --bytes 8 --model gige", "loggp and logfgp for barrier, bcast and allreduce");
}

TEST_F(model_command, errors) {
    bad("model", "COLLECTIVE is required");
    bad("model bcast --bytes 8", "--ranks is required");
    bad("model bcast --ranks 4", "give one, such as --bytes 4MiB");
    bad("model frobnicate --ranks 4 --bytes 8", "frobnicate");
    bad("model bcast --ranks 0 --bytes 8", "'0' is not a number of ranks");
    bad("model bcast --ranks 4 --bytes 8 --model curie", "no closed forms under hockney:");
    bad("model bcast --ranks 4 --bytes 8 --model loggp5:L=1us", "loggp5:L=1us");
    bad("model bcast --ranks 4 --bytes 8 --radix 0", "'0' is not a radix");
    bad("model neighbor_alltoall --ranks 4 --bytes 8", "no closed forms of neighbor_alltoall");
    bad("model barrier --ranks 4 --bytes 8", "--bytes has no effect");
    bad("model alltoall --ranks 4 --bytes 8 --segments 2", "--segments has no effect");
    bad("model bcast --ranks 4 --bytes 8 --energy 5q", "'5q' is not a number of joules");
    bad("model bcast --ranks 4 --bytes 8 --map beauty", "unknown metric 'beauty'");
    bad("model bcast --ranks 1 --bytes 8 --map time", "a map of one rank");
    bad("model bcast --ranks 4 --bytes 8 --map time --memory 64", "leave the others out");
}

}  // namespace
}  // namespace rubato
