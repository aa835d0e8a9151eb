// The files that a recorder writes, also when its process is killed or its disk is full, and how they are read.
#include "dropin/observe/notes.hpp"
#include "dropin/observe/observation.hpp"
#include "dropin/observe/part_layout.hpp"
#include "reports/report/observed.hpp"
#include "support/extent.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <csignal>
#include <fstream>
#include <new>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rubato::dropin {
namespace {

using namespace std::chrono_literals;
namespace fs = std::filesystem;

class observe : public testing::Test {
protected:
    observe() : folder_(fs::path(testing::TempDir()) / fmt::format("rubato-observe-{}", getpid())) {
        fs::create_directories(folder_);
    }
    ~observe() override { fs::remove_all(folder_); }

    fs::path file(const char* name = "x.rubato") const { return folder_ / name; }
    std::unique_ptr<recorder> record(std::int32_t rank, std::int32_t ranks) const {
        return std::make_unique<recorder>(file(), process{rank, ranks, "solver", "here", "an MPI"});
    }

    fs::path folder_;
};

part decoded(const recorder& r) {
    auto p = decode(r.bytes());
    EXPECT_TRUE(p.has_value());
    return p.value_or(part{});
}

observation summary_of(std::initializer_list<const recorder*> all) {
    std::vector<part> parts;
    for (const recorder* r : all) parts.push_back(decoded(*r));
    return summarise(parts);
}

/// Only compared.
const void* place(int n) {
    return reinterpret_cast<const void*>(static_cast<std::uintptr_t>(n));  // NOLINT(performance-no-int-to-ptr)
}

constexpr std::array<std::int32_t, 2> both{0, 1};

TEST_F(observe, sums_are_exact) {
    const auto r = record(1, 2);
    recorder::channel& c = r->open(both);
    for (int i = 0; i < 10000; ++i) {
        const time_ns t = 1us * i;
        c.record({collective::reduce, form::blocking, i % 2, 1000 + i % 3, place(1 + i % 2), t, t + 1ns * i});
    }
    const part p = decoded(*r);
    EXPECT_EQ(p.who, (process{1, 2, "solver", "here", "an MPI"}));
    ASSERT_EQ(p.channels.size(), 1U);
    EXPECT_EQ(p.channels[0].calls, 10000U);
    EXPECT_EQ(p.channels[0].members, (std::vector<std::int32_t>{0, 1}));
    ASSERT_EQ(p.channels[0].rows.size(), 8U) << "a block of them";
    std::int64_t bytes = 0;
    for (int i = 0; i < 10000; i += 2) bytes += 1000 + i % 3;
    const part_row& even = p.channels[0].rows[0];
    EXPECT_EQ(even.calls, 5000U);
    EXPECT_EQ(even.root, 0);
    EXPECT_EQ(even.from.offset, 1U);
    EXPECT_EQ(even.bytes, bytes);
    EXPECT_EQ(even.time, 1ns * (4999 * 5000));
    EXPECT_EQ(p.channels[0].rows[1].time, 1ns * (4999 * 5000 + 5000));
    EXPECT_EQ(p.channels[0].rows[2].calls, 0U);
}

TEST_F(observe, more_rows_than_are_looked_up_at_once) {
    const auto r = record(0, 1);
    recorder::channel& c = r->open(std::array{0});
    for (int turn = 0; turn < 3; ++turn)
        for (std::int32_t root = 0; root < 5000; ++root) c.record({collective::bcast, form::blocking, root, 8});
    const part p = decoded(*r);
    std::set<std::int32_t> roots;
    for (const part_row& row : p.channels[0].rows)
        if (row.calls == 3) roots.insert(row.root);
    EXPECT_EQ(roots.size(), 5000U);
}

TEST_F(observe, all_ranks_keep_the_same_invocations) {
    const auto a = record(0, 2);
    const auto b = record(1, 2);
    recorder::channel& at_a = a->open(both);
    recorder::channel& at_b = b->open(both);
    std::uint64_t calls = 0;
    for (const std::uint64_t until : {1U, 15U, 16U, 17U, 1023U, 1024U, 1025U, 3000U, 50000U}) {
        for (; calls < until; ++calls) {
            const time_ns t(static_cast<std::int64_t>(calls) * 10);
            at_a.record({collective::barrier, form::blocking, 0, 0, nullptr, t, t + 5ns});
            at_b.record({collective::barrier, form::blocking, 0, 0, place(9), t + 1ms, t + 2ms});
        }
        const std::vector<part_event> p = decoded(*a).channels[0].events;
        const std::vector<part_event> q = decoded(*b).channels[0].events;
        ASSERT_EQ(p.size(), q.size());
        for (std::size_t i = 0; i < p.size(); ++i) {
            EXPECT_EQ(p[i].invocation, q[i].invocation);
            EXPECT_EQ(p[i].arrival.count(), static_cast<std::int64_t>(p[i].invocation) * 10);
            EXPECT_EQ(p[i].exit, p[i].arrival + 5ns);
        }
        EXPECT_LE(p.size(), most_events);
        EXPECT_GE(p.size(), calls > most_events ? most_events * 2 / 5 : calls) << "after " << calls;
    }
    // They cover the run evenly.
    const std::vector<part_event> all = decoded(*a).channels[0].events;
    const auto early = std::ranges::count_if(all, [&](const part_event& e) { return e.invocation < calls / 2; });
    EXPECT_NEAR(static_cast<double>(early) / static_cast<double>(all.size()), 0.5, 0.07);
}

TEST_F(observe, what_is_called_often_leaves_room_for_the_rest) {
    const auto r = record(0, 1);
    recorder::channel& c = r->open(std::array{0});
    for (int i = 0; i < 30; ++i) {
        for (int k = 0; k < 1000; ++k) c.record({collective::allreduce, form::blocking, 0, 8, place(1 + k % 2)});
        for (int k = 0; k < 99; ++k) c.record({collective::allgatherv, form::blocking, 0, k, place(4)});
        c.record({collective::reduce, form::blocking, 0, 1 << 20, place(3)});
    }
    std::map<std::uint64_t, int> kept_of;
    const part p = decoded(*r);
    for (const part_event& e : p.channels[0].events) ++kept_of[p.channels[0].rows[e.row].from.offset];
    EXPECT_EQ(kept_of[3], 30);
    EXPECT_GT(kept_of[1], 150) << "two that take turns";
    EXPECT_GT(kept_of[2], 150);
    EXPECT_GT(kept_of[4], 300) << "sizes of v-forms are each rank's own";
    EXPECT_LE(kept_of[4], 1024);
}

TEST_F(observe, many_operations_share_what_room_there_is) {
    const auto r = record(0, 1);
    recorder::channel& c = r->open(std::array{0});
    for (int i = 0; i < 200; ++i)
        for (std::int32_t root = 0; root < 100; ++root) c.record({collective::bcast, form::blocking, root, 8});
    const part p = decoded(*r);
    EXPECT_EQ(p.channels[0].calls, 20000U);
    std::set<std::size_t> rows;
    for (const part_event& e : p.channels[0].events) rows.insert(e.row);
    EXPECT_EQ(rows.size(), 100U);
    EXPECT_LE(p.channels[0].events.size(), events_to_share + 100 * first_block);
}

TEST_F(observe, threads_open_channels_and_record) {
    const auto r = record(0, 4);
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int k = 0; k < 20; ++k) {
                recorder::channel& c = r->open(std::array{0, 1 + t % 3});
                for (int i = 0; i < 100; ++i)
                    c.record({collective::gather, form::blocking, i % 7, 8, place(100 + i % 5), 1ns * i, 2ns * i});
                r->note(fmt::format(R"({{"decision":"tried","operation":"gather","call":{}}})", t));
            }
        });
    threads.clear();
    const part p = decoded(*r);
    ASSERT_EQ(p.channels.size(), 80U);
    EXPECT_EQ(p.notes.size(), 80U);
    std::set<std::pair<std::vector<std::int32_t>, std::uint32_t>> different;
    for (const part_channel& c : p.channels) {
        EXPECT_EQ(c.calls, 100U);
        EXPECT_EQ(c.events.size(), 100U);
        different.emplace(c.members, c.ordinal);
    }
    EXPECT_EQ(different.size(), 80U) << "an ordinal tells communicators of the same members apart";
    EXPECT_EQ(summarise(std::array{p}).decisions.size(), 4U) << "what all ranks say is said once";
}

