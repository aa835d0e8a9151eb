// Traces in the formats of other tools, read back.
#include "dropin/observe/part_layout.hpp"
#include "reports/exports/formats.hpp"
#include "reports/exports/trace.hpp"
#include "simulator/programs/goal.hpp"
#include "simulator/simulate/at_scale.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include <unistd.h>

namespace rubato::reports {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;
using dropin::form;

class exported : public testing::Test {
protected:
    exported() : folder_(fs::path(testing::TempDir()) / fmt::format("rubato-exports-{}", getpid())) {
        fs::create_directories(folder_);
    }
    ~exported() override { fs::remove_all(folder_); }

    fs::path write(const char* name, std::string_view text) const {
        std::ofstream(folder_ / name) << text;
        return folder_ / name;
    }

    fs::path folder_;
};

/// Three ranks; two of them on a communicator of their own.
trace small() {
    trace t;
    t.program = "solver";
    t.library = "an MPI";
    t.hosts = {"a", "a", "b, \"the\" other"};
    t.communicators = {{{0, 1, 2}, 0}, {{2, 0}, 0}};
    t.places = {"solve (solver.c:12)", "main, \"first\" (a.c:1)"};
    t.calls_of = [](std::int32_t rank) {
        std::vector<traced_call> calls;
        for (std::uint64_t i = 0; i < 4; ++i) {
            const time_ns at = 1ms * static_cast<int>(i) + 1us * rank;
            calls.push_back({at, at + 100us, 4096, i, 0, 0, 1, i % 2 == 0 ? collective::reduce : collective::bcast,
                             form::blocking});
        }
        if (rank != 1)
            calls.push_back({10ms, 11ms + 1us * rank, 64, 0, 1, 1, 0, collective::allreduce, form::blocking});
        return calls;
    };
    t.calls = 14;
    return t;
}

std::string text_of(const trace& t, void (*write)(const trace&, const piece_taker&)) {
    std::string text;
    write(t, [&](std::string_view piece) { text += piece; });
    return text;
}

void expect_equal(const trace& a, const trace& b) {
    ASSERT_EQ(a.hosts, b.hosts);
    for (std::int32_t r = 0; r < a.ranks(); ++r) {
        const std::vector<traced_call> of_a = a.calls_of(r);
        const std::vector<traced_call> of_b = b.calls_of(r);
        ASSERT_EQ(of_a.size(), of_b.size()) << "rank " << r;
        for (std::size_t i = 0; i < of_a.size(); ++i) {
            EXPECT_EQ(of_a[i].arrival, of_b[i].arrival);
            EXPECT_EQ(of_a[i].exit, of_b[i].exit);
            EXPECT_EQ(of_a[i].bytes, of_b[i].bytes);
            EXPECT_EQ(of_a[i].invocation, of_b[i].invocation);
            EXPECT_EQ(of_a[i].root, of_b[i].root);
            EXPECT_EQ(of_a[i].what, of_b[i].what);
            EXPECT_EQ(of_a[i].how, of_b[i].how);
            EXPECT_EQ(a.places[of_a[i].place], b.places[of_b[i].place]);
            EXPECT_EQ(a.communicators[of_a[i].communicator].members, b.communicators[of_b[i].communicator].members);
        }
    }
}

TEST_F(exported, csv_is_read_back) {
    const trace t = small();
    const std::string text = text_of(t, write_csv);
    EXPECT_TRUE(
        text.starts_with("rank,host,collective,form,root,bytes,communicator,members,call,arrival_ns,exit_ns,place\n"
                         "0,a,reduce,blocking,1,4096,0,0-2,0,0,100000,solve (solver.c:12)\n"))
        << text;
    expect_equal(t, read_csv(write("t.csv", text)));
}

TEST_F(exported, csv_of_others) {
    const trace t = read_csv(write("t.csv",
                                   "operation,rank,enter_us,leave_us,comm,colour\r\n"
                                   "# a remark\n"
                                   "MPI_Allreduce,0,1,2.5,row,red\n"
                                   "\n"
                                   "MPI_Allreduce,2,2,2.5,row,red\n"
                                   "MPI_Ibarrier,0,3,4,row,red\n"));
    EXPECT_EQ(t.ranks(), 3);
    EXPECT_EQ(t.communicators.at(0).members, (std::vector<std::int32_t>{0, 2}));
    const std::vector<traced_call> calls = t.calls_of(0);
    ASSERT_EQ(calls.size(), 2U);
    EXPECT_EQ(calls[0].exit, 2500ns);
    EXPECT_EQ(calls[1].what, collective::barrier);
    EXPECT_EQ(calls[1].how, form::nonblocking);
    EXPECT_EQ(calls[1].invocation, 1U);
}

TEST_F(exported, wrong_csv_is_refused_with_its_line) {
    const std::string head = "rank,collective,arrival_ns,exit_ns,root,bytes,members\n";
    const std::vector<std::pair<std::string, std::string>> wrong{
        {"", "line 0: it is empty"},
        {"rank,collective,arrival_ns\n", "line 1: it has no column 'exit_ns'"},
        {"rank,rank\n", "line 1: there are two columns 'rank'"},
        {head, "line 1: there is no call in it"},
        {head + "0,barrier,1,2,,0\n", "line 2: it has 6 fields, and there are 7 columns"},
        {head + "0,barrier,1,2,,0,\n0,flood,1,2,,0,\n", "line 3: there is no collective 'flood'"},
        {head + "x,barrier,1,2,,0,\n", "line 2: its rank, 'x', is no whole number from 0 to 4194303"},
        {head + "-1,barrier,1,2,,0,\n", "line 2: its rank, '-1'"},
        {head + "0,barrier,soon,2,,0,\n", "line 2: its arrival, 'soon', is no time"},
        {head + "0,barrier,3,2,,0,\n", "line 2: it ends before it begins"},
        {head + "0,barrier,1e300,2,,0,\n", "line 2: its arrival, '1e300', is no time"},
        {head + "0,bcast,1,2,7,8,\n", "line 2: a root, 7, is no rank of its communicator"},
        {head + "0,bcast,1,2,0,8,0-4000000 0-4000000 0-4000000 0-4000000 0-4000000\n",
         "line 2: its communicators have too many members in all"},
        {head + "5,bcast,1,2,0,8,0-3\n", "line 2: rank 5 calls on a communicator of which it is no member"},
    };
    for (const auto& [text, says] : wrong) {
        try {
            (void)read_csv(write("wrong.csv", text));
            ADD_FAILURE() << "not refused: " << text;
        } catch (const error& e) {
            EXPECT_NE(std::string(e.what()).find(says), std::string::npos) << e.what();
        }
    }
    EXPECT_THROW((void)read_csv(folder_ / "none.csv"), error);
}

TEST_F(exported, an_imported_trace_is_an_observation) {
    const dropin::observation o = observe_trace(small());
    EXPECT_EQ(o.ranks, 3);
    ASSERT_EQ(o.communicators.size(), 2U);
    ASSERT_EQ(o.rows.size(), 3U);
    const auto reduce = std::ranges::find(o.rows, collective::reduce, &dropin::row::what);
    ASSERT_NE(reduce, o.rows.end());
    EXPECT_EQ(reduce->calls, 2U);
    EXPECT_EQ(reduce->callers, 3);
    EXPECT_EQ(reduce->bytes, 4096);
    ASSERT_TRUE(reduce->seen);
    EXPECT_EQ(reduce->seen->invocations, 2U);
    EXPECT_EQ(reduce->seen->imbalance, 2us);
    EXPECT_EQ(reduce->seen->last.rank, 2);
    dropin::write(o, folder_ / "x.rubato");
    const dropin::observation again = dropin::read(folder_ / "x.rubato");
    EXPECT_EQ(again.rows.size(), 3U);
    const trace samples = read_trace(folder_ / "x.rubato");
    EXPECT_EQ(samples.calls, 14U);
    EXPECT_EQ(samples.missing, 0U);
    expect_equal(small(), samples);
}

// A small decoder of protocol buffers: fields by number, of the kinds that are written.

struct proto {
    std::map<int, std::vector<std::uint64_t>> numbers{};
    std::map<int, std::vector<std::string>> texts{};

