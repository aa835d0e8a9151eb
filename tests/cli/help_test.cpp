// What help says, and what every subcommand refuses.
#include "command.hpp"

#include <map>
#include <set>

namespace rubato {
namespace {

using nlohmann::json;

using help = command;

std::vector<std::string> subcommands_in(const std::string& all) {
    std::string listed = all.substr(all.find("Subcommands:\n"));
    listed = listed.substr(0, listed.find("Examples:"));
    std::vector<std::string> names;
    for (const std::string& line : lines(listed))
        if (line.starts_with("  ") && line[2] != ' ') names.push_back(line.substr(2, line.find(' ', 2) - 2));
    return names;
}

TEST_F(help, is_what_the_bare_command_prints) {
    EXPECT_EQ(good(""), good("--help"));
    EXPECT_EQ(good("-h"), good("--help"));
    for (const char* name : {"algorithms", "schedule", "verify", "sim", "choose", "model", "tune", "predict"}) {
        EXPECT_NE(good("--help").find(name), std::string::npos);
        const std::string text = good(fmt::format("{} --help", name));
        EXPECT_NE(text.find("Examples:"), std::string::npos) << name;
        EXPECT_NE(text.find("--json"), std::string::npos) << name;
    }
}

TEST_F(help, of_a_subcommand_is_found_in_two_ways) {
    EXPECT_EQ(good("help"), good("--help"));
    EXPECT_EQ(good("help help"), good("--help"));
    EXPECT_EQ(good("help sim"), good("sim --help"));
    bad("help frobnicate", "no help on 'frobnicate': there is no such subcommand; 'rubato help' lists all");
    bad("help sim verify", "'rubato help' takes one");
    const std::string text = good("help");
    EXPECT_TRUE(text.substr(text.find("Examples:\n")).starts_with("Examples:\n  rubato exec ")) << text;
}

/// What is called the same has the same letter, and no letter has two meanings. Defaults read alike.
TEST_F(help, speaks_one_dialect) {
    std::map<std::string, std::string> letters;
    for (const std::string& name : subcommands_in(good("help"))) {
        const std::string text = good("help " + name);
        EXPECT_EQ(text.find("unless given"), std::string::npos) << name;
        EXPECT_EQ(text.find("--pattern "), std::string::npos) << name;
        EXPECT_EQ(text.find("TEXT"), std::string::npos) << name << ": a value without a name";
        EXPECT_EQ(text.find("(default "), std::string::npos) << name;
        for (const std::string& option : lines(text)) {
            if (!option.starts_with("  -")) continue;
            const std::size_t comma = option.find(",--");
            const std::string word = option.substr(comma == std::string::npos ? 2 : comma + 1);
            const std::string option_name = word.substr(0, word.find(' '));
            const std::string letter = comma == std::string::npos ? "" : option.substr(2, 2);
            if (name == "loggp" && option_name == "--ranks") continue;  // which, not how many
            const auto [known, fresh] = letters.try_emplace(option_name, letter);
            EXPECT_EQ(known->second, letter) << name << ' ' << option_name;
        }
    }
    EXPECT_EQ(letters.at("--ranks"), "-p");
    std::set<std::string> used;
    for (const auto& [name, letter] : letters) EXPECT_TRUE(letter.empty() || used.insert(letter).second) << letter;
}

TEST_F(help, no_subcommand_lacks_documentation) {
    std::string all;
    for (const auto& file : std::filesystem::directory_iterator(RUBATO_SOURCE "/docs"))
        if (file.path().extension() == ".md") all += slurp(file.path());
    const std::vector<std::string> names = subcommands_in(good("help"));
    EXPECT_GE(names.size(), 17U);
    for (const std::string& name : names) EXPECT_NE(all.find("rubato " + name), std::string::npos) << name;
}

TEST_F(help, old_names_of_options_work) {
    EXPECT_EQ(good("sim reduce/chain --ranks 4 --bytes 1k --pattern single:rank=1,delay=5ms"),
              good("sim reduce/chain --ranks 4 --bytes 1k --arrivals single:rank=1,delay=5ms"));
    EXPECT_EQ(good("sim reduce/chain --ranks 4 --bytes 1k --pattern=0,0,0,1ms"),
              good("sim reduce/chain --ranks 4 --bytes 1k --arrivals 0,0,0,1ms"));
}

TEST_F(help, tells_the_version) { EXPECT_EQ(good("--version"), "rubato " RUBATO_VERSION "\n"); }

TEST_F(help, bad_command_lines) {
    bad("frobnicate", "frobnicate");
    bad("--frobnicate", "--frobnicate");
    bad("algorithms reduce reduce", "'reduce' was not expected; 'rubato help algorithms'");
    bad("schedule", "ID is required");
    bad("schedule reduce/binomial", "--ranks is required");
    bad("schedule reduce/binomial --ranks", "--ranks");
    bad("schedule reduce/binomial --ranks 3 --ranks 4", "--ranks was given more than once");
    bad("schedule reduce/binomial --ranks 3 --colour=red", "there is no option '--colour'; 'rubato help schedule'");
    bad("sim", "'rubato help sim'");
    bad("exec --mod auto -- mpirun -n 2 ./program", "there is no option '--mod'; 'rubato help exec'");
    bad("exec mpirun -n 2 ./program", "there is no option '-n', and what is to be run comes after --");
    bad("algorithms reduce -- foo", "'foo' was not expected");
    bad("report -ox.html a.rubato --foo", "there is no option '--foo'");
    bad("exec --output / -- true", "a file needs a name");
    bad("exec --output . -- true", "it is a folder; name a file in it");
    bad("exec --background-interval 0s -- true", "give a time such as 100us");
}

/// Most often a variable of a script that was not set.
TEST_F(help, empty_values_are_refused) {
    for (const char* line : {"sim reduce --ranks 8 --bytes 1k --hosts ''", "sim reduce --ranks 8 --bytes ''",
                             "sim reduce --ranks 8 --bytes 1k --svg ''", "schedule reduce/binomial --ranks 4 -o ''",
                             "schedule reduce/binomial --ranks 4 --radix ''",
                             "choose reduce --ranks 8 --bytes 1k --hosts 2 --model-inside ''", "algorithms ''",
                             "verify ''", "verify --file ''", "predict ''", "report ''", "report '' -o x.html",
                             "exec --output '' -- true", "exec --mode '' -- true"})
        bad(line, "its value is empty");
}

/// What is given and changes nothing is a mistake.
TEST_F(help, options_without_effect_are_refused) {
    bad("sim allreduce --ranks 4 --bytes 1k --root 0", "--root has no effect: these algorithms do not have a root");
    bad("sim barrier --ranks 4 --bytes 1k", "--bytes has no effect: these algorithms do not move data; leave it out");
    bad("sim reduce/binomial --ranks 4 --bytes 1k --segments 16",
        "--segments has no effect: reduce/binomial does not cut vectors");
    bad("sim alltoall/bruck,pairwise --ranks 4 --bytes 1k --segments 16", "--segments has no effect: these algorithms");
    bad("sim reduce/binomial --ranks 4 --bytes 1k --radix 2", "--radix has no effect");
    bad("sim reduce/binomial --ranks 4 --bytes 1k --round-time 1us", "--round-time has no effect");
    bad("sim reduce/binomial --ranks 4 --bytes 1k --hosts 2", "--hosts has no effect");
    good("sim reduce/binomial --ranks 4 --bytes 1k --hosts 2 --model-inside curie");
    bad("sim bcast --ranks 4 --bytes 1k --noncommutative", "--noncommutative has no effect");
    bad("choose bcast --ranks 4 --bytes 1k --idempotent", "--idempotent has no effect");
    bad("choose alltoall --ranks 4 --bytes 1k --root 1", "--root has no effect");
    bad("schedule barrier/linear --ranks 4 --root 1", "--root has no effect: barrier/linear does not have a root");
    bad("schedule reduce/binomial --ranks 4 --arrivals 0,0,5ms,0",
        "--arrivals has no effect: reduce/binomial does not plan by arrivals; leave it out");
    bad("verify bcast/linear --segments 4", "--segments has no effect");
    // Of several algorithms, one is enough that uses it.
    const json rows = good_json("sim reduce/binomial,chain --ranks 4 --bytes 1k --segments 16 --json");
    for (const json& row : rows) EXPECT_EQ(row.at("segments"), row.at("id") == "reduce/chain" ? 16 : 1);
    const std::string text = good("sim reduce/binomial,chain --ranks 4 --bytes 1k --segments 16");
    for (const std::string& line : lines(text)) {
        EXPECT_TRUE(!line.starts_with("reduce/chain") || line.ends_with(" 16")) << line;
        EXPECT_TRUE(!line.starts_with("reduce/binomial") || line.ends_with(" -")) << line;
    }
}

/// Before MPI begins, so that it needs no mpirun.
TEST_F(help, commands_on_mpi_refuse_the_same) {
    if (good("help").find("\n  bench ") == std::string::npos) GTEST_SKIP() << "built without MPI";
    bad("run barrier/linear --bytes 1k", "--bytes has no effect: barrier/linear does not move data");
    bad("run bcast/linear --op max", "--op has no effect: bcast/linear does not combine data");
    bad("run allreduce/ring --root 0", "--root has no effect");
    bad("run reduce/binomial --segments 4", "--segments has no effect");
    bad("run reduce/binomial --model curie", "--model has no effect: reduce/binomial does not plan in rounds");
    bad("run reduce/binomial --pattern ''", "--arrivals: its value is empty");
    bad("bench barrier allreduce --root 1", "--root has no effect");
    bad("bench reduce --keep 2", "--keep requires --screen");
    bad("bench reduce --start barrier --tolerance 1ms", "--tolerance with --start barrier");
    bad("bench reduce --bytes 1KiB,,2KiB", "'' is not a size");
    bad("loggp -o ''", "--output: its value is empty");
}

TEST_F(help, contradictions_are_refused) {
    bad("schedule reduce/binomial --ranks 4 --format svg --json", "--json with --format svg: there is one output");
    good("schedule reduce/binomial --ranks 4 --format json --json");
    bad("algorithms --format markdown --json", "--json with --format markdown");
    bad("sim reduce/binomial,binomial --ranks 4 --bytes 1k", "reduce/binomial is named twice");
    bad("sim scatter/sorted_linear+early,bsln --ranks 4 --bytes 1k", "scatter/sorted_linear+early is named twice");
    bad("verify reduce/binomial reduce/binomial --ranks 4", "reduce/binomial is named twice");
    bad(fmt::format("predict {}/examples/traces/phases.txt --predictor last --predictor last", RUBATO_SOURCE),
        "predictor last is given twice");
    for (const char* other : {"reduce/binomial", "--ranks 3", "--segments 2", "--root-limit 3"})
        bad(fmt::format("verify --file x.json {}", other), "the file says what there is to verify");
}

TEST_F(help, numbers_are_not_cut_off) {
    for (const char* size : {"0.0001", "2.5", "0.1KiB", "nan", "inf", "-1", "1e3x", "0x10", "1e30"})
        bad(fmt::format("sim bcast/linear --ranks 4 --bytes {}", size), size);
    bad("sim bcast/linear --ranks 4 --bytes 2.5", "a size is a whole number of bytes; write for example 3");
    bad("sim bcast/linear --ranks 4 --bytes 2000G", "sizes of up to 1024 GiB");
    EXPECT_EQ(good_json("sim bcast/linear --ranks 2 --bytes 2.3M --json")[0].at("bytes"), 2300000);
    EXPECT_EQ(good_json("sim bcast/linear --ranks 2 --bytes 1.5KiB --json")[0].at("bytes"), 1536);
    for (const char* time : {"0", "0.3", "0.0001us"})
        bad(fmt::format("sim reduce/clairvoyant --ranks 4 --bytes 1k --round-time {}", time),
            "a round takes a nanosecond or longer");
    for (const char* ranks : {"4.5", "4x", "1e2", "99999999999999999999", " 4", "+4"})
        bad(fmt::format("sim bcast/linear --bytes 1k --ranks '{}'", ranks), "is not a number of ranks");
}

TEST_F(help, files_that_are_folders_are_refused) {
    const std::string folder = path("");
    bad("verify --file " + folder, "Is a directory; check its name");
    bad("predict " + folder, "Is a directory");
    bad("sim bcast/linear --ranks 4 --bytes 1k --svg " + folder, "it is a folder");
    bad("sim bcast/linear --ranks 4 --bytes 1k --model file:" + folder, "Is a directory");
    bad("sim bcast/linear --ranks 4 --bytes 1k --arrivals trace:" + folder, "Is a directory");
    bad("schedule bcast/linear --ranks 4 -o " + folder, "it is a folder");
}

TEST_F(help, output_nobody_reads_is_harmless) {
    const outcome result = shell(fmt::format(
        "( {} schedule bcast/binomial --ranks 4096 --json; echo $? >{} ) | head -c 1", RUBATO_COMMAND, path("status")));
    EXPECT_EQ(result.out, "{");
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(slurp(path("status")), "0\n");
}

TEST_F(help, output_that_cannot_be_written_is_an_error) {
    bad("algorithms >/dev/full", "cannot write standard output: No space left on device");
    bad("schedule reduce/binomial --ranks 4 -o /nowhere/at/all", "cannot write '/nowhere/at/all'");
    bad("schedule reduce/binomial --ranks 4 -o /dev/full", "cannot write '/dev/full'");
    bad("sim reduce/binomial --ranks 4 --bytes 1k --svg /nowhere/at/all", "cannot write '/nowhere/at/all'");
}

}  // namespace
}  // namespace rubato
