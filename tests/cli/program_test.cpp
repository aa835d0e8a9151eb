// rubato sim --program: programs as text, and as they were observed.
#include "command.hpp"

namespace rubato {
namespace {

using nlohmann::json;

class program_command : public command {
protected:
    program_command() {
        write("p",
              "ranks 8  # may be overruled\n"
              "repeat 20 {\n"
              "    compute 1ms gamma:shape=2,scale=100us,seed=5 single:rank=3,delay=2ms\n"
              "    exchange ring 4KiB\n"
              "    allreduce 64KiB\n"
              "}\n"
              "bcast/chain 1MiB root=2 segments=8\n"
              "barrier\n");
    }
    std::string sim(const std::string& more = "") const {
        return "sim --program " + path("p") + " --model gige " + more;
    }
};

TEST_F(program_command, says_what_takes_the_time) {
    const json all = good_json(sim("--json"));
    ASSERT_EQ(all.at("calls").size(), 4U);
    EXPECT_EQ(all.at("calls")[0].at("id"), "neighbor_alltoall/direct");
    EXPECT_EQ(all.at("calls")[1].at("count"), 20);
    EXPECT_EQ(all.at("calls")[1].at("place"), "line 5");
    EXPECT_EQ(all.at("calls")[2].at("id"), "bcast/chain");
    EXPECT_EQ(all.at("calls")[2].at("segments"), 8);
    EXPECT_GE(all.at("run_time_ns"), all.at("computing_ns")[3]);
    EXPECT_GE(all.at("computing_ns")[3], 60'000'000);
    EXPECT_EQ(all.at("exit_ns").size(), 8U);
    EXPECT_NE(good(sim()).find("line 5"), std::string::npos);
    EXPECT_EQ(good(sim("--json --noise random:period=1ms,duration=50us,seed=3")),
              good(sim("--json --noise random:period=1ms,duration=50us,seed=3")));
    EXPECT_EQ(good_json(sim("--json --ranks 5")).at("exit_ns").size(), 5U);
}

TEST_F(program_command, what_if) {
    const auto time = [&](const std::string& more) {
        return good_json(sim("--json " + more)).at("run_time_ns").get<double>();
    };
    const double usual = time("");
    EXPECT_LT(time("--without slowest"), usual - 20e6);
    EXPECT_EQ(time("--without 3"), time("--without slowest"));
    EXPECT_GT(time("--plan allreduce/linear"), usual);
    EXPECT_GT(time("--slow rank=3,factor=2"), usual + 20e6);
    EXPECT_GT(time("--noise fixed:period=1ms,duration=100us"), usual);
    EXPECT_LT(good_json("sim --program " + path("p") + " --model infiniband2008 --json").at("run_time_ns"), usual);
    EXPECT_GT(time("--plan allreduce/ring --hosts cyclic:2 --share-links"),
              time("--plan allreduce/ring --hosts cyclic:2"));
    EXPECT_LT(time("--plan allreduce/clairvoyant"), 1.1 * usual);  // it knows who computes long
}

TEST_F(program_command, messages_share_cables) {
    const auto time = [&](const std::string& more) {
        return good_json("sim --program " + path("p") + " --model hockney:alpha=10us,beta=1ns,gamma=0 --json " + more)
            .at("run_time_ns")
            .get<double>();
    };
    EXPECT_EQ(time("--network crossbar:ports=8"), time(""));
    EXPECT_GT(
        time("--plan allreduce/ring --network fattree:crossbar=4,ports=8,oversubscription=1:3 --mapping random:1"),
        time("--plan allreduce/ring"));
    bad(sim("--network crossbar:ports=8 --order network"), "--order with --program");
}

TEST_F(program_command, wrong_ones_are_refused_with_their_line) {
    const auto says = [&](const std::string& text, std::string_view what) {
        write("bad", text);
        bad("sim --program " + path("bad"), what);
    };
    says("allreduce 8\n", "line 1 of program");
    says("ranks 4\nallreduce\n", "line 2 of program");
    says("ranks 4\nrepeat 3 {\nbarrier\n", "line 2 of program");
    says("ranks 4\n}\n", "line 2 of program");
    says("ranks 4\nfrobnicate 5\n", "line 2 of program");
    says("ranks 4\ncompute often\n", "line 2 of program");
    says("ranks 4\ncompute 1ms,2ms\n", "line 2 of program");
    says("ranks 4\nallreduce 8 root=1\n", "line 2 of program");
    says("ranks 4\nbcast 8 root=4\n", "line 2 of program");
    says("ranks 4\nbcast 8 segments=2\n", "line 2 of program");
    says("ranks 4\nbcast 8 ring\n", "line 2 of program");
    says("ranks 4\nneighbor_alltoall 8\n", "needs a graph");
    says("ranks 4\nbarrier\nranks 4\n", "line 3 of program");
    says("ranks 4\nrepeat 1000000000 {\nbarrier\n}\n", "too large to simulate");
    says("ranks 4\n", "does nothing");
    says("ranks 6\nbarrier\nallgather/recursive_doubling 8\n", "line 3: ");
    says("ranks 4\nbcast/binomial+early 8\n", "begins before its rank arrives");
    bad("sim --program " + path("p") + " --bytes 5", "--bytes with --program");
    bad("sim reduce --program " + path("p"), "ALGORITHMS with --program");
    bad("sim reduce --ranks 4 --bytes 5 --plan reduce/chain", "--plan without --program");
    bad(sim("--plan reduce/chain"), "the program has no reduce");
    bad(sim("--plan bcast/binomial"), "the program has no bcast of which it does not name the algorithm");
    bad(sim("--plan allreduce/ring,allreduce/linear"), "two algorithms of allreduce");
    bad(sim("--without 8"), "'8' is not a rank");
    bad("sim reduce --bytes 5", "--ranks is required");
    bad("sim --ranks 5", "ALGORITHMS is required");
}

/// Two iterations in which rank 1 comes 1 ms late, and one of which only ranks 2 and 3 know.
TEST_F(program_command, an_observed_program_is_replayed) {
    const std::string seen =
        R"("seen":{"invocations":2,"run_time":1100000,"tail":100000,"imbalance":1000000,"waiting":0.9,)"
        R"("first":{"rank":0,"share":1.0},"last":{"rank":1,"share":1.0},)"
        R"("predictable":{"predictor":"","error":0,"deviation":0,"last_right":0},"pattern":)";
    const std::string head = R"({"kind":"row","site":0,"form":"blocking","root":0,"callers":4,"time":1,"median":1,)";
    write("run.rubato",
          R"({"kind":"observation","program":"solver","ranks":4,"hosts":["a","a","a","a"],"parts":4,"lines":6}
{"kind":"communicator","members":[0,1,2,3],"count":1}
{"kind":"communicator","members":[2,3],"count":1}
{"kind":"site","module":"/nonexistent/solver","offset":4096,"symbol":"solve"}
)" + head + R"("communicator":0,"collective":"allreduce","calls":5,"bytes":8,)" +
              seen +
              R"([0,1000000,0,0],"examples":[)"
              R"({"number":0,"arrivals":[0,1000000,0,0],"exits":[1100000,1100000,1100000,1100000],"at":7000000},)"
              R"({"number":4,"arrivals":[0,1000000,0,0],"exits":[1100000,1100000,1100000,1100000],"at":9100000}]}}
)" + head + R"("communicator":1,"collective":"barrier","calls":1,"bytes":0,)" +
              seen +
              R"([0,0],"examples":[{"number":0,"arrivals":[0,0],"exits":[100000,100000],"at":8500000}]}}
)");
    const std::string replay =
        "sim --program " + path("run.rubato") + " --model hockney:alpha=10us,beta=1ns,gamma=0 --json";
    const json all = good_json(replay);
    EXPECT_EQ(all.at("observed_ns"), 3'200'000);
    EXPECT_EQ(all.at("observed_calls"), 6);
    EXPECT_EQ(all.at("replayed_calls"), 3);
    // Ranks 2 and 3: 400 us to the barrier and 500 us from it on; rank 1: 1 ms, then 2 ms.
    EXPECT_EQ(all.at("computing_ns"), json({1'000'000, 3'000'000, 900'000, 900'000}));
    EXPECT_GT(all.at("run_time_ns"), 3'000'000);
    EXPECT_LT(all.at("run_time_ns"), 3'200'000);
    EXPECT_LT(good_json(replay + " --without slowest").at("run_time_ns"), 1'500'000);
    bad("sim --program " + path("run.rubato") + " --ranks 8", "only a part of the ranks");
}

}  // namespace
}  // namespace rubato