TEST_F(observe, members_are_what_they_were) {
    const auto r = record(0, 100);
    const std::vector<std::vector<std::int32_t>> lists{
        {0}, {0, 1, 2, 3}, {9, 7, 5, 3}, {0, 1, 5, 6, 7, 99}, {3, 3, 3}, {0, -2147483647, 2}, {2147483647, -5, 4}};
    for (const auto& members : lists) r->open(members);
    const part p = decoded(*r);
    ASSERT_EQ(p.channels.size(), lists.size());
    for (std::size_t i = 0; i < lists.size(); ++i) EXPECT_EQ(p.channels[i].members, lists[i]);
}

/// A program that makes communicators for ever must not fill the disk.
TEST_F(observe, a_communicator_goes_on_where_one_was_freed) {
    const auto r = record(0, 2);
    for (int i = 0; i < 100; ++i) {
        recorder::channel& c = r->open(both);
        recorder::channel& other = r->open(std::array{0});
        c.record({collective::barrier, form::blocking, 0, 0, place(3), time_ns(i), time_ns(i + 1)});
        c.close();
        other.close();
    }
    const part p = decoded(*r);
    ASSERT_EQ(p.channels.size(), 2U);
    EXPECT_EQ(p.channels[0].calls, 100U);
    EXPECT_EQ(p.channels[0].events.size(), 100U);
}

