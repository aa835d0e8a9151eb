// Every example of every help text is run as it stands, in a folder that has what the examples name.
#include "command.hpp"

#include "dropin/profile/profile.hpp"

namespace rubato {
namespace {

class examples : public command {
protected:
    examples() {
        namespace fs = std::filesystem;
        fs::create_directory_symlink(RUBATO_SOURCE "/examples", path("examples"));
        fs::create_directory(path("bin"));
        fs::create_symlink(RUBATO_COMMAND, path("bin/rubato"));
        setenv("XDG_CACHE_HOME", path("cache").c_str(), 1);
        unsetenv("RUBATO_PROFILE");
#ifdef RUBATO_MPIRUN
        // There are no hosts a and b here, and fewer cores than ranks, which therefore do not arrive in time.
        script("bin/mpirun",
               "for word; do\n"
               "    shift\n"
               "    case $word in --host | a,b) ;; *) set -- \"$@\" \"$word\" ;; esac\n"
               "done\n"
               "case \" $* \" in *\" bench \"*) set -- \"$@\" --tolerance 100s ;; esac\n"
               "exec " RUBATO_MPIRUN " \"$@\"\n");
        script("program", "exec " RUBATO_PROGRAM " 200 10\n");
#endif
    }

    /// What the examples read, but for what they write themselves.
    void make_files(const std::vector<std::string>& lines) const {
        good(fmt::format("schedule reduce/binomial --ranks 8 --json -o {}", path("mine.json")));
        write("cluster.model", "loggp:L=2us,o=1us,g=1us,G=0.5ns\nhockney:alpha=2us,beta=0.5ns,gamma=0\n");
        for (const char* name : {"measured.jsonl", "reduce.jsonl", "8-hosts.jsonl", "16-hosts.jsonl"}) measured(name);
        for (const char* name : {"solver.rubato", "observed.rubato", "auto.rubato"}) observed(name);
        traced();
        dropin::profile learned;
        learned.of = {"solver", 16, {16}, "an MPI"};
        std::filesystem::create_directories(path("cache/rubato/profiles"));
        dropin::write(learned, path("cache/rubato/profiles/solver-16-0123456789abcdef.profile"));
        // Another run's would be refused, in a line.
        if (std::ranges::none_of(lines, [](const std::string& l) { return l.starts_with("rubato exec"); }))
            dropin::write(learned, path("solver.profile"));
        for (const std::string& line : lines) {
            const std::size_t at = line.find(" -o ");
            if (at == std::string::npos) continue;
            const std::string name = line.substr(at + 4, line.find(' ', at + 4) - at - 4);
            std::filesystem::remove(path(name));
        }
    }

    outcome run(const std::string& line) const {
        return shell(fmt::format("cd {} && PATH={}:$PATH && {}", path(""), path("bin"), line));
    }

    static std::vector<std::string> in(const std::string& help) {
        std::vector<std::string> found;
        for (const std::string& line : lines(help.substr(help.find("Examples:\n"))))
            if (line.starts_with("  ")) found.push_back(line.substr(2));
        return found;
    }

    void observed(std::string_view name) const {
        write(name,
              R"({"kind":"observation","program":"solver","ranks":2,"hosts":["a","a"],"parts":2,"lines":4}
{"kind":"communicator","members":[0,1],"count":1}
{"kind":"site","module":"/nonexistent/solver","offset":4096,"symbol":"solve"}
{"kind":"row","communicator":0,"site":0,"collective":"allreduce","form":"blocking","root":0,"calls":2,"callers":2,)"
              R"("bytes":65536,"time":200000,"median":50000,"seen":{"invocations":2,"run_time":70000,"tail":50000,)"
              R"("imbalance":20000,"waiting":0.2,"first":{"rank":0,"share":1.0},"last":{"rank":1,"share":1.0},)"
              R"("predictable":{"predictor":"","error":0,"deviation":0,"last_right":0},"pattern":[0,20000],"examples":)"
              R"([{"number":0,"arrivals":[0,20000],"exits":[70000,70000],"at":1000000},)"
              R"({"number":1,"arrivals":[0,20000],"exits":[70000,70000],"at":2000000}]}}
)");
    }
    static bool needs_mpi(const std::string& line) { return line.find("mpirun ") != std::string::npos; }

private:
    /// A trace as CSV, and the same as OTF2.
    void traced() const {
        write("calls.csv", "rank,collective,arrival_ns,exit_ns\n0,barrier,0,20\n1,barrier,10,20\n");
        if (std::filesystem::exists(path("scorep-run"))) return;
        good(fmt::format("import {} -o {}", path("calls.csv"), path("traced.rubato")));
        good(fmt::format("export {} --format otf2 -o {}", path("traced.rubato"), path("scorep-run")));
    }
    void script(std::string_view name, std::string_view text) const {
        write(name, fmt::format("#!/bin/sh\n{}", text));
        std::filesystem::permissions(path(name), std::filesystem::perms::owner_all);
    }
    void measured(std::string_view name) const {
        std::string text =
            R"({"kind":"run","hosts":["a","b"],"started":"2024-05-01"}
{"kind":"case","number":1,"collective":"reduce","bytes":4096,"pattern":"balanced","datatype":"double","op":"sum"}
{"kind":"contestant","in_case":1,"name":"reduce/binomial","id":"reduce/binomial"}
{"kind":"contestant","in_case":1,"name":"native"}
)";
        for (int i = 0; i < 8; ++i)
            for (const auto& [who, end] : {std::pair("reduce/binomial", 100), std::pair("native", 200)})
                text += fmt::format(
                    R"({{"kind":"sample","in_case":1,"name":"{}","repetition":{},"arrivals":[0,0],"exits":[{},2]}})"
                    "\n",
                    who, i, end + i);
        write(name, text);
    }
};

/// The command itself and all its subcommands.
TEST_F(examples, work) {
    const std::string all = good("help");
    std::vector<std::string> texts{all};
    const std::string listed =
        all.substr(all.find("Subcommands:\n"), all.find("Examples:") - all.find("Subcommands:\n"));
    for (const std::string& line : lines(listed))
        if (line.starts_with("  ") && line[2] != ' ')
            texts.push_back(good("help " + line.substr(2, line.find(' ', 2) - 2)));
    ASSERT_GE(texts.size(), 9U);
    std::size_t run_so_far = 0;
    for (const std::string& text : texts) {
        const std::vector<std::string> some = in(text);
        EXPECT_FALSE(some.empty()) << text;
        make_files(some);
        for (const std::string& line : some) {
            if (line.starts_with("'")) continue;  // a sentence below them
#ifndef RUBATO_MPIRUN
            if (needs_mpi(line)) {
                fmt::print("skipped, as it needs Open MPI: {}\n", line);
                if (const std::size_t at = line.find("--output "); at != std::string::npos)
                    observed(line.substr(at + 9, line.find(' ', at + 9) - at - 9));
                continue;
            }
#endif
            const outcome result = run(line);
            EXPECT_EQ(result.status, 0) << line << '\n' << result.out << result.err;
            EXPECT_FALSE(result.out.empty() && line.find(" -o ") == std::string::npos &&
                         line.find(" exec ") == std::string::npos)
                << line << " prints nothing";
            ++run_so_far;
        }
    }
    EXPECT_GT(run_so_far, 20U);
}

}  // namespace
}  // namespace rubato