    std::uint64_t number(int field) const { return numbers.contains(field) ? numbers.at(field).front() : 0; }
    const std::string& text(int field) const { return texts.at(field).front(); }
};

proto decode(std::string_view in) {
    const auto varint = [&in] {
        std::uint64_t value = 0;
        for (int shift = 0; !in.empty(); shift += 7) {
            const auto byte = static_cast<unsigned char>(in.front());
            in.remove_prefix(1);
            value |= std::uint64_t{byte & 127U} << shift;
            if (byte < 128) break;
        }
        return value;
    };
    proto out;
    while (!in.empty()) {
        const std::uint64_t key = varint();
        const std::uint64_t value = varint();
        if (key % 8 == 0) {
            out.numbers[static_cast<int>(key / 8)].push_back(value);
        } else {
            EXPECT_EQ(key % 8, 2U);
            EXPECT_LE(value, in.size());
            out.texts[static_cast<int>(key / 8)].emplace_back(in.substr(0, value));
            in.remove_prefix(std::min<std::size_t>(value, in.size()));
        }
    }
    return out;
}

TEST_F(exported, perfetto_is_decoded) {
    const trace t = small();
    const proto all = decode(text_of(t, write_perfetto));
    struct sequence {
        std::map<std::uint64_t, std::string> names{}, places{};
    };
    std::map<std::uint64_t, sequence> sequences;
    std::map<std::uint64_t, std::string> processes;
    std::map<std::uint64_t, std::uint64_t> parents;
    struct slice {
        std::string name, place;
        std::uint64_t begin, end;
    };
    std::map<std::uint64_t, std::vector<slice>> slices;  // by process
    for (const std::string& packet : all.texts.at(1)) {
        const proto p = decode(packet);
        sequence& s = sequences[p.number(10)];
        if (p.texts.contains(60)) {
            const proto track = decode(p.text(60));
            if (track.texts.contains(3)) processes[track.number(1)] = decode(track.text(3)).text(6);
            if (track.texts.contains(4)) parents[track.number(1)] = track.number(5);
        }
        if (p.texts.contains(12)) {
            const proto interned = decode(p.text(12));
            for (const std::string& n : interned.texts.at(2)) s.names[decode(n).number(1)] = decode(n).text(2);
            for (const std::string& n : interned.texts.at(29)) s.places[decode(n).number(1)] = decode(n).text(2);
        }
        if (!p.texts.contains(11)) continue;
        const proto event = decode(p.text(11));
        auto& of_rank = slices[parents.at(event.number(11))];
        if (event.number(9) == 1)
            of_rank.push_back({s.names.at(event.number(10)), s.places.at(decode(event.texts.at(4).at(0)).number(17)),
                               p.number(8), 0});
        else
            of_rank.back().end = p.number(8);
    }
    ASSERT_EQ(processes.size(), 3U);
    for (std::int32_t r = 0; r < 3; ++r) {
        const auto uuid = static_cast<std::uint64_t>(r) + 1;
        EXPECT_EQ(processes.at(uuid), rank_text(t, r));
        const std::vector<traced_call> calls = t.calls_of(r);
        ASSERT_EQ(slices.at(uuid).size(), calls.size());
        for (std::size_t i = 0; i < calls.size(); ++i) {
            const slice& s = slices.at(uuid)[i];
            EXPECT_EQ(s.name, function_of(calls[i].what, calls[i].how));
            EXPECT_EQ(s.place, t.places[calls[i].place]);
            EXPECT_EQ(s.begin, static_cast<std::uint64_t>(calls[i].arrival.count()));
            EXPECT_EQ(s.end, static_cast<std::uint64_t>(calls[i].exit.count()));
        }
    }
}

TEST_F(exported, calls_of_several_threads_have_lanes) {
    std::vector<traced_call> calls(4);
    calls[0].exit = 10us;
    calls[1].arrival = 5us;
    calls[1].exit = 20us;
    calls[2].arrival = 10us;
    calls[2].exit = 11us;
    calls[3].arrival = 15us;
    calls[3].exit = 16us;
    EXPECT_EQ(lanes_of(calls), (std::vector<std::uint32_t>{0, 1, 0, 0}));
}

TEST_F(exported, otf2_is_read_back) {
    const trace t = small();
    try {
        write_otf2(t, folder_ / "archive");
    } catch (const error& e) {
        if (std::string(e.what()).find("built without") != std::string::npos) GTEST_SKIP() << e.what();
        throw;
    }
    expect_equal(t, read_otf2(folder_ / "archive"));
    EXPECT_THROW(write_otf2(t, folder_ / "archive"), error) << "it is there";
    write("broken.otf2", "nothing of the kind");
    try {
        (void)read_otf2(folder_ / "broken.otf2");
        ADD_FAILURE() << "not refused";
    } catch (const error& e) {
        EXPECT_NE(std::string(e.what()).find("broken.otf2"), std::string::npos) << e.what();
    }
    fs::remove_all(folder_ / "archive" / "traces");
    EXPECT_THROW((void)read_otf2(folder_ / "archive"), error) << "without events";
}

TEST_F(exported, prometheus_has_every_sum_once) {
    const std::string text = prometheus_text(observe_trace(small()));
    EXPECT_NE(text.find("# TYPE rubato_calls_total counter\n"), std::string::npos);
    EXPECT_NE(text.find(R"x(rubato_calls_total{program="solver",place="solve (solver.c:12)",collective="reduce",)x"
                        R"x(form="blocking",members="0-2",root="1"} 6)x"),
              std::string::npos)
        << text;
    EXPECT_NE(text.find(R"x(place="main, \"first\" (a.c:1)")x"), std::string::npos) << text;
    std::map<std::string, int> seen;
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
        ++seen[text.substr(at, text.find_last_of(' ', text.find('\n', at)) - at)];
    for (const auto& [sample, times] : seen) EXPECT_EQ(times, 1) << sample;
}

/// Each line is a comment or a sample; all samples of a metric follow its help and its type, which fits its name.
TEST_F(exported, prometheus_keeps_to_its_format) {
    const std::regex help("# HELP ([a-z_]+) [^\\\\]+");
    const std::regex type("# TYPE ([a-z_]+) (counter|gauge)");
    const std::regex sample(R"x(([a-z_]+)\{[a-z]+="([^"\\]|\\["\\n])*"(,[a-z]+="([^"\\]|\\["\\n])*")*\} [-+.e0-9]+)x");
    std::istringstream lines(prometheus_text(observe_trace(small())));
    std::set<std::string> metrics;
    std::string helped, typed;
    for (std::string line; std::getline(lines, line);) {
        std::smatch parts;
        if (std::regex_match(line, parts, help)) {
            helped = parts[1];
            EXPECT_TRUE(metrics.insert(helped).second) << helped << " comes twice";
        } else if (std::regex_match(line, parts, type)) {
            typed = parts[1];
            EXPECT_EQ(typed, helped);
            EXPECT_EQ(parts[2] == "counter", typed.ends_with("_total")) << typed;
        } else {
            ASSERT_TRUE(std::regex_match(line, parts, sample)) << line;
            EXPECT_EQ(parts[1], typed);
        }
    }
    EXPECT_GE(metrics.size(), 5U);
}

/// What GOAL says, played by itself, takes as long as the program that was replayed.
std::vector<time_ns> exits_of(const simulator::goal_file& g, const model& m) {
    schedules::shape_table ranks(static_cast<std::int32_t>(g.ranks.size()));
    for (const schedules::sized_schedule& s : simulator::schedules_of(g)) ranks.add(s);
    return simulator::simulate(m, ranks, std::vector<time_ns>(g.ranks.size()), {}).exits;
}

TEST_F(exported, goal_is_read_back) {
    const model m = parse_model("loggopsim");
    for (const bool blocking : {true, false}) {
        trace t = small();
        t.calls_of = [blocking](std::int32_t r) {
            std::vector<traced_call> calls = small().calls_of(r);
            for (traced_call& c : calls)
                if (c.what == collective::bcast && !blocking) c.how = form::nonblocking;
            return calls;
        };
        std::string text;
        EXPECT_EQ(write_goal(t, {}, "t", [&](std::string_view piece) { text += piece; }), 14U);
        const simulator::goal_file g = simulator::parse_goal(text, "t");
        ASSERT_EQ(g.ranks.size(), 3U);
        const replay r = replay_of(t, "t");
        EXPECT_EQ(r.took, 11ms + 2us);
        EXPECT_EQ(exits_of(g, m), simulator::play(r.what, m, {}, {}).exits);
        for (std::size_t rank = 0; rank < 3; ++rank) {
            std::int64_t computing = 0;
            for (const simulator::goal_op& op : g.ranks[rank].ops)
                computing += op.kind == simulator::goal_kind::calc ? op.size : 0;
            const auto late = static_cast<std::int64_t>(rank) * 1000;
            EXPECT_EQ(computing, rank == 1 ? 2'700'000 + late : 9'600'000) << rank;
        }
    }
}

TEST_F(exported, goal_has_the_calls_that_all_their_ranks_kept) {
    trace t = small();
    t.calls_of = [](std::int32_t r) {
        std::vector<traced_call> calls = small().calls_of(r);
        if (r == 1) calls.erase(calls.begin() + 1);
        return calls;
    };
    EXPECT_EQ(write_goal(t, {}, "t", [](std::string_view) {}), 11U);
    t.calls_of = [](std::int32_t) { return std::vector<traced_call>(); };
    EXPECT_THROW((void)write_goal(t, {}, "t", [](std::string_view) {}), error);
}

/// Rank 2 waits in the call on ranks 1 and 2 before ranks 0 and 1 begin theirs, which rank 1 makes first.
TEST_F(exported, a_replay_keeps_the_order_of_each_rank) {
    trace t;
    t.hosts = {"", "", ""};
    t.communicators = {{{0, 1}, 0}, {{1, 2}, 0}};
    t.places = {"here"};
    t.calls_of = [](std::int32_t r) {
        std::vector<traced_call> calls;
        if (r < 2) calls.push_back({5ms, 6ms, 8, 0, 0, 0, 0, collective::barrier, form::blocking});
        if (r > 0) calls.push_back({r == 1 ? 7ms : 0ms, 8ms, 8, 0, 1, 0, 0, collective::barrier, form::blocking});
        return calls;
    };
    const simulator::program p = replay_of(t, "t").what;
    ASSERT_EQ(p.events.size(), 2U);
    EXPECT_EQ(p.calls[p.events[0].call].members, (std::vector<std::int32_t>{0, 1}));
    EXPECT_EQ(p.events[0].computing, (std::vector<time_ns>{5ms, 5ms}));
    EXPECT_EQ(p.events[1].computing, (std::vector<time_ns>{1ms, 0ms}));
}

/// Two threads of each rank, which take turns in another order on each.
TEST_F(exported, a_replay_of_threads_has_all_calls) {
    trace t;
    t.hosts = {"", ""};
    t.communicators = {{{0, 1}, 0}, {{0, 1}, 1}};
    t.places = {"here"};
    t.calls_of = [](std::int32_t r) {
        std::vector<traced_call> calls;
        for (std::uint64_t i = 0; i < 10; ++i)
            for (std::uint32_t k = 0; k < 2; ++k)
                calls.push_back({1ms * static_cast<int>(i) + 1us * static_cast<int>(k),
                                 1ms * static_cast<int>(i) + 100us, 8, i, r == 0 ? k : 1 - k, 0, 0, collective::barrier,
                                 form::blocking});
        return calls;
    };
    EXPECT_EQ(replay_of(t, "t").of_ranks, 40U);
    std::string text;
    EXPECT_EQ(write_goal(t, {}, "t", [&](std::string_view piece) { text += piece; }), 40U);
    EXPECT_GT(exits_of(simulator::parse_goal(text, "t"), parse_model("loggopsim"))[0], 8ms);
}

TEST_F(exported, a_replay_has_the_algorithms_that_ran) {
    simulator::program p = replay_of(small(), "t").what;
    dropin::decision kept;
    kept.made = dropin::decision::verdict::kept;
    kept.what = collective::reduce;
    kept.bytes = 4096;
    kept.root = 1;
    kept.ranks = 3;
    kept.algorithm = "reduce/chain+early@1KiB";
    set_algorithms(p, std::array{kept});
    for (const simulator::program_call& c : p.calls)
        EXPECT_EQ(c.use, c.what == collective::reduce ? &find_algorithm("reduce/chain") : nullptr);
    dropin::decision given_up = kept;
    given_up.made = dropin::decision::verdict::withdrawn;
    set_algorithms(p, std::array{kept, given_up});
    for (const simulator::program_call& c : p.calls) EXPECT_EQ(c.use, nullptr);
}

/// A recorder that keeps every call, within its limit.
TEST_F(exported, every_call_is_kept) {
    const fs::path file = folder_ / "all.rubato";
    constexpr std::uint64_t calls = 40000;
    const std::size_t room = 2 * dropin::calls_in_block * sizeof(dropin::call);
    std::vector<dropin::part> parts;
    for (std::int32_t rank = 0; rank < 2; ++rank) {
        dropin::recorder r(file, {rank, 2, "solver", "here", "an MPI"}, {.every_call = rank == 0 ? room : room * 2});
        r.common_time(0ns, 1s);
        dropin::recorder::channel& c = r.open(std::array{0, 1});
        for (std::uint64_t i = 0; i < calls; ++i) {
            const time_ns at = 10us * static_cast<std::int64_t>(i);
            c.record({collective::bcast, form::blocking, 1, static_cast<std::int64_t>(i % 5), &c, at, at + 1us});
        }
        parts.push_back(*dropin::decode(r.bytes()));
        EXPECT_TRUE(parts.back().calls.empty()) << "they are not sent to rank 0";
        r.finish();
    }
    const dropin::observation o = dropin::summarise(parts);
    EXPECT_TRUE(o.every_call);
    EXPECT_EQ(o.missing, calls - 2 * dropin::calls_in_block);
    dropin::write(o, file);
    EXPECT_FALSE(fs::exists(file.string() + ".parts"));
    const trace t = read_trace(file);
    EXPECT_EQ(t.calls, 2 * calls);
    EXPECT_EQ(t.missing, o.missing);
    EXPECT_EQ(t.calls_of(0).size(), 2 * dropin::calls_in_block);
    const std::vector<traced_call> all = t.calls_of(1);
    ASSERT_EQ(all.size(), calls);
    for (std::uint64_t i = 0; i < calls; ++i) {
        ASSERT_EQ(all[i].invocation, i);
        ASSERT_EQ(all[i].arrival, 10us * static_cast<std::int64_t>(i));
        ASSERT_EQ(all[i].bytes, static_cast<std::int64_t>(i % 5));
        ASSERT_EQ(all[i].root, 1);
    }
    dropin::remove_calls(file);
    EXPECT_FALSE(fs::exists(dropin::calls_folder(file)));
    EXPECT_THROW((void)read_trace(file), error) << "the calls are gone";
}

}  // namespace
}  // namespace rubato::reports