/// Arrivals of three ranks at two invocations, by hand.
TEST_F(observe, summary_by_hand) {
    const auto a = record(0, 3);
    const auto b = record(1, 3);
    const auto c = record(2, 3);
    b->common_time(1ms, 0ms);  // its clock is ahead by 1 ms
    c->common_time(0ms, 0ms);  // and this one goes at half a thousandth less than it should
    c->common_time(1s, 1s + 500us);
    for (recorder* r : {a.get(), b.get(), c.get()})
        r->open(std::array{0, 1, 2}).record({collective::barrier, form::blocking, 0, 0, place(3), {}, {}});
    recorder::channel& at_a = a->open(std::array{0, 1, 2});
    recorder::channel& at_b = b->open(std::array{0, 1, 2});
    recorder::channel& at_c = c->open(std::array{0, 1, 2});
    const auto reduce = [](time_ns arrival, time_ns exit) {
        return seen{collective::reduce, form::blocking, 1, 4000, place(7), arrival, exit};
    };
    // Common: 100, 110, 140 to 170, 160, 150 us; then 200.1, 230.1, 210.1 to 250.1, 250.1, 240.1 ms less the 50 us.
    at_a.record(reduce(100us, 170us));
    at_b.record(reduce(1110us, 1160us));
    at_c.record(reduce(140us, 150us));
    at_a.record(reduce(200100us, 250100us));
    at_b.record(reduce(231100us, 251100us));
    at_c.record(reduce(210000us, 240000us));

    const observation o = summary_of({a.get(), b.get(), c.get()});
    EXPECT_EQ(o.ranks, 3);
    EXPECT_EQ(o.parts, 3);
    ASSERT_EQ(o.communicators.size(), 1U);
    EXPECT_EQ(o.communicators[0].count, 2U);
    ASSERT_EQ(o.rows.size(), 2U);
    const row& r = o.rows[0];
    EXPECT_EQ(r.what, collective::reduce);
    EXPECT_EQ(r.calls, 2U);
    EXPECT_EQ(r.callers, 3);
    EXPECT_EQ(r.root, 1);
    EXPECT_EQ(r.bytes, 4000);
    EXPECT_EQ(r.time, 70us + 50us + 10us + 50ms + 20ms + 30ms);
    ASSERT_TRUE(r.seen.has_value());
    EXPECT_EQ(r.seen->invocations, 2U);
    ASSERT_EQ(r.seen->examples.size(), 2U);
    EXPECT_EQ(r.seen->examples[0].arrivals, (std::vector<time_ns>{0us, 10us, 40us + 70ns}));
    EXPECT_EQ(r.seen->examples[1].arrivals, (std::vector<time_ns>{0ms, 30ms, 10ms + 5us}));
    EXPECT_EQ(r.seen->imbalance, (40us + 70ns + 30ms) / 2);
    EXPECT_EQ(r.seen->tail, (30us - 70ns + 20ms) / 2) << "the median of two is their mean";
    EXPECT_EQ(r.seen->run_time, (70us + 50ms) / 2);
    EXPECT_EQ(r.seen->first.rank, 0);
    EXPECT_EQ(r.seen->first.share, 1);
    EXPECT_EQ(r.seen->last.share, 0.5);
    EXPECT_EQ(r.seen->pattern, (std::vector<time_ns>{0ns, 15005us, 5022535ns}));
    // Until the last came: 40.07 + 30.07 + 0 us of 130, then 30 + 0 + 19.995 ms of 100.
    EXPECT_NEAR(r.seen->waiting, (70.14 + 49995) / (130 + 100000), 1e-9);

    reports::observed shown;
    shown.from = o;
    const auto ns = [](time_ns t) { return static_cast<double>(t.count()); };
    EXPECT_DOUBLE_EQ(reports::imbalance_factor(shown, r), ns(r.seen->imbalance) / ns(r.seen->tail));
    shown.network = parse_model("hockney:alpha=10us,beta=5ns,gamma=0");
    EXPECT_DOUBLE_EQ(reports::imbalance_factor(shown, r), ns(r.seen->imbalance) / 30000) << "a message of 4000 bytes";
}

