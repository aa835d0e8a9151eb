// What the subcommands print, and what they refuse.
#include "command.hpp"

#include "rubato/algorithm.hpp"

#include <map>
#include <set>

#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rubato {
namespace {

using nlohmann::json;

/// Two spaces before each column of the header are two spaces in all rows.
void expect_aligned(const std::vector<std::string>& table, const std::vector<std::string>& left_columns) {
    for (const std::string& column : left_columns) {
        const std::size_t at = table.front().find(column);
        ASSERT_NE(at, std::string::npos) << column;
        for (const std::string& row : table)
            EXPECT_TRUE(row.size() <= at || row.substr(at - 2, 2) == "  ") << column << " in " << row;
    }
}

using help = command;

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
    const std::string all = good("help");
    std::string listed = all.substr(all.find("Subcommands:\n"));
    listed = listed.substr(0, listed.find("Examples:"));
    for (const std::string& line : lines(listed)) {
        if (!line.starts_with("  ") || line[2] == ' ') continue;
        const std::string name = line.substr(2, line.find(' ', 2) - 2);
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

using algorithms_command = command;

TEST_F(algorithms_command, json_has_a_row_for_each) {
    const json rows = good_json("algorithms --json");
    ASSERT_EQ(rows.size(), algorithms().size());
    std::set<std::string> ids;
    for (const json& row : rows) {
        const algorithm& a = find_algorithm(row.at("id").get<std::string>());
        ids.insert(row.at("id"));
        EXPECT_EQ(row.at("id"),
                  fmt::format("{}/{}", row.at("collective").get<std::string>(), row.at("name").get<std::string>()));
        EXPECT_EQ(row.at("summary"), a.summary);
        EXPECT_EQ(row.at("source"), a.source);
        EXPECT_EQ(row.at("needs").size(), need_names(a).size());
        EXPECT_EQ(row.at("arrival_aware"), a.arrival_aware);
        EXPECT_EQ(row.at("host_aware"), a.host_aware);
        EXPECT_EQ(row.at("nearness"), a.nearness);
        EXPECT_EQ(row.at("same_bits"), a.same_bits);
        EXPECT_EQ(row.at("segmented"), a.segmented);
        EXPECT_EQ(row.at("radix"), a.takes_radix);
        EXPECT_EQ(row.at("early"), a.early);
        EXPECT_EQ(row.at("alias"), a.alias);
    }
    EXPECT_EQ(ids.size(), rows.size());
}

TEST_F(algorithms_command, can_be_asked_for_one_collective) {
    for (const json& row : good_json("algorithms bcast --json")) EXPECT_EQ(row.at("collective"), "bcast");
    const std::string text = good("algorithms bcast");
    EXPECT_NE(text.find("bcast/binomial"), std::string::npos);
    EXPECT_EQ(text.find("reduce/"), std::string::npos);
}

TEST_F(algorithms_command, text_lines_up) {
    const auto table = lines(good("algorithms"));
    EXPECT_GE(table.size(), algorithms().size());
    expect_aligned(table, {"WHAT IT DOES", "CAN USE", "NEEDS", "SAME BITS", "SOURCE"});
}

TEST_F(algorithms_command, text_says_whether_all_ranks_get_the_same_bits) {
    const std::string text = good("algorithms allreduce");
    const auto bits = [&](const std::string& id) {
        const std::string line = text.substr(text.find("\n" + id + " ") + 1);
        return line.substr(lines(text).front().find("SAME BITS"), 3);
    };
    EXPECT_EQ(bits("allreduce/dissemination"), "no ");
    EXPECT_EQ(bits("allreduce/ring"), "yes");
}

TEST_F(algorithms_command, markdown_is_the_page_of_the_documentation) {
    EXPECT_EQ(good("algorithms --format markdown"), slurp(RUBATO_SOURCE "/docs/algorithms.md"))
        << "make it anew: rubato algorithms --format markdown > docs/algorithms.md";
}

TEST_F(algorithms_command, markdown_has_costs) {
    const std::string page = good("algorithms bcast --format markdown");
    EXPECT_NE(page.find("| `binomial` | binomial tree: every rank that has the data passes it on | 4 | 15 | 15 MiB | "
                        "4 MiB | - | Hoefler & Moor 2014, 3.1.3 |\n"),
              std::string::npos)
        << page;
    EXPECT_EQ(page.find("## reduce"), std::string::npos);
}

TEST_F(algorithms_command, errors) { bad("algorithms brodcast", "unknown collective 'brodcast'"); }

using schedule_command = command;

TEST_F(schedule_command, draws_with_characters) {
    const std::string text = good("schedule reduce/binomial --ranks 8");
    EXPECT_NE(text.find("round 1   0<-1  2<-3  4<-5  6<-7\n"), std::string::npos);
    EXPECT_NE(text.find("round 3    |<--------------|"), std::string::npos);
}

TEST_F(schedule_command, lists_the_steps_of_one_rank) {
    problem p;
    p.what = collective::reduce;
    p.ranks = 8;
    p.root = rank(3);
    p.commutative = false;
    EXPECT_EQ(good("schedule reduce/binomial --ranks 8 --root 3 --noncommutative --rank 2"),
              to_string(build_one(find_algorithm("reduce/binomial"), p, rank(2))));
}

TEST_F(schedule_command, json_is_the_whole_schedule) {
    const json j = good_json("schedule reduce/binomial --ranks 5 --root 2 --format json");
    EXPECT_EQ(j, good_json("schedule reduce/binomial --ranks 5 --root 2 --json"));
    EXPECT_EQ(j.at("id"), "reduce/binomial");
    EXPECT_EQ(j.at("ranks"), 5);
    EXPECT_EQ(j.at("segments"), 1);
    EXPECT_EQ(j.at("root"), 2);
    EXPECT_EQ(j.at("rounds"), 3);
    EXPECT_EQ(j.at("messages").size(), 4U);

    problem p;
    p.what = collective::reduce;
    p.ranks = 5;
    p.root = rank(2);
    const std::vector<schedule> all = build_all(find_algorithm("reduce/binomial"), p);
    ASSERT_EQ(j.at("steps").size(), all.size());
    for (std::size_t r = 0; r < all.size(); ++r) {
        ASSERT_EQ(j["steps"][r].size(), all[r].steps.size());
        EXPECT_EQ(j["scratch"][r].get<std::vector<block>>(), all[r].scratch);
        for (std::size_t i = 0; i < all[r].steps.size(); ++i) {
            const json& step = j["steps"][r][i];
            EXPECT_EQ(step.value("peer", -1), all[r].steps[i].peer);
            EXPECT_EQ(step.at("count"), all[r].steps[i].count);
            EXPECT_EQ(step.at("shape"), all[r].steps[i].shape);
            EXPECT_EQ(step.at("after").size(), all[r].dependencies_of(i).size());
        }
    }
}

TEST_F(schedule_command, draws_to_a_file) {
    EXPECT_EQ(good(fmt::format("schedule bcast/binomial --ranks 16 --format svg -o {}", path("a.svg"))), "");
    const std::string svg = slurp(path("a.svg"));
    EXPECT_TRUE(svg.starts_with("<svg"));
    EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

std::string neighbours_of(const algorithm& a) { return traits(a.what).on_graph ? " --graph ring" : ""; }

TEST_F(schedule_command, takes_segments_radix_and_arrivals_where_they_are_used) {
    for (const algorithm& a : algorithms()) {
        if (a.segmented) {
            EXPECT_NE(good(fmt::format("schedule {} --ranks 4 --segments 1", a.id)),
                      good(fmt::format("schedule {} --ranks 4 --segments 10", a.id)));
        }
        if (a.arrival_aware) {
            const bool leads = traits(a.what).on_graph && a.host_aware;  // arrivals only tell who speaks for a host
            const std::string plain =
                fmt::format("schedule {} --ranks 4{}{}{}", a.id, a.segmented ? " --segments 20" : "", neighbours_of(a),
                            leads ? " --hosts 2" : "");
            const std::string late = fmt::format("{} --arrivals single:rank={},delay=10ms{}", plain, leads ? 0 : 1,
                                                 a.uses_round_time() ? " --round-time 10us" : "");
            EXPECT_NE(good(plain), good(late)) << a.id;
        }
    }
}

TEST_F(schedule_command, takes_hosts_where_they_are_used) {
    for (const algorithm& a : algorithms()) {
        if (!a.host_aware) continue;
        const std::string plain =
            fmt::format("schedule {} --ranks 8{}{}", a.id, a.segmented ? " --segments 3" : "", neighbours_of(a));
        for (const char* hosts : {"3", "cyclic:3", "3,4,1"})
            EXPECT_NE(good(fmt::format("{} --hosts {}", plain, hosts)), good(plain)) << a.id;
    }
    bad("schedule bcast/chain --ranks 8 --hosts 2", "bcast/chain does not distinguish hosts");
    bad("schedule bcast/two_level --ranks 4 --hosts 5", "'5' is not a number of hosts");
    bad("schedule bcast/two_level --ranks 4 --hosts cyclic:x", "'x' is not a number of hosts");
    bad("schedule bcast/two_level --ranks 4 --hosts 3,2", "that is 5 ranks and not 4");
}

TEST_F(schedule_command, errors) {
    bad("schedule reduce/binomal --ranks 4", "did you mean reduce/binomial?");
    bad("schedule binomial --ranks 4", "unknown algorithm 'binomial'");
    bad("schedule reduce/binomial --ranks 0", "'0' is not a number of ranks");
    bad("schedule reduce/binomial --ranks -3", "'-3' is not a number of ranks");
    bad("schedule reduce/binomial --ranks many", "'many' is not a number of ranks");
    bad("schedule reduce/binomial --ranks 4 --root 4", "ranks are numbered 0 to 3");
    bad("schedule reduce/binomial --ranks 4 --rank 4", "ranks are numbered 0 to 3");
    bad("schedule reduce/binomial --ranks 4 --segments 0", "'0' is not a number of segments");
    bad("schedule reduce/binomial --ranks 4 --radix 2,,3", "'' is not a radix");
    bad("schedule reduce/binomial --ranks 4 --radix 0", "'0' is not a radix");
    bad("schedule reduce/binomial --ranks 4 --format pdf", "pdf");
    bad("schedule bcast/sorted_chain --ranks 4 --arrivals singel:rank=1", "singel");
    bad("schedule bcast/sorted_chain --ranks 4 --arrivals single:rank=9,delay=1ms", "9");
    bad("schedule bcast/sorted_chain --ranks 4 --arrivals single:rank=1,delay=5mm", "5mm");
    bad("schedule bcast/sorted_chain --ranks 4 --arrivals 0,0,0", "3 arrival times for 4 ranks");
    for (const algorithm& a : algorithms()) {
        if (a.has(need::commutative))
            bad(fmt::format("schedule {} --ranks 4 --noncommutative{}", a.id, neighbours_of(a)), "does not commute");
        if (a.has(need::power_of_two)) bad(fmt::format("schedule {} --ranks 6", a.id), "power of two");
        if (a.has(need::radix_above_one)) bad(fmt::format("schedule {} --ranks 4 --radix 1", a.id), "radix of 1");
        if (a.has(need::round_time))
            bad(fmt::format("schedule {} --ranks 4 --arrivals 0,0,0,1", a.id), "how long a round takes (--round-time)");
        if (a.has(need::even_ranks)) bad(fmt::format("schedule {} --ranks 7", a.id), "even number");
    }
}

TEST_F(schedule_command, a_trace_needs_a_time_for_each_rank) {
    write("trace", "0 1us 2us\n");
    bad(fmt::format("schedule bcast/sorted_chain --ranks 4 --arrivals trace:{}", path("trace")), "3");
    bad(fmt::format("schedule bcast/sorted_chain --ranks 4 --arrivals trace:{}", path("none")), "none");
}

/// Told from some ranks' schedules, so at once.
TEST_F(schedule_command, what_takes_gigabytes_is_refused) {
    bad("schedule allreduce/ring --ranks 1000000", "allreduce/ring with 1000000 ranks is too large: it takes about ");
    bad("schedule allreduce/ring --ranks 1000000 --json", "--rank N for the steps of one rank, or --force");
    bad("schedule allreduce/segmented_ring --ranks 4096 --segments 1000000", "is too large");
    bad("schedule reduce/clairvoyant --ranks 1000000 --segments 1000000", "is too large");
    bad("schedule reduce/local_redirect --ranks 1000000", "is too large");
    EXPECT_FALSE(good("schedule allreduce/ring --ranks 1000 --rank 3").empty());
    EXPECT_FALSE(good("schedule bcast/binomial --ranks 100000 --rank 3").empty());
}

using rounds_command = command;

TEST_F(rounds_command, json_is_exact) {
    EXPECT_EQ(
        good("schedule reduce/clairvoyant --ranks 4 --segments 4 --root 0 --arrivals 0,0,0,1100 --round-time 1000 "
             "--format json"),
        R"({"id":"reduce/clairvoyant","ranks":4,"segments":4,"root":0,"round_time_ns":1000,"length":6,"rounds":[)"
        R"([{"to":0,"from":1,"segment":0},{"to":1,"from":0,"segment":1}],)"
        R"([{"to":0,"from":2,"segment":0},{"to":1,"from":3,"segment":1},{"to":2,"from":0,"segment":2},)"
        R"({"to":3,"from":1,"segment":2}],)"
        R"([{"to":0,"from":3,"segment":0},{"to":1,"from":2,"segment":1},{"to":2,"from":0,"segment":3},)"
        R"({"to":3,"from":1,"segment":3}],)"
        R"([{"to":0,"from":1,"segment":1},{"to":2,"from":3,"segment":2},{"to":3,"from":2,"segment":3}],)"
        R"([{"to":0,"from":2,"segment":2}],[{"to":0,"from":3,"segment":3}]]})"
        "\n");
    EXPECT_EQ(good_json("schedule reduce/clairvoyant --ranks 1 --json").at("rounds"), json::array());
}

TEST_F(rounds_command, json_skips_many_idle_rounds) {
    const auto rounds = [this](const char* late) {
        return good_json(fmt::format(
            "schedule reduce/clairvoyant --ranks 4 --segments 4 --arrivals 0,0,0,{} --round-time 1us --json", late));
    };
    const json far = rounds("1ms");
    EXPECT_EQ(far.at("length"), 1003);
    ASSERT_EQ(far.at("rounds").size(), 10U);
    EXPECT_EQ(far["rounds"][5], json::parse(R"({"skip":994})"));
    // 5 rounds for three ranks, then 64 idle ones, each given, or 65, which are skipped.
    EXPECT_EQ(rounds("70us").at("rounds").size(), 5U + 64 + 4);
    EXPECT_EQ(rounds("71us").at("rounds").size(), 5U + 1 + 4);
}

TEST_F(rounds_command, text_has_a_line_for_each_round_or_gap) {
    const auto text =
        lines(good("schedule reduce/clairvoyant --ranks 3 --segments 2 --arrivals 0,0,1ms --round-time 1us"));
    ASSERT_EQ(text.size(), 7U);
    EXPECT_EQ(text[0],
              "reduce/clairvoyant: 3 ranks, root 0, 2 segments, rounds of 1.00 us; 6 transfers in 1001 rounds");
    EXPECT_EQ(text[2], "round 0      0<-1:0  1<-0:1");
    EXPECT_EQ(text[3], "round 1      0<-1:1");
    EXPECT_EQ(text[4], "rounds 2 to 998   idle");
    EXPECT_EQ(text[5], "round 999    0<-2:0  2<-0:1");
    EXPECT_EQ(text[6], "round 1000   0<-2:1");
}

TEST_F(rounds_command, steps_of_one_rank_are_those_of_the_algorithm) {
    problem p;
    p.what = collective::reduce;
    p.ranks = 5;
    p.segments = 3;
    EXPECT_EQ(good("schedule reduce/clairvoyant --ranks 5 --segments 3 --rank 2"),
              to_string(build_one(find_algorithm("reduce/clairvoyant"), p, rank(2))));
}

TEST_F(rounds_command, draws_who_holds_what) {
    good(fmt::format("schedule reduce/clairvoyant --ranks 4 --segments 4 --format svg -o {}", path("r.svg")));
    EXPECT_NE(slurp(path("r.svg")).find("a cell is a segment"), std::string::npos);
}

TEST_F(rounds_command, a_file_of_rounds_can_be_verified) {
    json j = good_json(
        "schedule reduce/clairvoyant --ranks 7 --segments 3 --root 2 --arrivals single:rank=2,delay=1ms --round-time "
        "1us --json");
    const auto verify = [&](const json& changed) {
        write("rounds.json", changed.dump());
        return rubato(fmt::format("verify --file {}", path("rounds.json")));
    };
    EXPECT_EQ(verify(j).out, "7 schedules verified, 0 wrong\n");

    json short_one = j;
    short_one["rounds"].erase(short_one["rounds"].size() - 1);
    short_one["length"] = short_one["length"].get<int>() - 1;
    EXPECT_EQ(verify(short_one).status, 1) << "the root lacks a segment";

    const auto refused = [&](const char* key, const json& value, std::string_view says) {
        json wrong = j;
        wrong["rounds"].back()[0][key] = value;
        const outcome result = verify(wrong);
        EXPECT_EQ(result.status, 2);
        EXPECT_NE(result.err.find(says), std::string::npos) << result.err;
    };
    refused("to", 7, "to 7 in a file of rounds: it is a whole number from 0 to 6");
    refused("to", std::int64_t{1} << 32, "to 4294967296");
    refused("segment", 0.9, "segment 0.9");
    refused("from", 2, "nobody sends to itself");
    refused("from", 4, "the sender does not hold that segment");
    refused("segment", 3, "segment 3 in a file of rounds: it is a whole number from 0 to 2");
    const auto refused_round = [&](const json& round, std::string_view says) {
        json wrong = j;
        wrong["rounds"].insert(wrong["rounds"].begin(), round);
        EXPECT_NE(verify(wrong).err.find(says), std::string::npos) << verify(wrong).err;
    };
    refused_round({{"skip", -1}}, "skip -1");
    refused_round({{"skip", std::numeric_limits<std::int64_t>::max()}}, "skip 9223372036854775807");
    refused_round(json::array(), "length");
    json twice = j;
    twice["rounds"].back().push_back(twice["rounds"].back()[0]);
    EXPECT_NE(verify(twice).err.find("sends one segment and receives one"), std::string::npos);
}

TEST_F(rounds_command, errors) {
    bad("schedule reduce/clairvoyant --ranks 4 --round-time soon", "'soon' is not a time");
    bad("schedule reduce/clairvoyant --ranks 4 --arrivals 0,0,0", "3 arrival times for 4 ranks");
    bad("schedule reduce/clairvoyant --ranks 4 --rank 4", "ranks are numbered 0 to 3");
}

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

using predict_command = command;

TEST_F(predict_command, json_is_exact) {
    write("trace", "# 2 ranks\n10 10\n10 14\n20 28\n100 100\n6 0\n");
    const json j = good_json(fmt::format("predict {} --predictor last --predictor balanced --json", path("trace")));
    EXPECT_EQ(j.at("trace"), path("trace"));
    EXPECT_EQ(j.at("ranks"), 2);
    EXPECT_EQ(j.at("invocations"), 5);
    EXPECT_EQ(j.at("lag"), 2);
    EXPECT_EQ(j.at("predicted"), 3);
    EXPECT_EQ(j.at("mean_imbalance_ns"), 5);  // 8, 0, 6
    ASSERT_EQ(j.at("predictors").size(), 2U);

    // Lateness 0 0, 0 4, 0 8, 0 0, 6 0, each predicted to be that of two before.
    const json& last = j["predictors"][0];
    EXPECT_EQ(last.at("predictor"), "last");
    EXPECT_EQ(last.at("error"), json::parse(R"({"mean_ns":4,"median_ns":4,"p95_ns":8,"max_ns":8})"));  // 0 8 0 4 6 8
    EXPECT_DOUBLE_EQ(last.at("share_of_imbalance"), 0.8);
    EXPECT_DOUBLE_EQ(last.at("last_rank_right"), 1. / 3);  // once all came together, so all were last
    EXPECT_EQ(last["per_rank"][1].at("rank"), 1);
    EXPECT_EQ(last["per_rank"][1].at("error").at("mean_ns"), 7);
    EXPECT_EQ(last["per_rank"][0].at("error").at("max_ns"), 6);
    ASSERT_EQ(last["per_invocation"].size(), 3U);
    EXPECT_EQ(last["per_invocation"][0],
              json::parse(R"({"invocation":2,"imbalance_ns":8,"last_rank":1,"predicted_last_rank":null,)"
                          R"("last_rank_right":false,"uncertainty_ns":null,"error_ns":[0,8]})"));
    EXPECT_EQ(last["per_invocation"][2],
              json::parse(R"({"invocation":4,"imbalance_ns":6,"last_rank":0,"predicted_last_rank":1,)"
                          R"("last_rank_right":false,"uncertainty_ns":4,"error_ns":[6,8]})"));

    const json& balanced = j["predictors"][1];
    EXPECT_EQ(balanced.at("error").at("max_ns"), 8);
    EXPECT_TRUE(balanced["per_invocation"][1].at("last_rank_right"));  // nobody was
}

TEST_F(predict_command, the_same_trace_is_a_perfect_prediction) {
    for (const char* name : {"phases", "straggler"}) {
        const std::string trace = fmt::format("{}/examples/traces/{}.txt", RUBATO_SOURCE, name);
        const json j = good_json(fmt::format("predict {} --predictor given:{} --lag 3 --json", trace, trace));
        EXPECT_EQ(j.at("ranks"), 16);
        EXPECT_EQ(j.at("invocations"), 100);
        EXPECT_EQ(j["predictors"][0].at("error").at("max_ns"), 0);
        EXPECT_EQ(j["predictors"][0].at("last_rank_right"), 1.);
    }
}

// What the traces were made for.
TEST_F(predict_command, a_trend_sees_a_drifting_straggler) {
    const std::string trace = RUBATO_SOURCE "/examples/traces/straggler.txt";
    const json j = good_json(fmt::format("predict {} --json", trace));
    std::map<std::string, std::int64_t> error;
    for (const json& p : j.at("predictors")) error[p.at("predictor")] = p.at("error").at("mean_ns");
    EXPECT_EQ(error.size(), 5U);
    for (const auto& [name, mean] : error) {
        EXPECT_LE(error.at("trend:window=8"), mean) << name;
        EXPECT_GE(error.at("balanced"), mean) << name;
    }
    const json sooner = good_json(fmt::format("predict {} --lag 1 --predictor last --json", trace));
    EXPECT_LT(sooner["predictors"][0].at("error").at("mean_ns"), error.at("last"));
}

TEST_F(predict_command, text_lines_up) {
    write("trace", "0 1us\n0 3us\n0 5us\n0 6us\n");
    auto table = lines(good(fmt::format("predict {} --per-rank --per-invocation", path("trace"))));
    ASSERT_EQ(table.size(), 2U + 6 + 1 + 3 + 1 + 3);
    EXPECT_EQ(table[0], fmt::format("{}: 2 ranks, 4 invocations, 2 predicted; mean imbalance 5.50 us", path("trace")));
    for (const auto& [from, to] : {std::pair(2, 8), std::pair(9, 12), std::pair(13, 16)})
        for (int i = from; i < to; ++i)
            EXPECT_EQ(table[static_cast<std::size_t>(i)].size(), table[static_cast<std::size_t>(from)].size()) << i;
    EXPECT_TRUE(table[11].starts_with("1     5.50 us   5.50 us  3.50 us ")) << table[11];
    EXPECT_TRUE(table[15].starts_with("3             6.00 us          1   3.00 us  1.50 us ")) << table[15];
}

TEST_F(predict_command, example_traces_are_what_the_script_makes) {
    EXPECT_EQ(shell(fmt::format("{}/tools/make-traces {}", RUBATO_SOURCE, path("traces"))).status, 0);
    for (const char* name : {"phases.txt", "straggler.txt"}) {
        const std::string made = slurp(path("traces") + "/" + name);
        EXPECT_FALSE(made.empty());
        EXPECT_EQ(made, slurp(std::filesystem::path(RUBATO_SOURCE "/examples/traces") / name)) << name;
    }
}

TEST_F(predict_command, errors) {
    write("short", "0 1us\n0 3us\n");
    write("uneven", "0 1us\n0 3us 4us\n0 1us\n");
    bad("predict", "TRACE is required");
    bad(fmt::format("predict {}", path("none")), "cannot read trace");
    bad(fmt::format("predict {}", path("short")), "with a lag of 2 the first 2 cannot be predicted");
    good(fmt::format("predict {} --lag 1", path("short")));
    bad(fmt::format("predict {} --lag 0", path("short")), "'0' is not a lag");
    bad(fmt::format("predict {}", path("uneven")), "line 2 of trace");
    bad(fmt::format("predict {} --lag 1 --predictor edge:fraction=0.5", path("short")), "unknown predictor 'edge'");
    bad(fmt::format("predict {} --lag 1 --predictor average:window=x", path("short")), "'x' is not a window");
}

class choose_command : public command {};

TEST_F(choose_command, explains_its_choice) {
    const std::string text =
        good("choose reduce --ranks 16 --bytes 1MiB --model gige --arrivals single:rank=5,delay=200ms");
    EXPECT_TRUE(
        text.starts_with("reduce: 16 ranks, 1MiB, arrivals single:rank=5,delay=200ms, model gige\n\nALGORITHM "))
        << text;
    EXPECT_NE(text.find("/BOUND"), std::string::npos);
    const json all =
        good_json("choose reduce --ranks 16 --bytes 1MiB --model gige --arrivals single:rank=5,delay=200ms --json");
    const std::string last_line = text.substr(text.rfind('\n', text.size() - 2) + 1);
    EXPECT_EQ(last_line,
              fmt::format("{}: {}.\n", all.at("picked").get<std::string>(), all.at("why").get<std::string>()));
    EXPECT_EQ(all.at("candidates").at(0).at("name"), all.at("picked"));
    std::int64_t before = 0;
    for (std::size_t i = 1; i < all.at("candidates").size(); ++i) {
        const json& c = all.at("candidates").at(i);
        EXPECT_GE(c.at("run_time_ns"), before);
        EXPECT_EQ(c.at("how"), "simulated");
        EXPECT_FALSE(c.at("id").get<std::string>().ends_with("+early"));
        before = c.at("run_time_ns");
    }
}

TEST_F(choose_command, agrees_with_the_simulation) {
    const std::string problem = "--ranks 8 --bytes 100kB --segments 1 --model gige --arrivals single:rank=3,delay=5ms";
    std::map<std::string, std::int64_t> simulated;
    for (const json& row : good_json("sim scatter --json " + problem))
        if (!row.contains("skipped")) simulated[row.at("id")] = row.at("run_time_ns");
    std::size_t early = 0;
    const json chosen = good_json("choose scatter --early --json " + problem);
    for (const json& c : chosen.at("candidates")) {
        EXPECT_EQ(simulated.at(c.at("id")), c.at("run_time_ns")) << c;
        if (c.at("id").get<std::string>().ends_with("+early")) ++early;
    }
    EXPECT_GT(early, 0U);
}

TEST_F(choose_command, many_ranks_are_extrapolated) {
    const std::string text = good("choose barrier --ranks 50000");
    EXPECT_NE(text.find("from fewer ranks"), std::string::npos) << text;
}

TEST_F(choose_command, every_segment_size_is_a_row_if_asked_for) {
    const std::string problem = "choose bcast --ranks 8 --bytes 1MiB --model gige";
    const auto lines = [](const std::string& text) { return std::ranges::count(text, '\n'); };
    EXPECT_GT(lines(good(problem + " --all")), lines(good(problem)));
    const json fixed = good_json(problem + " --segments 10 --json");
    for (const json& c : fixed.at("candidates")) EXPECT_EQ(c.at("segments"), c.at("segment_bytes") == 0 ? 1 : 10) << c;
    const json whole = good_json(problem + " --segments 1 --json");
    for (const json& c : whole.at("candidates")) EXPECT_EQ(c.at("segments"), 1) << c;
}

TEST_F(choose_command, messages_within_hosts_may_cost_less) {
    const std::string hosts = "choose gather --ranks 8 --bytes 1k --hosts cyclic:3 --json";
    const std::string problem = hosts + " --model gige";
    const auto uses_hosts = [](const json& chosen) {
        return chosen.at("picked").get<std::string>().find("two_level") != std::string::npos;
    };
    EXPECT_FALSE(uses_hosts(good_json(problem)));
    // A message that a rank takes in costs much, unless it comes from its own host.
    const std::string busy = hosts + " --model loggp:L=1us,o=50us,g=1us,G=1ns";
    EXPECT_TRUE(uses_hosts(good_json(busy + " --model-inside loggp:L=1us,o=1us,g=1us,G=0.1ns")));
    bad("choose reduce --ranks 8 --bytes 1MiB --model-inside curie", "say which ranks share one");
    bad(problem + " --model-inside curie", "of another kind");
}

TEST_F(choose_command, errors) {
    bad("choose", "COLLECTIVE is required");
    bad("choose reduce/chain --ranks 4 --bytes 1k", "reduce/chain");
    bad("choose reduce --ranks 4", "give one, such as --bytes 4MiB");
    bad("choose reduce --ranks 4 --bytes 1k --model curly", "curly");
}

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

}  // namespace
}  // namespace rubato
