// rubato verify: right schedules, and wrong ones.
#include "command.hpp"

#include "rubato/algorithm.hpp"

namespace rubato {
namespace {

using nlohmann::json;

using verify_command = command;

TEST_F(verify_command, counts_schedules) {
    // 1 + 2 + 3 + 4 schedules with every root, for a commutative and another operator.
    EXPECT_EQ(good("verify reduce/binomial --ranks 1-4"), "60 schedules verified, 0 wrong\n");
    EXPECT_EQ(good("verify bcast/binomial --ranks 5"), "25 schedules verified, 0 wrong\n");
    EXPECT_EQ(good("verify bcast/binomial --ranks 5 --root-limit 4"), "15 schedules verified, 0 wrong\n");
    EXPECT_EQ(good("verify bcast/binomial reduce/binomial --ranks 2,3"), "39 schedules verified, 0 wrong\n");
}

TEST_F(verify_command, everything_is_right) {
    const auto all = lines(good("verify --ranks 1-9,16 --segments 1,3"));
    ASSERT_EQ(all.size(), 1U) << all.front();
    EXPECT_TRUE(all.back().ends_with(" schedules verified, 0 wrong")) << all.back();
}

TEST_F(verify_command, json_has_numbers_and_findings) {
    const json j = good_json("verify bcast/binomial --ranks 5 --json");
    EXPECT_EQ(j.at("schedules"), 25);
    EXPECT_EQ(j.at("wrong"), 0);
    EXPECT_TRUE(j.at("findings").empty());
}

TEST_F(verify_command, reads_schedules_from_a_file) {
    for (const algorithm& a : algorithms()) {
        const outcome made =
            rubato(fmt::format("schedule {} --ranks 8{}{}{} -o {} --json", a.id, a.segmented ? " --segments 2" : "",
                               traits(a.what).reduces ? " --idempotent" : "", neighbours_of(a), path("s.json")));
        ASSERT_EQ(made.status, 0) << a.id << made.err;
        EXPECT_EQ(good(fmt::format("verify --file {}", path("s.json"))), "8 schedules verified, 0 wrong\n") << a.id;
    }
}

TEST_F(verify_command, a_wrong_schedule_is_found_and_told_by_the_status) {
    json j = good_json("schedule bcast/binomial --ranks 4 --json");
    j["steps"][0].erase(1);  // the root forgets a child
    write("wrong.json", j.dump());
    const outcome result = rubato(fmt::format("verify --file {}", path("wrong.json")));
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.err, "");
    const auto all = lines(result.out);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0],
              fmt::format("bcast/binomial: rank 1, step 0 (recv output[0] from 0 (message 0)): rank 0 never sends this "
                          "message; see rubato verify --file {}",
                          path("wrong.json")));
    EXPECT_EQ(all[1], "4 schedules verified, 4 wrong");

    const outcome as_json = rubato(fmt::format("verify --json --file {}", path("wrong.json")));
    EXPECT_EQ(as_json.status, 1);
    EXPECT_EQ(json::parse(as_json.out).at("wrong"), 4);
    EXPECT_EQ(json::parse(as_json.out).at("findings").size(), 1U);
}

TEST_F(verify_command, an_algorithm_that_claims_the_same_bits_must_have_them) {
    json j = good_json("schedule allreduce/dissemination --ranks 4 --json");
    write("dissemination.json", j.dump());
    EXPECT_EQ(good(fmt::format("verify --file {}", path("dissemination.json"))), "4 schedules verified, 0 wrong\n");
    j["id"] = "allreduce/recursive_doubling";
    write("wrong.json", j.dump());
    const outcome result = rubato(fmt::format("verify --file {}", path("wrong.json")));
    EXPECT_EQ(result.status, 1);
    EXPECT_TRUE(lines(result.out)
                    .front()
                    .starts_with("allreduce/recursive_doubling: rank 1, output block 0: combined in another way than "
                                 "on rank 0, so bits may "
                                 "differ; see "))
        << result.out;
}

TEST_F(verify_command, every_number_counts_once) {
    EXPECT_EQ(good("verify bcast/binomial --ranks 5,4-5,5"), good("verify bcast/binomial --ranks 4-5"));
    EXPECT_EQ(good("verify bcast/chain --ranks 4 --segments 2,2"), good("verify bcast/chain --ranks 4 --segments 2"));
}

TEST_F(verify_command, nothing_to_verify_is_an_error) {
    bad("verify allgather/recursive_doubling --ranks 3",
        "nothing was verified: these algorithms cannot be used with these numbers of ranks; give other --ranks");
}

TEST_F(verify_command, what_takes_hours_is_refused_at_once) {
    bad("verify --ranks 1-4096", "with 4096 ranks alone takes about ");
    bad("verify alltoall/pairwise --ranks 4096", "give fewer algorithms, ranks or segments, or --force");
    EXPECT_EQ(good("verify bcast/binomial --ranks 5 --force"), "25 schedules verified, 0 wrong\n");
}

TEST_F(verify_command, errors) {
    bad("verify reduce/binomal", "did you mean reduce/binomial?");
    bad("verify --ranks 0", "'0' is not a number of ranks");
    bad("verify --ranks 5-3", "'3' is not a number of ranks");
    bad("verify --ranks 1-", "'' is not a number of ranks");
    bad("verify --root-limit none", "none");
    bad("verify --segments 0", "'0' is not a number of segments");
    bad(fmt::format("verify --file {}", path("none.json")), "cannot read");
    write("text.json", "this is no JSON\n");
    bad(fmt::format("verify --file {}", path("text.json")), "not the schedules of a problem");
    write("other.json", R"({"id": "reduce/binomial"})");
    bad(fmt::format("verify --file {}", path("other.json")), "not the schedules of a problem");
    json j = good_json("schedule bcast/binomial --ranks 4 --json");
    j["steps"][0][0]["kind"] = "teleport";
    write("kind.json", j.dump());
    bad(fmt::format("verify --file {}", path("kind.json")), "teleport");
}

}  // namespace
}  // namespace rubato