TEST_F(observe, ends_of_calls_that_do_not_block) {
    const auto a = record(0, 2);
    const auto b = record(1, 2);
    for (recorder* const r : {a.get(), b.get()}) {
        recorder::channel& c = r->open(both);
        for (int i = 0; i < 3; ++i) {
            sums* const row =
                c.record({collective::allreduce, form::nonblocking, 0, 100'000, place(1), 1ms * i, 1ms * i + 10us});
            ASSERT_NE(row, nullptr);
            if (i < 2) add_end(*row, 2ms, r == a.get() ? 1ms : 5ms);  // nobody saw the end of the last
        }
        c.record({collective::bcast, form::blocking, 0, 8, place(2), 1s, 1s + 1us});
    }
    write(summary_of({a.get(), b.get()}), file("ends.rubato"));
    reports::observed shown = reports::look_at(file("ends.rubato").string(), "hockney:alpha=10us,beta=40ns,gamma=0");
    ASSERT_EQ(shown.from.rows.size(), 2U);
    const row& r = shown.from.rows[0];
    EXPECT_EQ(r.what, collective::allreduce);
    EXPECT_EQ(r.ended, 4U);
    EXPECT_EQ(r.apart, 8ms);
    EXPECT_EQ(r.waited, 12ms);
    EXPECT_FALSE(reports::overlap_of(shown, 1)) << "it blocks";

    auto is = reports::overlap_of(shown, 0);
    ASSERT_TRUE(is.has_value());
    EXPECT_EQ(is->start, 10us);
    EXPECT_EQ(is->apart, 2ms);
    EXPECT_EQ(is->waited, 3ms);
    EXPECT_EQ(is->could_be_hidden(), 2ms);
    EXPECT_FALSE(is->hidden()) << "nothing was simulated yet";
    reports::examine_row(shown, 0);
    is = reports::overlap_of(shown, 0);
    ASSERT_TRUE(is->alone.has_value());
    EXPECT_GE(*is->alone, 4ms) << "100 kB at 40 ns";
    const double paid = 3.01e6 / static_cast<double>(is->alone->count());
    EXPECT_DOUBLE_EQ(is->hidden().value(), 1 - paid);
}

TEST_F(observe, time_outside_of_calls) {
    const auto a = record(0, 2);
    const auto b = record(1, 2);
    for (recorder* const r : {a.get(), b.get()}) {
        recorder::channel& c = r->open(both);
        recorder::channel& alone = r->open(std::array{r == a.get() ? 0 : 1});
        const time_ns late = r == a.get() ? 0us : 300us;
        for (int i = 0; i < 3; ++i) {
            alone.record({collective::barrier, form::blocking, 0, 0, place(1), 1ms * i, 1ms * i + 100us});
            c.record({collective::bcast, form::blocking, 0, 8, place(2), 1ms * i + 200us + late, 1ms * i + 600us});
        }
    }
    const observation o = summary_of({a.get(), b.get()});
    const auto found = std::ranges::find(o.rows, collective::bcast, &row::what);
    ASSERT_NE(found, o.rows.end());
    for (const invocation& e : found->seen->examples)
        EXPECT_EQ(e.outside, (std::vector<time_ns>{100us, 400us})) << "since a call on another communicator";
    const auto first = std::ranges::find(o.rows, collective::barrier, &row::what);
    ASSERT_EQ(first->seen->examples.size(), 3U);
    EXPECT_TRUE(first->seen->examples[0].outside.empty()) << "nothing is before the first call";
    EXPECT_EQ(first->seen->examples[1].outside, std::vector<time_ns>{400us});
    EXPECT_EQ(found->seen->all.at(0).last, 1);
    EXPECT_EQ(found->seen->all.at(0).waited, 150us);
}

TEST_F(observe, a_collective_called_from_two_places) {
    const auto a = record(0, 2);
    const auto b = record(1, 2);
    recorder::channel& at_a = a->open(both);
    recorder::channel& at_b = b->open(both);
    for (int i = 0; i < 10; ++i) {
        at_a.record({collective::bcast, form::blocking, 0, 64, place(1), 1ms * i, 1ms * i + 10us});
        at_b.record({collective::bcast, form::blocking, 0, 64, place(2), 1ms * i + 5us, 1ms * i + 25us});
    }
    const observation o = summary_of({a.get(), b.get()});
    ASSERT_EQ(o.rows.size(), 2U);
    for (const row& r : o.rows) {
        EXPECT_EQ(r.callers, 1);
        EXPECT_EQ(r.calls, 10U);
        ASSERT_TRUE(r.seen.has_value());
        EXPECT_EQ(r.seen->imbalance, 5us);
        EXPECT_EQ(r.seen->last.rank, 1);
        EXPECT_EQ(r.seen->waiting, o.sites[r.site].offset == 1 ? 0.5 : 0) << "only the first one waits, half its time";
        EXPECT_EQ(r.seen->predictable.error, 0ns);
        EXPECT_EQ(r.seen->predictable.deviation, 2500ns) << "of 0 and 5 us from the latter";
        EXPECT_EQ(r.seen->predictable.share(), 1);
        EXPECT_EQ(r.seen->predictable.last_right, 1);
    }
    EXPECT_EQ(o.rows[0].time, 200us) << "the one that takes most time comes first";
}

TEST_F(observe, ranks_that_nothing_is_known_of) {
    const auto a = record(0, 2);
    a->open(both).record({collective::bcast, form::nonblocking, 0, 64, nullptr, 1ms, 2ms});
    const observation o = summary_of({a.get()});
    EXPECT_EQ(o.parts, 1);
    ASSERT_EQ(o.rows.size(), 1U);
    EXPECT_EQ(o.rows[0].time, 1ms);
    EXPECT_FALSE(o.rows[0].seen.has_value());
    EXPECT_EQ(summarise({}).rows.size(), 0U);
}

decision full_decision() {
    decision d;
    d.made = decision::verdict::withdrawn;
    d.what = collective::reduce;
    d.bytes = 65536;
    d.root = 0;
    d.ranks = 5;
    d.call = 9;
    d.algorithm = "reduce/chain";
    d.promised = {4, 10us, 1ms};
    d.measured = {12us, 2ms};
    d.incumbent = "reduce/binomial";
    d.of_incumbent = {11us, 3ms};
    d.of_native = {15us, 4ms};
    d.pattern = {1, 3, 50us};
    d.reason = "it is \"not\" better\n";
    return d;
}

recalled remembered() {
    experience e;
    e.kind = simulator::operation_of(collective::bcast, rank(1), 65536);
    e.bytes = 65536;
    e.algorithm = "bcast/chain";
    e.segment = 8192;
    e.round_time = 3us;
    e.of_native = {15us, 4ms};
    e.of_plan = {11us, 3ms};
    e.arrivals = {0us, 7us};
    return {2, e};
}

TEST_F(observe, a_file_is_read_as_it_was_written) {
    const profile_read earlier{"/a/\"b\".profile", 3, 12, true};
    const auto a = record(0, 2);
    const auto b = record(1, 2);
    for (recorder* r : {a.get(), b.get()}) {
        recorder::channel& c = r->open(both);
        for (int i = 0; i < 300; ++i)
            c.record({collective::allreduce, form::blocking, 0, 8, place(5), 1us * i, 1us * i + 100ns});
        r->note(to_line(full_decision()));
        r->note(R"({"decision":"perhaps","operation":"allreduce"})");
        r->note(R"({"model":"curie"})");
        r->note(to_line(run_begun{1700000000, "./solver \"in put\""}));
        r->note(to_line(earlier));
        r->note(to_line(remembered()));
        r->note(R"({"recalled":{"collective":"allreduce"}})");
    }
    const observation o = summary_of({a.get(), b.get()});
    EXPECT_EQ(o.model, "curie");
    EXPECT_EQ(o.profile, earlier);
    EXPECT_EQ(o.rows.at(0).seen->examples.size(), 256U);
    EXPECT_EQ(o.rows.at(0).seen->all.size(), 300U);
    EXPECT_EQ(o.begun.command, "./solver \"in put\"");
    EXPECT_EQ(o.duration, 299us + 100ns);
    a->finish();
    b->finish();
    EXPECT_FALSE(fs::exists(file().string() + ".parts"));
    write(o, file());
    EXPECT_TRUE(is_observation(file()));
    const observation again = read(file());
    write(again, file("y"));
    const auto slurp = [](const fs::path& p) {
        std::ifstream in(p);
        return std::string(std::istreambuf_iterator<char>(in), {});
    };
    const std::string text = slurp(file());
    EXPECT_EQ(text, slurp(file("y")));
    EXPECT_EQ(again.decisions, std::vector{full_decision()});
    EXPECT_EQ(again.profile, earlier);
    EXPECT_EQ(again.from_profile, std::vector{remembered()}) << "what all ranks say is said once";

    // A file that is cut anywhere but before its last newline is refused, and one of which a byte was changed.
    const auto refused = [this](const std::string& spoilt) {
        std::ofstream(file("z"), std::ios::trunc) << spoilt;
        try {
            (void)read(file("z"));
        } catch (const error&) {
            return true;
        }
        return false;
    };
    for (std::size_t n = 0; n + 1 < text.size(); n += n < 1500 ? some_or_all(13U, 1U) : 97) {
        EXPECT_TRUE(refused(text.substr(0, n))) << "cut after " << n;
        std::string spoilt = text;
        spoilt[n] = static_cast<char>(spoilt[n] ^ 1);
        EXPECT_TRUE(refused(spoilt)) << "another byte " << n;
    }

    // Whatever is in a file, it is read or refused.
    std::mt19937 random(1);
    for (int i = 0; i < 150; ++i) {
        std::string spoilt = text.substr(0, 2000);
        if (i % 2 == 0) spoilt.resize(random() % spoilt.size());
        for (int k = 0; k < i % 5 && !spoilt.empty(); ++k)
            spoilt[random() % spoilt.size()] = static_cast<char>('0' + random() % 75);
        std::ofstream(file("z"), std::ios::trunc) << spoilt;
        try {
            (void)read(file("z"));
        } catch (const error&) {
        }
    }
}

TEST_F(observe, nothing_that_is_read_does_harm) {
    const auto r = record(0, 2);
    const auto other = record(1, 2);
    for (recorder* one : {r.get(), other.get()}) {
        one->common_time(1s, 2s);
        recorder::channel& c = one->open(both);
        for (int i = 0; i < 20; ++i)
            c.record({collective::scatterv, form::blocking, i % 2, 64 * i, &c, 1ms * i, 1ms * i + 2us});
        one->note(R"({"operation":"scatterv"})");
    }
    const std::vector<std::byte> whole = r->bytes();
    const part beside = decoded(*other);
    std::size_t readable = 0;
    const auto look = [&](std::span<const std::byte> bytes) {
        const auto p = decode(bytes);
        if (!p) return;
        ++readable;
        (void)summarise(std::array{*p, beside});
    };
    for (std::size_t n = 0; n <= whole.size(); ++n) look(std::span(whole).first(n));
    EXPECT_GT(readable, whole.size() * 9 / 10) << "what is there is read";
    std::mt19937 random(2);
    for (int i = 0; i < 1500; ++i) {
        std::vector<std::byte> spoilt = whole;
        for (int k = 0; k <= i % 4; ++k) spoilt[random() % spoilt.size()] = static_cast<std::byte>(random());
        look(spoilt);
    }
}

/// In a process that may have so much more memory than this one.
template <class Act>
bool needs_little_memory(Act act) {
    const pid_t child = fork();
    if (child == 0) {
        std::size_t pages = 0;
        std::ifstream("/proc/self/statm") >> pages;
        const rlim_t most = pages * static_cast<std::size_t>(sysconf(_SC_PAGESIZE)) + (std::size_t{256} << 20);
        const rlimit limit{most, most};
        setrlimit(RLIMIT_AS, &limit);
        try {
            act();
        } catch (const std::bad_alloc&) {
            _exit(1);
        }
        _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    return status == 0;
}

TEST_F(observe, sizes_that_are_too_large_take_no_memory) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "it takes memory itself";
#endif
    recorder r(file(), process{0, 4, "solver", "here", "an MPI"}, {.watched = true, .every_call = 1 << 20});
    recorder::channel& c = r.open(std::array{0, 1, 2});
    for (int i = 0; i < 20; ++i) c.record({collective::reduce, form::blocking, 0, 64, nullptr, 1ms * i, 1ms * i});
    const std::vector<std::byte> whole = read_part(part_of(file(), 0), true);
    ASSERT_TRUE(decode(whole));
    const auto at_record = [&](record_kind kind) {
        for (std::size_t at = sizeof(file_head); at < whole.size();) {
            record_head record{};
            std::memcpy(&record, &whole[at], sizeof record);
            if (record.kind == static_cast<std::uint32_t>(kind)) return at;
            at += record.bytes;
        }
        return whole.size();
    };
    struct change {
        const char* what;
        std::size_t at;
        std::size_t bytes;
    };
    const std::size_t used = offsetof(file_head, used);
    const auto in = [&](record_kind kind, std::size_t offset) { return at_record(kind) + offset; };
    const std::size_t data = sizeof(record_head);
    for (const change& one : {
             change{"bytes in use", used, 8},
             change{"of a record", in(record_kind::process, offsetof(record_head, bytes)), 4},
             change{"of the whereabouts", in(record_kind::whereabouts, offsetof(record_head, bytes)), 4},
             change{"of calls", in(record_kind::calls, offsetof(record_head, bytes)), 4},
             change{"threads", in(record_kind::whereabouts, data + offsetof(watched_part, threads)), 4},
             change{"runs", in(record_kind::channel, data + offsetof(channel_part, runs)), 4},
             change{"members", in(record_kind::channel, data + sizeof(channel_part) + offsetof(member_run, count)), 4},
             change{"kept calls", in(record_kind::kept, data + offsetof(kept_part, calls)), 8},
             change{"text", in(record_kind::process, data + offsetof(process_part, lengths)), 4},
             change{"sums", in(record_kind::sums, data + offsetof(block_part, count)), 4},
             change{"events", in(record_kind::events, data + offsetof(block_part, count)), 4},
         }) {
        ASSERT_LT(one.at + one.bytes, whole.size()) << one.what;
        for (const std::byte top : {std::byte{0x7f}, std::byte{0x3f}, std::byte{0}}) {
            std::vector<std::byte> spoilt = whole;
            std::fill_n(spoilt.begin() + static_cast<std::ptrdiff_t>(one.at), one.bytes, std::byte{0xf8});
            spoilt[one.at + one.bytes - 1] = top;
            const fs::path copy = file("spoilt");
            std::ofstream(copy, std::ios::binary)
                .write(reinterpret_cast<const char*>(spoilt.data()), static_cast<std::streamsize>(spoilt.size()));
            EXPECT_TRUE(needs_little_memory([&] {
                (void)decode(spoilt);
                (void)decode(read_part(copy, true));
                (void)glance_at(copy);
                (void)look_at(copy, 0);
                (void)glimpse_of(copy, 0);
            })) << one.what;
        }
    }
}

/// A part has as many members as it says, for a few bytes each; there is a limit for all of them.
TEST_F(observe, members_of_many_communicators_are_limited) {
    recorder r(file(), process{0, 1 << 20, "solver", "here", "an MPI"});
    std::vector<std::int32_t> all(1 << 20);
    std::iota(all.begin(), all.end(), 0);
    for (int i = 0; i < 40; ++i) r.open(all);
    EXPECT_EQ(decoded(r).channels.size(), 16U);
}

/// What lies in the way of parts: of an earlier run, links, and what is another user's.
TEST_F(observe, parts_are_new_files) {
    std::ofstream(file("precious")) << "precious";
    const auto precious = [&] {
        std::ifstream in(file("precious"));
        return std::string(std::istreambuf_iterator<char>(in), {});
    };
    fs::create_directory(file("x.rubato.parts"));
    std::ofstream(file("x.rubato.parts") / "0") << "killed";
    fs::create_symlink(file("precious"), file("x.rubato.parts") / "1");
    for (std::int32_t rank = 0; rank < 2; ++rank) {
        const auto r = record(rank, 2);
        EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(part_of(file(), rank)))) << rank;
        r->finish();
    }
    EXPECT_FALSE(fs::exists(file("x.rubato.parts")));
    EXPECT_EQ(precious(), "precious");

    fs::create_directory(file("important"));
    std::ofstream(file("important") / "0") << "precious";
    for (const char* const name : {"x.rubato.parts", "x.rubato.calls"}) fs::create_symlink("important", file(name));
    EXPECT_THROW(record(0, 2), error);
    remove_calls(file());
    EXPECT_TRUE(fs::exists(file("important") / "0"));
    fs::remove(file("x.rubato.parts"));
    recorder kept(file(), process{0, 1, "solver", "here", ""}, {.every_call = 1 << 20});
    EXPECT_THROW(kept.finish(), error);
    EXPECT_EQ(fs::file_size(file("important") / "0"), 8U);
}

