// rubato report of measurements and of observed programs, and what rubato exec writes them from.
#include "command.hpp"

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

namespace rubato {
namespace {

using nlohmann::json;

class report_command : public command {
protected:
    report_command() {
        write("measured.jsonl",
              R"({"kind":"run","hosts":["a","b"],"started":"2024-05-01"}
{"kind":"case","number":1,"collective":"bcast","bytes":4096,"pattern":"balanced","datatype":"byte"}
{"kind":"contestant","in_case":1,"name":"bcast/binomial","id":"bcast/binomial"}
{"kind":"contestant","in_case":1,"name":"native"}
)");
        std::ofstream out(path("measured.jsonl"), std::ios::app);
        for (int i = 0; i < 12; ++i)
            out << fmt::format(
                R"({{"kind":"sample","in_case":1,"name":"bcast/binomial","repetition":{0},"arrivals":[0,0],)"
                R"("exits":[{1},2],"bound":50}}
{{"kind":"sample","in_case":1,"name":"native","repetition":{0},"arrivals":[0,0],"exits":[{2},2]}}
)",
                i, 100 + i % 3, 200 + i % 3);
    }
    std::string file() const { return path("measured.jsonl"); }
};

TEST_F(report_command, tells_who_wins) {
    const std::string text = good("report " + file());
    EXPECT_TRUE(text.starts_with("2 ranks on 2 hosts: 1 case of bcast, measured 2024-05-01\n")) << text;
    EXPECT_NE(text.find("bcast of byte, root 0; 2 ranks on 2 hosts"), std::string::npos) << text;
    EXPECT_NE(text.find("4 KiB  balanced  binomial"), std::string::npos) << text;
    EXPECT_NE(text.find("binomial     101.0 ns  101.0 ns    2.02"), std::string::npos) << text;
    EXPECT_NE(text.find("faster"), std::string::npos) << text;
    const std::string all = good("report --all --reference bcast/binomial " + file());
    EXPECT_NE(all.find("faster (p < 0.001)"), std::string::npos) << all;
    EXPECT_NE(all.find("101.0 ns [100.0, 102.0]"), std::string::npos) << all;
    const json c = good_json("report --json --model curie " + file()).at("cases").at(0);
    EXPECT_EQ(c.at("best_rubato"), "bcast/binomial");
    EXPECT_EQ(c.at("contestants").at(0).at("to_bound"), 101. / 50);
    EXPECT_TRUE(c.at("contestants").at(0).contains("model"));
}

TEST_F(report_command, tells_whom_a_model_would_choose) {
    std::ofstream(file(), std::ios::app)
        << R"({"kind":"contestant","in_case":1,"name":"bcast/linear","id":"bcast/linear"})" << '\n'
        << R"({"kind":"sample","in_case":1,"name":"bcast/linear","repetition":0,"arrivals":[0,0],"exits":[500,2]})"
        << '\n';
    const std::string text = good("report --model curie " + file());
    EXPECT_NE(text.find("choice by this model: within 10 % of the fastest in "), std::string::npos) << text;
    const json choice = good_json("report --json --model curie " + file()).at("cases").at(0).at("choice");
    EXPECT_EQ(choice.at("fastest"), "bcast/binomial");
    EXPECT_EQ(choice.at("good"), choice.at("ratio") <= 1.1);
}

TEST_F(report_command, what_was_measured_of_native_ones_takes_part_in_a_choice) {
    const std::string asked = "choose bcast --ranks 2 --bytes 4096 --json --measured " + file();
    const json measured = good_json(asked);
    EXPECT_EQ(measured.at("picked"), "native");
    EXPECT_EQ(measured.at("candidates").at(0).at("how"), "measured");
    EXPECT_EQ(measured.at("candidates").at(0).at("id"), nullptr);
    // Nothing was measured of other sizes, arrivals, roots and ranks.
    for (const char* other : {"--bytes 5000", "--bytes 4096 --arrivals 0,1ms", "--bytes 4096 --root 1"})
        EXPECT_NE(good_json(fmt::format("choose bcast --ranks 2 {} --json --measured {}", other, file())).at("picked"),
                  "native");
    bad("choose bcast --ranks 2 --bytes 4096 --measured " + path("missing.jsonl"), "No such file");
}

TEST_F(report_command, all_that_was_measured_of_native_ones_counts) {
    write("more.jsonl",
          R"({"kind":"run","hosts":["a","b"],"started":"2024-05-02"}
{"kind":"case","number":1,"collective":"bcast","bytes":4096,"pattern":"balanced","datatype":"double"}
{"kind":"contestant","in_case":1,"name":"native"}
)");
    std::ofstream out(path("more.jsonl"), std::ios::app);
    for (int i = 0; i < 14; ++i)
        out << fmt::format(
            R"({{"kind":"sample","in_case":1,"name":"native","repetition":{},"arrivals":[0,0],"exits":[100,2]}})"
            "\n",
            i);
    out.close();
    for (const std::string& files : {file() + " " + path("more.jsonl"), path("more.jsonl") + " " + file()}) {
        const json first =
            good_json("choose bcast --ranks 2 --bytes 4096 --json --measured " + files).at("candidates")[0];
        EXPECT_EQ(first.at("name"), "native");
        EXPECT_EQ(first.at("run_time_ns"), 100);
    }
}

TEST_F(report_command, writes_files) {
    good(fmt::format("report {} -o {} --csv {} --repro {}", file(), path("page.html"), path("x.csv"), path("x.txt")));
    EXPECT_TRUE(slurp(path("page.html")).starts_with("<!DOCTYPE html>"));
    const std::string csv = slurp(path("x.csv"));
    EXPECT_EQ(std::ranges::count(csv, '\n'), 1 + 2 * 12 * 2);
    EXPECT_NE(slurp(path("x.txt")).find("msize_bytes"), std::string::npos);
}

/// Each of them on a disk of 16 KiB, which is gone with the shell.
TEST_F(report_command, leaves_nothing_half_written_on_a_full_disk) {
    const std::string disk = path("disk");
    std::filesystem::create_directory(disk);
    const std::string mounted =
        fmt::format("unshare -m sh -c 'mount -t tmpfs -o size=16k none {} && cd {} && ", disk, disk);
    if (shell(mounted + "true'").status != 0) GTEST_SKIP() << "needs the right to mount";
    for (const char* option : {"-o", "--csv"}) {
        for (int i = 0; i < 300; ++i)
            std::ofstream(file(), std::ios::app) << fmt::format(
                R"({{"kind":"sample","in_case":1,"name":"native","repetition":{},"arrivals":[0,0],"exits":[200,2]}})"
                "\n",
                20 + i);
        const outcome result = shell(fmt::format("{} echo old >x; {} report {} {} x; echo $?; ls -A; cat x'", mounted,
                                                 RUBATO_COMMAND, file(), option));
        EXPECT_EQ(result.out, "2\nx\nold\n") << option;
        EXPECT_EQ(result.err,
                  "rubato: cannot write 'x': No space left on device; make room, or write to another place\n");
    }
    const outcome drawn = shell(
        fmt::format("{} {} schedule bcast/binomial --ranks 512 --json -o x; echo $?; ls -A'", mounted, RUBATO_COMMAND));
    EXPECT_EQ(drawn.out, "2\n");
}

TEST_F(report_command, refuses_an_observation_that_is_cut_short) {
    write("cut.rubato",
          R"({"kind":"observation","program":"solver","ranks":4,"hosts":["a","a","b","b"],"parts":4,"lines":9})"
          "\n");
    bad("report " + path("cut.rubato"), "cut short: it has 1 lines of 9");
    bad("report " + path("nothing.rubato"), "give a file of 'rubato bench', or of a program");
}

TEST_F(report_command, shows_an_observed_program) {
    write(
        "solver.rubato",
        R"({"kind":"observation","program":"solver","library":"an MPI","ranks":4,"hosts":["a","a","b","b"],)"
        R"("ended":true,"parts":4,"model":"","lost":0,"lines":6,)"
        R"("profile":{"file":"/c/solver.profile","runs":2,"experiences":5,"network":true}}
{"kind":"communicator","members":[0,1,2,3],"count":1}
{"kind":"site","module":"/nonexistent/solver","offset":4096,"symbol":"solve"}
{"kind":"row","communicator":0,"site":0,"collective":"reduce","form":"blocking","root":2,"calls":50,"callers":4,)"
        R"("bytes":65536,"time":200000000,"median":1000000,"seen":{"invocations":50,"run_time":2000000,"tail":500000,)"
        R"("imbalance":1500000,"waiting":0.75,"first":{"rank":0,"share":0.5},"last":{"rank":3,"share":1.0},)"
        R"("predictable":{"predictor":"last","error":150000,"deviation":375000,"last_right":1.0},"pattern":[0,0,0,1500000],)"
        R"("examples":[{"number":7,"arrivals":[0,0,0,1500000],"exits":[1,1,2000000,1500001]}]}}
{"kind":"recalled","what":{"collective":"reduce","root":2,"size_class":17,"bytes":65536,"ranks":4,)"
        R"("algorithm":"reduce/chain","segment":16384,"round_ns":0,"native_tail_ns":500000,"native_pace_ns":9000000,)"
        R"("plan_tail_ns":110000,"plan_pace_ns":8000000,"arrivals_ns":[0,0,0,1500000]}}
{"kind":"decision","what":{"decision":"kept","operation":"reduce","root":2,"bytes":65536,"call":9,)"
        R"("algorithm":"reduce/chain@16KiB","predicted_tail_ns":100000,"measured_tail_ns":120000,"incumbent":"native",)"
        R"("incumbent_tail_ns":500000,"pattern":{"first":0,"last":3,"imbalance_ns":1500000},"reason":"it is faster"}}
)");
    const std::string text = good("report " + path("solver.rubato"));
    EXPECT_TRUE(text.starts_with(
        "solver: 4 ranks on 2 hosts, an MPI\non a, b\nFrom the profile /c/solver.profile, which 2 runs have "
        "written: the network's model, and what was learned of 5 operations.\n\n"))
        << text;
    EXPECT_NE(text.find("took is not known.\n"), std::string::npos) << text;
    EXPECT_NE(text.find("\nall 4 ranks\n"), std::string::npos) << text;
    EXPECT_NE(
        text.find("reduce     64 KiB     2      4  reduce/chain@16KiB    500.00 us  110.00 us          3  1.500 ms"),
        std::string::npos)
        << text;
    EXPECT_NE(
        text.find("reduce     64 KiB     2  solve (solver+0x1000)     50  200.000 ms  1.000 ms     75 %       3.00  "
                  "0 (50 %)  3 (100 %)  60 %, last 100 % (last)"),
        std::string::npos)
        << text;
    EXPECT_NE(
        text.find(
            "9  reduce/chain@16KiB  kept      100.00 us  120.00 us  native     500.00 us  1.500 ms  it is faster"),
        std::string::npos)
        << text;
    const std::string modelled = good("report --model hockney:alpha=10us,beta=1ns,gamma=0 " + path("solver.rubato"));
    EXPECT_NE(modelled.find("19.86"), std::string::npos) << "1500 / 75.536 us\n" << modelled;
    EXPECT_NE(modelled.find("as measured"), std::string::npos) << modelled;
    const json all = good_json("report --json --model curie -o " + path("page.html") + " " + path("solver.rubato"));
    const json& row = all.at("rows").at(0);
    EXPECT_EQ(row.at("function"), "solve");
    EXPECT_GT(row.at("instead").size(), 3U);
    for (const json& w : row.at("instead")) EXPECT_EQ(w.at("run_time").get<int>() - w.at("tail").get<int>(), 1500000);
    EXPECT_EQ(all.at("decisions").at(0).at("decision"), "kept");
    const json& found = all.at("diagnosis").at(0);
    EXPECT_EQ(found.at("place"), "reduce of 64 KiB, root 2 at solve (solver+0x1000)");
    EXPECT_EQ(found.at("cause"), "chance") << "one call says nothing of the others";
    EXPECT_EQ(found.at("ranks"), json::array());
    EXPECT_DOUBLE_EQ(found.at("waiting_s").get<double>(), 0.0375);
    EXPECT_EQ(found.at("share_of_run"), 0);
    EXPECT_GT(found.at("gain_if_mended_s").get<double>(), 0.05);
    EXPECT_FALSE(found.at("advice").get<std::string>().empty());
    EXPECT_EQ(found.size(), 7U);
    EXPECT_EQ(all.at("profile").at("runs"), 2);
    EXPECT_EQ(all.at("from_profile").at(0).at("late"), json({{"rank", 3}, {"by", 1500000}}));
    EXPECT_TRUE(slurp(path("page.html")).starts_with("<!DOCTYPE html>"));
    bad("report " + file() + " " + path("solver.rubato"), "give that file alone");
    const std::string beside = good("report " + path("solver.rubato") + " " + path("solver.rubato"));
    EXPECT_NE(beside.find("In collectives it took as long: 50.000 ms, then 50.000 ms on each rank.\n"),
              std::string::npos)
        << beside;
    const json both = good_json("report --json " + path("solver.rubato") + " " + path("solver.rubato"));
    EXPECT_EQ(both.at("places").at(0).at("runs").at(1).at("calls"), 50);
    bad("report -o x.html " + path("solver.rubato") + " " + path("solver.rubato"), "a page is about one");
    EXPECT_NE(good("watch " + path("solver.rubato")).find("reduce of 64 KiB"), std::string::npos) << "it has ended";
    bad("watch " + path("nothing.rubato"), "give a file of an observed program");
    bad("watch --every 0s " + path("solver.rubato"), "give a time such as 1s");
    bad("report --csv " + path("x.csv") + " " + path("solver.rubato"), "--csv is not for observed programs");
}

TEST_F(report_command, errors) {
    bad("report", "FILES is required");
    bad("report " + path("missing.jsonl"), "No such file");
    write("other.txt", "hello\n");
    bad("report " + path("other.txt"), "other.txt:1");
    bad("report " + file() + " -o " + path("nowhere/page.html"), "cannot write");
    bad("report " + file() + " --reference bcast/chain", "there are bcast/binomial, native");
    bad("report " + file() + " --model curly", "curly");
    bad(fmt::format("report {} -o {}", file(), file()), "the measurements would be lost");
    good("report " + file());
}

class exec_command : public command {};

TEST_F(exec_command, refuses_an_output_that_is_no_plain_file) {
    const auto refuses = [this](const std::string& output, std::string_view why) {
        bad(fmt::format("exec --output {} -- touch {}", output, path("it ran")), why);
        EXPECT_FALSE(std::filesystem::exists(path("it ran"))) << output;
    };
    ASSERT_EQ(mkfifo(path("fifo").c_str(), 0600), 0);
    refuses(path("fifo"), "it is a device or a pipe");
    EXPECT_TRUE(std::filesystem::is_fifo(path("fifo")));
    refuses(path("none/x"), "there is no folder");
    EXPECT_FALSE(std::filesystem::exists(path("none")));
    refuses("/dev/stdout", "it is a device or a pipe");
    refuses("-", "a file needs a name");
    refuses(path(""), "a file needs a name");
    std::filesystem::create_directory(path("folder"));
    refuses(path("folder"), "it is a folder");
    std::filesystem::create_symlink("fifo", path("link"));
    refuses(path("link"), "it is a device or a pipe");
    write("x.parts", "");
    refuses(path("x"), "is no folder");
    if (mknod(path("full").c_str(), S_IFCHR | 0600, makedev(1, 7)) != 0)
        GTEST_SKIP() << "needs the right to make devices";
    refuses(path("full"), "it is a device or a pipe");
    EXPECT_TRUE(std::filesystem::is_character_file(path("full")));
}

}  // namespace
}  // namespace rubato
