// rubato choose --network, and rubato sim with ranks in other places.
#include "command.hpp"

namespace rubato {
namespace {

using nlohmann::json;
using choose_network = command;

constexpr const char* tree = "--network fattree:crossbar=8,ports=16,oversubscription=1:3";

TEST_F(choose_network, placement_changes_the_choice) {
    int changed = 0;
    for (const char* size : {"1KiB", "64KiB", "1MiB"}) {
        const auto picked = [&](const char* mapping) {
            return good_json(fmt::format("choose allreduce --ranks 16 --bytes {} {} {} --json", size, tree, mapping));
        };
        changed += picked("")["picked"] != picked("--mapping random:1")["picked"] ? 1 : 0;
    }
    EXPECT_GT(changed, 0);
}

TEST_F(choose_network, the_order_of_the_network_makes_up_for_bad_places) {
    const auto time = [&](const char* how) {
        return good_json(
                   fmt::format("sim allreduce/ring --ranks 16 --bytes 1MiB {} {} --json", tree, how))[0]["run_time_ns"]
            .get<double>();
    };
    const double best = time("");
    EXPECT_GT(time("--mapping random:1"), 1.5 * best);
    EXPECT_LE(time("--mapping random:1 --order network"), 1.01 * best);
    EXPECT_LE(time("--order network"), 1.01 * best);
}

TEST_F(choose_network, algorithms_with_near_partners_take_part_on_a_network_alone) {
    const auto has_bine = [&](const std::string& how) {
        const json all = good_json("choose bcast --ranks 16 --bytes 1KiB --json " + how)["candidates"];
        return std::ranges::any_of(all, [](const json& c) { return c["id"] == "bcast/bine"; });
    };
    EXPECT_TRUE(has_bine(tree));
    EXPECT_FALSE(has_bine(""));
}

TEST_F(choose_network, says_what_is_too_large_to_simulate) {
    const std::string problem = "choose allgather --ranks 1024 --bytes 1MiB --network crossbar:ports=1024";
    const json left_out = good_json(problem + " --json")["not_simulated"];
    EXPECT_TRUE(std::ranges::any_of(left_out, [](const json& id) { return id == "allgather/ring"; })) << left_out;
    EXPECT_NE(good(problem).find("Not simulated, as too slow or too large: "), std::string::npos);
    bad("choose alltoall --ranks 1024 --bytes 1MiB --network crossbar:ports=1024",
        "each algorithm has more than 1000000 steps; give fewer ranks, or leave --network out");
}

TEST_F(choose_network, refuses_with_one_line) {
    for (const std::string line :
         {"--network", "--network x", "--network crossbar:ports=0", "--routing modulo", "--mapping random:1",
          "--order network", "--network crossbar:ports=4 --order x", "--network crossbar:ports=4 --mapping random:x",
          "--network crossbar:ports=4 --mapping /nowhere", "--network crossbar:ports=4 --hosts 2 --mapping random:1",
          "--network crossbar:ports=2 --hosts 3", "--network crossbar:ports=4 --routing x"}) {
        for (const char* what : {"choose", "sim"}) {
            const outcome result = rubato(fmt::format("{} bcast --ranks 4 --bytes 1KiB {}", what, line));
            EXPECT_EQ(result.status, 2) << what << ' ' << line;
            EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << what << ' ' << line << '\n' << result.err;
        }
    }
}

}  // namespace
}  // namespace rubato
