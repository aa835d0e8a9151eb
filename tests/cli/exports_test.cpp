// rubato export and rubato import.
#include "command.hpp"

namespace rubato {
namespace {

class exports_command : public command {
protected:
    /// 4 ranks, 20 calls, of which rank 2 is late by 5 ms in each.
    void write_calls() const {
        std::string text = "rank,host,collective,bytes,root,arrival_us,exit_us,place\n";
        for (int i = 0; i < 20; ++i)
            for (int r = 0; r < 4; ++r)
                text += fmt::format("{},n{},{},8192,{},{},{},solve (solver.c:120)\n", r, r / 2,
                                    i % 2 == 0 ? "allreduce" : "MPI_Reduce", i % 2 == 0 ? "" : "1",
                                    i * 10000 + (r == 2 ? 5000 : r), i * 10000 + 5100 + r);
        write("calls.csv", text);
    }
    bool has_otf2() const {
        return rubato(fmt::format("import {} --format otf2 -o {}", path("calls.csv"), path("x")))
                   .err.find("built without") == std::string::npos;
    }
};

TEST_F(exports_command, an_imported_trace_is_reported_and_exported) {
    write_calls();
    const std::string file = path("run.rubato");
    EXPECT_EQ(good(fmt::format("import {} -o {} --model gige", path("calls.csv"), file)),
              fmt::format("80 calls of 4 ranks, from 1 place: rubato report {}\n", file));
    const nlohmann::json report = good_json(fmt::format("report {} --json", file));
    EXPECT_EQ(report["ranks"], 4);
    EXPECT_EQ(report["mode"], "imported");
    ASSERT_EQ(report["rows"].size(), 2U);
    EXPECT_NE(report["diagnosis"][0]["advice"].get<std::string>().find("rank2.data ./your_program"), std::string::npos);
    EXPECT_NE(good(fmt::format("report {}", file)).find("solve (solver.c:120)"), std::string::npos);

    const nlohmann::json told = good_json(fmt::format("export {} --format csv -o {} --json", file, path("again.csv")));
    EXPECT_EQ(told["calls"], 80);
    EXPECT_EQ(told["missing"], 0);
    const nlohmann::json again =
        good_json(fmt::format("import {} -o {} --json", path("again.csv"), path("again.rubato")));
    EXPECT_EQ(again["calls"], 80);
    EXPECT_EQ(good_json(fmt::format("report {} --model gige --json", path("again.rubato")))["rows"].size(), 2U);
    EXPECT_EQ(lines(good(fmt::format("export {} --format prometheus -o -", file))).front(),
              "# HELP rubato_ranks Ranks of the program.");
    EXPECT_EQ(good(fmt::format("export {} --format perfetto -o {}", file, path("run.pftrace"))),
              fmt::format("80 calls of 4 ranks in {}\n", path("run.pftrace")));
    EXPECT_GT(std::filesystem::file_size(path("run.pftrace")), 2000U);
}

TEST_F(exports_command, goal_by_the_simulator) {
    write_calls();
    good(fmt::format("import {} -o {}", path("calls.csv"), path("run.rubato")));
    EXPECT_EQ(good(fmt::format("export {} --format goal -o {}", path("run.rubato"), path("run.goal"))),
              fmt::format("80 calls of 4 ranks in {}\n", path("run.goal")));
    const nlohmann::json played = good_json(fmt::format("goal read {} --json", path("run.goal")));
    // Rank 2 computes for 5 ms, and nineteen times for 9.898 ms.
    for (const nlohmann::json& end : played["exit_ns"]) {
        EXPECT_GT(end, 193'000'000);
        EXPECT_LT(end, 196'000'000);
    }
    EXPECT_GT(played["messages"], 20 * 3);
}

TEST_F(exports_command, perfetto_by_its_own_decoder) {
    if (shell("command -v protoc").status != 0) GTEST_SKIP() << "there is no protoc";
    write_calls();
    good(fmt::format("import {} -o {}", path("calls.csv"), path("run.rubato")));
    good(fmt::format("export {} --format perfetto -o {}", path("run.rubato"), path("run.pftrace")));
    const outcome decoded = shell(fmt::format("protoc --decode_raw <{}", path("run.pftrace")));
    EXPECT_EQ(decoded.status, 0) << decoded.err;
    EXPECT_NE(decoded.out.find("\"solve (solver.c:120)\""), std::string::npos);
    EXPECT_NE(decoded.out.find("\"MPI_Allreduce\""), std::string::npos);
    EXPECT_NE(decoded.out.find("\"rank 3 on n1\""), std::string::npos);
}

TEST_F(exports_command, otf2_by_its_own_tool) {
    write_calls();
    if (!has_otf2()) GTEST_SKIP() << "this rubato was built without OTF2";
    good(fmt::format("import {} -o {}", path("calls.csv"), path("run.rubato")));
    good(fmt::format("export {} --format otf2 -o {}", path("run.rubato"), path("archive")));
    EXPECT_EQ(good_json(fmt::format("import {} -o {} --json", path("archive"), path("back.rubato")))["calls"], 80);
    bad(fmt::format("export {} --format otf2 -o {}", path("run.rubato"), path("archive")), "name a new one");
    bad(fmt::format("import {} --format otf2 -o {}", path("calls.csv"), path("x")), "calls.csv");
    if (shell("command -v otf2-print").status != 0) GTEST_SKIP() << "there is no otf2-print";
    const outcome printed = shell(fmt::format("otf2-print {}/traces.otf2", path("archive")));
    EXPECT_EQ(printed.status, 0) << printed.err;
    const std::vector<std::string> all = lines(printed.out);
    const auto count = [&](std::string_view what) {
        return std::ranges::count_if(all, [&](const std::string& l) { return l.starts_with(what); });
    };
    EXPECT_EQ(count("ENTER"), 80);
    EXPECT_EQ(count("LEAVE"), 80);
    EXPECT_EQ(count("MPI_COLLECTIVE_END"), 80);
    EXPECT_NE(printed.out.find("Operation: ALLREDUCE"), std::string::npos) << printed.out.substr(0, 2000);
    EXPECT_NE(printed.out.find("solve (solver.c:120)"), std::string::npos);
}

TEST_F(exports_command, wrong_input_is_refused_in_a_line) {
    write_calls();
    write("wrong.csv", "rank,collective,arrival_ns,exit_ns\n0,barrier,1,2\n1,barrier,one,2\n");
    bad(fmt::format("import {} -o {}", path("wrong.csv"), path("x")), "wrong.csv', line 3: its arrival, 'one'");
    bad(fmt::format("import {} -o {}", path("none.csv"), path("x")), "none.csv");
    bad(fmt::format("import {} -o {}", path("stderr"), path("x")), "its name does not tell");
    bad(fmt::format("import {} -o /nonexistent/x", path("calls.csv")), "there is no folder");
    bad(fmt::format("export {} --format csv -o {}", path("calls.csv"), path("x")), "calls.csv");
    bad("export x --format vampir -o y", "vampir");
    bad(fmt::format("export {} --format goal -o {}", path("none.rubato"), path("x")),
        "cannot read '" + path("none.rubato"));
    bad(fmt::format("export {} --format goal -o {}", path("calls.csv"), path("x")), "calls.csv:1 cannot be understood");
    bad("exec --record most -- true", "RUBATO_RECORD=most: there is no such choice");
    bad("exec --record all,limit=1kB -- true", "its limit is from 1MiB to 1TiB");
    bad("exec --watchdog 1ms -- true", "RUBATO_WATCHDOG=1ms");
    good(fmt::format("import {} -o {}", path("calls.csv"), path("run.rubato")));
    bad(fmt::format("export {0} {0} --format csv -o {1}", path("run.rubato"), path("x")), "exported alone");
    bad(fmt::format("export {} --format csv -o - --json", path("run.rubato")), "--json with -o -");
    write("twice.rubato", slurp(path("run.rubato")) + slurp(path("run.rubato")));
    bad("report " + path("twice.rubato"), "longer than it was");
    std::filesystem::create_directory(path("folder.rubato"));
    for (const char* read : {"report ", "watch "}) bad(read + path("folder.rubato"), "it is a folder");
    if (has_otf2())
        bad(fmt::format("export {} --format otf2 -o {}", path("run.rubato"), path("none/x")), "there is no folder");
}

}  // namespace
}  // namespace rubato