TEST_F(observe, parts_of_another_user_are_not_read) {
    const auto r = record(0, 1);
    r->open(std::array{0}).record({collective::barrier});
    EXPECT_EQ(read(file()).rows.size(), 1U);
    const auto give = [&](const fs::path& what, uid_t to) { return lchown(what.c_str(), to, to) == 0; };
    if (!give(part_of(file(), 0), 1234)) GTEST_SKIP() << "needs root";
    const auto says = [&] {
        try {
            (void)read(file());
        } catch (const error& e) {
            return std::string(e.what());
        }
        return std::string();
    };
    EXPECT_NE(says().find("x.rubato.parts/0': it belongs to user 1234; copy the folder"), std::string::npos) << says();
    ASSERT_TRUE(give(part_of(file(), 0), geteuid()) && give(file("x.rubato.parts"), 1234));
    EXPECT_NE(says().find("x.rubato.parts': it belongs to user 1234; copy the folder"), std::string::npos) << says();
    // Beside a file, others' parts do not count; unless both are theirs.
    observation old = summary_of({r.get()});
    old.program = "written before";
    write(old, file());
    fs::last_write_time(file(), fs::file_time_type::clock::now() - 1h);
    EXPECT_EQ(read(file()).program, "written before");
    ASSERT_TRUE(give(file(), 1234));
    EXPECT_EQ(read(file()).program, "solver");
    ASSERT_TRUE(give(file(), geteuid()) && give(file("x.rubato.parts"), geteuid()));
    EXPECT_EQ(read(file()).program, "solver");
}

