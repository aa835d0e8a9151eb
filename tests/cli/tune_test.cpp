// rubato tune: what it writes, and what it refuses; and who reads its rules.
#include "command.hpp"

namespace rubato {
namespace {

using nlohmann::json;

class tune_command : public command {
protected:
    static constexpr const char* asked =
        "tune reduce allgather --ranks 4,8 --bytes 1KiB,256KiB --model loggp:L=10us,o=5us,g=5us,G=20ns,combine=0.1ns";
};

TEST_F(tune_command, writes_rules_that_choose_reads) {
    const std::string table = good(fmt::format("{} -o {}", asked, path("my.rules")));
    EXPECT_TRUE(table.starts_with("COLLECTIVE")) << table;
    const std::string text = slurp(path("my.rules"));
    EXPECT_EQ(good(asked).substr(0, 200), text.substr(0, 200)) << "without -o it is printed";
    EXPECT_NE(text.find("\nreduce 8 1KiB any reduce/"), std::string::npos) << text;
    EXPECT_NE(text.find("\nreduce 16 0B any native"), std::string::npos) << text;
    const json chosen =
        good_json(fmt::format("choose reduce --ranks 8 --bytes 256KiB --json --rules {}", path("my.rules")));
    EXPECT_NE(chosen.at("why").get<std::string>().find("my.rules says so"), std::string::npos) << chosen.at("why");
    const json rows = good_json(fmt::format("{} --json", asked));
    EXPECT_GE(rows.size(), 8U);
    for (const json& row : rows) EXPECT_GE(row.at("worst_regret"), row.at("mean_regret")) << row;
}

TEST_F(tune_command, repeats_by_its_seed) {
    const std::string one = "tune reduce --ranks 16 --bytes 64KiB --json --seed ";
    EXPECT_EQ(good(one + "7"), good(one + "7"));
}

TEST_F(tune_command, knows_what_libraries_have) {
    const std::string numbers = good(fmt::format("{} --format openmpi", asked));
    EXPECT_TRUE(numbers.starts_with("2 # collectives")) << numbers;
    EXPECT_NE(numbers.find("\n11 # reduce\n4 # communicator sizes\n0 # ranks"), std::string::npos) << numbers;
    const json tree = json::parse(good(fmt::format("{} --format mpich", asked)));
    EXPECT_TRUE(tree.at("collective=reduce").at("comm_type=intra").contains("comm_size<4"));
    EXPECT_FALSE(tree.at("collective=bcast").at("comm_type=intra").contains("comm_size<4"));
    for (const json& row : good_json(fmt::format("{} --format openmpi --json", asked)))
        EXPECT_FALSE(row.at("choice").is_string() &&
                     row.at("choice").get<std::string>().find("clairvoyant") != std::string::npos);
}

TEST_F(tune_command, leaves_out_algorithms_whose_ranks_may_round_differently) {
    std::string text =
        R"({"kind":"run","hosts":["a","b"],"started":"2024-05-02"}
{"kind":"case","number":1,"collective":"allreduce","bytes":65536,"pattern":"balanced","datatype":"double"}
{"kind":"contestant","in_case":1,"name":"native"}
{"kind":"contestant","in_case":1,"name":"dissemination","id":"allreduce/dissemination"}
{"kind":"contestant","in_case":1,"name":"ring","id":"allreduce/ring"}
)";
    for (const auto& [name, exit] : {std::pair("native", 900), std::pair("dissemination", 100), std::pair("ring", 300)})
        for (int i = 0; i < 3; ++i)
            text += fmt::format(
                R"({{"kind":"sample","in_case":1,"name":"{}","repetition":{},"arrivals":[0,0],"exits":[{},2]}})"
                "\n",
                name, i, exit);
    write("measured.jsonl", text);
    const std::string rules = good("tune --measured " + path("measured.jsonl"));
    EXPECT_NE(rules.find("any allreduce/ring\n"), std::string::npos) << rules;
    EXPECT_EQ(rules.find("dissemination"), std::string::npos) << rules;
    EXPECT_EQ(good("tune allreduce --ranks 3,4,9,16 --bytes 8,1KiB").find("dissemination"), std::string::npos);
}

TEST_F(tune_command, takes_what_was_measured) {
    std::string text =
        R"({"kind":"run","hosts":["a","b"],"started":"2024-05-02"}
{"kind":"case","number":1,"collective":"bcast","bytes":65536,"pattern":"balanced","datatype":"double"}
{"kind":"contestant","in_case":1,"name":"native"}
{"kind":"contestant","in_case":1,"name":"native:pipeline@8KiB"}
{"kind":"contestant","in_case":1,"name":"native:binomial@64KiB"}
)";
    for (const auto& [name, exit] :
         {std::pair("native", 900), std::pair("native:pipeline@8KiB", 300), std::pair("native:binomial@64KiB", 400)})
        for (int i = 0; i < 3; ++i)
            text += fmt::format(
                R"({{"kind":"sample","in_case":1,"name":"{}","repetition":{},"arrivals":[0,0],"exits":[{},2]}})"
                "\n",
                name, i, exit);
    write("measured.jsonl", text);
    const std::string file = path("measured.jsonl");
    EXPECT_NE(good("tune --format openmpi --measured " + file).find("\n65536 3 0 8192 # pipeline\n"),
              std::string::npos);
    EXPECT_NE(good("tune --format openmpi --margin 300% --measured " + file).find("\n1 # message sizes\n0 0 0 0\n"),
              std::string::npos);
    bad("tune --measured " + file, "no two ways were measured");
    bad("tune --format mpich --measured " + file, "cannot choose MPICH's algorithms");
    bad("tune --format openmpi --ranks 4 --measured " + file, "--ranks has no effect");
    bad("tune --format openmpi --measured " + path("missing"), "No such file");
}

