// rubato algorithms and rubato schedule: what there is, and who sends what to whom.
#include "command.hpp"

#include "rubato/algorithm.hpp"

#include <set>

namespace rubato {
namespace {

using nlohmann::json;

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

}  // namespace
}  // namespace rubato