/// Whenever the process is killed, its file has what it had recorded.
TEST_F(observe, survives_being_killed) {
    for (std::int32_t rank = 0; rank < 2; ++rank) {
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            recorder r(file(), {rank, 2, "solver", "here", ""});
            recorder::channel& c = r.open(both);
            for (std::int64_t i = 0;; ++i)
                c.record({collective::bcast, form::blocking, 0, 8, nullptr, time_ns(i * 10), time_ns(i * 10 + 5)});
        }
        const fs::path mine = file().string() + ".parts/" + std::to_string(rank);
        const auto calls = [&]() -> std::uint64_t {
            std::ifstream in(mine, std::ios::binary);
            const std::string all(std::istreambuf_iterator<char>(in), {});
            const auto p = decode(std::as_bytes(std::span(all)));
            return !p || p->channels.empty() ? 0 : p->channels[0].calls;
        };
        while (calls() < 20000) std::this_thread::sleep_for(1ms);
        EXPECT_EQ(read(file()).running, 1) << "the other one was killed already";
        kill(child, SIGKILL);
        waitpid(child, nullptr, 0);
        std::ifstream in(mine, std::ios::binary);
        const std::string all(std::istreambuf_iterator<char>(in), {});
        const auto p = decode(std::as_bytes(std::span(all)));
        ASSERT_TRUE(p.has_value());
        EXPECT_GE(p->channels[0].events.size(), most_events * 2 / 5);
        for (const part_event& e : p->channels[0].events) {
            ASSERT_EQ(e.arrival.count(), static_cast<std::int64_t>(e.invocation) * 10);
            ASSERT_EQ(e.exit.count(), static_cast<std::int64_t>(e.invocation) * 10 + 5);
        }
        EXPECT_LE(p->channels[0].rows[0].calls - p->channels[0].calls, 1U);
    }
    EXPECT_TRUE(is_observation(file()));
    const observation o = read(file());
    EXPECT_FALSE(o.ended);
    EXPECT_EQ(o.parts, 2);
    ASSERT_EQ(o.rows.size(), 1U);
    EXPECT_GE(o.rows[0].calls, 20000U);
    ASSERT_TRUE(o.rows[0].seen.has_value());
    EXPECT_EQ(o.rows[0].seen->imbalance, 0ns);
    EXPECT_EQ(o.rows[0].seen->first.rank, -1) << "nobody is first if all come together";
    const std::string text = reports::summary(reports::look_at(file().string(), ""));
    EXPECT_NE(
        text.find("The program was killed or has failed, or it still runs elsewhere; parts of 2 of 2 ranks were found"),
        std::string::npos)
        << text;
    EXPECT_EQ(o.running, 0);
}