TEST_F(tune_command, takes_the_arrivals_of_a_program) {
    write(
        "solver.rubato",
        R"({"kind":"observation","program":"solver","library":"an MPI","ranks":4,"hosts":["a","a","b","b"],"ended":true,"parts":4,"model":"curie","lost":0,"lines":4}
{"kind":"communicator","members":[0,1,2,3],"count":1}
{"kind":"site","module":"/nonexistent/solver","offset":4096,"symbol":"solve"}
{"kind":"row","communicator":0,"site":0,"collective":"reduce","form":"blocking","root":2,"calls":50,"callers":4,)"
        R"("bytes":65536,"time":200000000,"median":1000000,"seen":{"invocations":50,"run_time":2000000,"tail":500000,)"
        R"("imbalance":1500000,"waiting":0.75,"first":{"rank":0,"share":0.5},"last":{"rank":3,"share":1.0},)"
        R"("predictable":{"predictor":"last","error":150000,"deviation":375000,"last_right":1.0},"pattern":[0,0,0,1500000],)"
        R"("examples":[{"number":7,"arrivals":[0,0,0,1500000],"exits":[1,1,2000000,1500001]}]}}
)");
    const json rows = good_json("tune --json --program " + path("solver.rubato"));
    ASSERT_FALSE(rows.empty());
    EXPECT_EQ(rows[0].at("collective"), "reduce");
    EXPECT_EQ(rows[0].at("ranks"), 4);
    EXPECT_EQ(rows[0].at("bytes"), 65536);
    bad("tune bcast --program " + path("solver.rubato"), "has nothing to tune");
}

TEST_F(tune_command, errors) {
    bad("tune", "no collective is named");
    bad("tune reduce --ranks 4", "rules are for numbers of ranks and sizes");
    bad("tune reduce --ranks 1 --bytes 8", "'1' is not a number of ranks");
    bad("tune reduces --ranks 4 --bytes 8", "reduces");
    bad("tune gather --format openmpi --ranks 4 --bytes 8", "gather cannot be tuned for openmpi");
    bad("tune reduce --ranks 4 --bytes 8 --margin 5", "--margin 5");
    bad("tune reduce --ranks 4 --bytes 8 --early --format mpich", "--early has no effect");
    bad("tune reduce --ranks 4 --bytes 8 --arrivals 0,1ms,2ms", "4");
    write("bad.model", "hockney:alpha=1us,beta=x,gamma=0\n");
    bad(fmt::format("tune reduce --ranks 4 --bytes 8 --model file:{}", path("bad.model")), "line 1 of model");
    write("bad.rules", "# rules\nreduce 4 8 any reduce/rings\n");
    bad(fmt::format("choose reduce --ranks 4 --bytes 8 --rules {}", path("bad.rules")), "line 2 of rules");
    bad(fmt::format("exec --mode rules={} -- true", path("bad.rules")), "line 2 of rules");
    bad(fmt::format("exec --mode rules={} -- true", path("missing")), "cannot read rules");
}

}  // namespace
}  // namespace rubato