TEST_F(observe, a_disk_without_room_stops_recording_only) {
    const pid_t child = fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
        close(STDERR_FILENO);  // what it says there
        ::open(file("said").c_str(), O_WRONLY | O_CREAT, 0600);
        const rlimit most{200000, 200000};
        setrlimit(RLIMIT_FSIZE, &most);
        recorder r(file(), {0, 1, "solver", "here", ""});
        for (int k = 0; k < 100; ++k) {
            recorder::channel& c = r.open(std::array{0});
            for (int i = 0; i < 1000; ++i) c.record({collective::bcast, form::blocking, 0, 8, nullptr, {}, 1us});
        }
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
    const observation o = read(file());
    EXPECT_GT(o.rows.at(0).calls, 1000U);
    EXPECT_LT(o.rows.at(0).calls, 100000U);
    std::ifstream in(file("said"));
    const std::string said(std::istreambuf_iterator<char>(in), {});
    EXPECT_TRUE(said.starts_with("rubato: cannot record more in")) << said;
    EXPECT_EQ(std::ranges::count(said, '\n'), 1);
}

TEST_F(observe, files_that_cannot_be) {
    EXPECT_THROW(recorder("/proc/nowhere/x", {}), error);
    EXPECT_THROW(write(observation{}, "/nonexistent/x"), error);
    EXPECT_THROW((void)read(file("none")), error);
    std::ofstream(file("other")) << "hello\n";
    EXPECT_FALSE(is_observation(file("other")));
    EXPECT_THROW((void)read(file("other")), error);
    fs::create_directory(file("y.parts"));
    std::ofstream(file("y.parts") / "0") << "hello";
    EXPECT_THROW((void)read(file("y")), error);
}

[[gnu::noinline]] const void* called_from_here() { return __builtin_return_address(0); }
[[gnu::noinline]] const void* place_to_find() {
    const void* here = called_from_here();
    __asm__ volatile("");  // so that the call is not the last thing done here
    return here;
}

TEST_F(observe, finds_functions) {
    const auto r = record(0, 1);
    r->open(std::array{0}).record({collective::barrier, form::blocking, 0, 0, place_to_find()});
    const observation o = summary_of({r.get()});
    ASSERT_EQ(o.sites.size(), 1U);
    EXPECT_EQ(fs::path(o.sites[0].module), fs::canonical("/proc/self/exe"));
    const std::vector<reports::code_place> found = reports::find_places(o.sites);
    EXPECT_NE(found[0].function.find("place_to_find"), std::string::npos) << found[0].text();
    const std::vector<site> gone{{"/nonexistent/libx.so", 0x10, ""}, {"/nonexistent/liby.so", 0x10, "solve"}, {}};
    const std::vector<reports::code_place> places = reports::find_places(gone);
    EXPECT_EQ(places[0].text(), "libx.so+0x10");
    EXPECT_EQ(places[1].text(), "solve (liby.so+0x10)");
    EXPECT_EQ(places[2].text(), "unknown");
}

}  // namespace
}  // namespace rubato::dropin
