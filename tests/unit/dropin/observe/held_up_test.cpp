// What the watchdog finds in the whereabouts of ranks.
#include "dropin/observe/held_up.hpp"
#include "dropin/observe/mapped_file.hpp"
#include "dropin/observe/part_layout.hpp"

#include <gtest/gtest.h>

#include <fmt/format.h>

#include <unistd.h>

namespace rubato::dropin {
namespace {

using namespace std::chrono_literals;

std::string place(const site& s) { return s.symbol; }

/// A rank that has called `calls` times on the world, and is there.
watched_process at(std::int32_t rank, std::vector<std::int32_t> members, std::uint64_t calls, part_thread thread,
                   time_ns age) {
    watched_process p;
    p.seen.who = {rank, 4, "solver", "here", "an MPI"};
    part_channel c;
    c.members = std::move(members);
    c.calls = calls;
    p.seen.channels.push_back(std::move(c));
    p.seen.threads.push_back(std::move(thread));
    p.ages.push_back(age);
    return p;
}

const std::vector<std::int32_t> world{0, 1, 2, 3};

part_thread within(collective what, std::uint64_t invocation, std::int32_t root = 0, std::int64_t bytes = 8) {
    part_thread t;
    t.inside = true;
    t.what = what;
    t.invocation = invocation;
    t.root = root;
    t.bytes = bytes;
    t.from = site{"m", 1, "loop"};
    return t;
}
part_thread left(part_thread t) {
    t.inside = false;
    return t;
}

std::string text_of(std::span<const watched_process> all) {
    std::string out;
    for (const held_up_call& c : find_held_up(all, 4, 10s, place))
        for (const std::string& line : c.text) out += line + '\n';
    return out;
}

TEST(held_up, who_has_not_come) {
    const std::vector all{at(0, world, 6, within(collective::allreduce, 6), 61s),
                          at(1, world, 6, left(within(collective::allreduce, 5)), 62s),
                          at(2, world, 6, within(collective::allreduce, 6), 60s)};
    EXPECT_EQ(text_of(all),
              "allreduce of 8 B at loop, call 7 on all 4 ranks, has waited for 61.0 s\n"
              "rank 1 has not come: left allreduce of 8 B at loop 62.0 s ago, computing or in a call that is no "
              "collective\n"
              "rank 3 has not come: nothing is known\n");
}

TEST(held_up, hosts_are_named_where_there_are_several) {
    std::vector all{at(0, world, 6, within(collective::barrier, 6), 61s),
                    at(1, world, 6, left(within(collective::barrier, 5)), 62s),
                    at(2, world, 6, left(within(collective::barrier, 5)), 63s),
                    at(3, world, 6, within(collective::barrier, 6), 60s)};
    const std::string absence = "left barrier at loop 63.0 s ago, computing or in a call that is no collective\n";
    all[1].seen.who.host = all[2].seen.who.host = "there";
    EXPECT_EQ(text_of(all),
              "barrier at loop, call 7 on all 4 ranks, has waited for 61.0 s\n"
              "ranks 1-2 on there have not come: " +
                  absence);
    all[2].seen.who.host = "elsewhere";
    EXPECT_EQ(text_of(all),
              "barrier at loop, call 7 on all 4 ranks, has waited for 61.0 s\n"
              "ranks 1-2 have not come: " +
                  absence);
}

TEST(held_up, processes_that_are_stopped) {
    std::vector all{at(0, world, 6, within(collective::allreduce, 6), 61s),
                    at(1, world, 6, left(within(collective::allreduce, 5)), 62s),
                    at(2, world, 6, within(collective::allreduce, 6), 60s),
                    at(3, world, 6, within(collective::allreduce, 6), 60s)};
    all[1].stopped = true;
    EXPECT_EQ(text_of(all),
              "allreduce of 8 B at loop, call 7 on all 4 ranks, has waited for 61.0 s\n"
              "rank 1 has not come: left allreduce of 8 B at loop 62.0 s ago, computing or in a call that is no "
              "collective\n"
              "the process of rank 1 is stopped\n");
    all[1] = at(1, world, 6, within(collective::allreduce, 6), 60s);
    all[1].stopped = all[2].stopped = true;
    EXPECT_EQ(text_of(all),
              "allreduce of 8 B at loop, call 7 on all 4 ranks, has waited for 61.0 s\n"
              "the processes of ranks 1-2 are stopped\n");
}

TEST(held_up, nobody_waits_long_enough) {
    const std::vector all{at(0, world, 6, within(collective::allreduce, 6), 9s),
                          at(1, world, 6, left(within(collective::allreduce, 5)), 1000s)};
    EXPECT_EQ(text_of(all), "");
}

TEST(held_up, different_calls) {
    std::vector all{at(0, world, 1, within(collective::reduce, 1, 0), 11s),
                    at(1, world, 1, within(collective::reduce, 1, 3), 11s),
                    at(2, world, 1, within(collective::reduce, 1, 0, 16), 11s),
                    at(3, world, 1, within(collective::bcast, 1, 0), 11s)};
    EXPECT_EQ(text_of(all),
              "reduce of 8 B with root 0 at loop, call 2 on all 4 ranks, has waited for 11.0 s\n"
              "rank 3 called bcast of 8 B with root 0 at loop instead\n"
              "rank 2 called reduce of 16 B with root 0 at loop instead\n"
              "rank 1 called reduce of 8 B with root 3 at loop instead\n");
    all[1].seen.threads[0].root = 0;
    all[2].seen.threads[0].bytes.reset();  // not known, so not another
    all[3].seen.threads[0] = within(collective::reduce, 1, 0);
    EXPECT_EQ(text_of(all),
              "reduce of 8 B with root 0 at loop, call 2 on all 4 ranks, has waited for 11.0 s\n"
              "all ranks are there: it is slow, or its messages do not arrive\n");
}

TEST(held_up, some_have_gone_on) {
    const std::vector all{at(0, world, 4, within(collective::reduce, 4), 20s),
                          at(1, world, 3, left(within(collective::reduce, 2)), 30s),
                          at(2, world, 9, left(within(collective::barrier, 8)), 1s),
                          at(3, world, 5, within(collective::barrier, 5), 15s)};
    EXPECT_EQ(text_of(all),
              "reduce of 8 B with root 0 at loop, call 5 on all 4 ranks, has waited for 20.0 s\n"
              "rank 1 has not come: left reduce of 8 B with root 0 at loop 30.0 s ago, computing or in a call "
              "that is no collective\n"
              "ranks 2-3 have been there and gone on\n"
              "barrier at loop, call 6 on all 4 ranks, has waited for 15.0 s\n"
              "rank 0 has not come: in reduce of 8 B with root 0 at loop, call 5 there, for 20.0 s\n"
              "rank 1 has not come: left reduce of 8 B with root 0 at loop 30.0 s ago, computing or in a call "
              "that is no collective\n"
              "rank 2 has been there and gone on\n");
}

TEST(held_up, a_part_of_the_ranks_and_the_end) {
    part_thread end;
    end.inside = true;
    end.in = waiting::finalize;
    const std::vector some{at(0, {0, 2}, 0, within(collective::barrier, 0), 20s), at(1, world, 5, end, 25s),
                           at(2, world, 5, end, 25s)};
    EXPECT_EQ(text_of(some),
              "barrier at loop, call 1 on the communicator of ranks 0, 2, has waited for 20.0 s\n"
              "rank 2 has not come: in MPI_Finalize for 25.0 s\n");
    EXPECT_EQ(text_of(std::span(some).subspan(1)),
              "MPI_Finalize, has waited for 25.0 s\nranks 0, 3 have not come: nothing is known\n");
}

TEST(held_up, persistent_requests_and_tests) {
    part_thread waits = within(collective::bcast, persistent_start{2, 5}.number());
    waits.how = form::persistent;
    waits.in = waiting::end_of;
    part_thread tests = within(collective::barrier, 3);
    tests.how = form::nonblocking;
    tests.in = waiting::tests_of;
    std::vector all{at(0, world, 3, waits, 20s), at(1, world, 4, tests, 15s),
                    at(2, world, 3, left(within(collective::barrier, 2)), 30s),
                    at(3, world, 3, left(within(collective::barrier, 2)), 30s)};
    all[3].seen.channels[0].starts[2] = 6;
    EXPECT_EQ(
        text_of(all),
        "persistent bcast of 8 B with root 0 at loop, start 6 on all 4 ranks, has waited for 20.0 s\n"
        "rank 2 has not come: left barrier at loop 30.0 s ago, computing or in a call that is no collective\n"
        "rank 1 has not come: testing for ibarrier at loop, call 4 there, for 15.0 s\n"
        "rank 3 has been there and gone on\n"
        "ibarrier at loop, call 4 on all 4 ranks, has waited for 15.0 s\n"
        "ranks 2-3 have not come: left barrier at loop 30.0 s ago, computing or in a call that is no "
        "collective\n"
        "rank 0 has not come: waiting for persistent bcast of 8 B with root 0 at loop, start 6 there, for 20.0 s\n");
}

TEST(held_up, many_ranks_are_named_briefly) {
    std::vector<std::int32_t> even;
    for (std::int32_t r = 0; r < 100; r += 2) even.push_back(r);
    EXPECT_EQ(ranks_text(even), "ranks 0, 2, 4, 6, 8, 10, 12, 14 and 42 more");
    EXPECT_EQ(ranks_text(std::array{3, 4, 5, 9}), "ranks 3-5, 9");
    EXPECT_EQ(ranks_text(std::array{7}), "rank 7");
}

/// A recorder's file, looked at from outside while the process goes on.
TEST(held_up, whereabouts_are_seen_from_outside) {
    const std::filesystem::path file =
        std::filesystem::path(testing::TempDir()) / fmt::format("rubato-watched-{}", getpid());
    const process who{0, 1, "solver", "here", "an MPI"};
    recorder r(file, who, {.watched = true, .run = 7});
    const std::filesystem::path seen = part_of(file, 0);
    recorder::channel& c = r.open(std::array{0});
    EXPECT_TRUE(glimpse_of(seen, 7).turns.empty());
    whereabouts* const mine = r.add_thread();
    ASSERT_NE(mine, nullptr);
    const visit v{.what = collective::reduce,
                  .root = 0,
                  .channel = c.number(),
                  .invocation = c.calls(),
                  .site = reinterpret_cast<const void*>(&ranks_text),
                  .count = 3,
                  .type = 77};
    mine->enter(v, 5s);
    r.explain_threads([](std::uint64_t type) { return type == 77 ? 8 : 0; });
    EXPECT_EQ(glimpse_of(seen, 7).beats, 0U);
    r.beat();
    EXPECT_EQ(glimpse_of(seen, 7).beats, 1U);
    const std::vector<turn_within> turns = glimpse_of(seen, 7).turns;
    ASSERT_EQ(turns.size(), 1U);
    EXPECT_NE(turns[0].turn, 0U);
    EXPECT_FALSE(turns[0].polls);
    auto p = look_at(seen, 7);
    ASSERT_TRUE(p);
    ASSERT_EQ(p->threads.size(), 1U);
    EXPECT_TRUE(p->threads[0].inside);
    EXPECT_EQ(p->threads[0].since, 5s);
    EXPECT_EQ(p->threads[0].bytes, 24);
    ASSERT_TRUE(p->threads[0].from);
    EXPECT_NE(p->threads[0].from->module, "");
    mine->leave(6s);
    EXPECT_EQ(glimpse_of(seen, 7).turns, std::vector<turn_within>(1));
    p = look_at(seen, 7);
    ASSERT_TRUE(p);
    EXPECT_FALSE(p->threads[0].inside);
    visit tested = v;
    tested.in = waiting::tests_of;
    mine->poll(tested, 7s);
    const turn_within first = glimpse_of(seen, 7).turns.at(0);
    mine->poll(tested, 8s);
    const turn_within second = glimpse_of(seen, 7).turns.at(0);
    EXPECT_EQ(first.turn, second.turn) << "it is still there";
    EXPECT_NE(first.polls, second.polls) << "and tests";
    EXPECT_EQ(look_at(seen, 7)->threads.at(0).since, 7s);
    ++tested.invocation;
    mine->poll(tested, 9s);
    EXPECT_NE(glimpse_of(seen, 7).turns.at(0).turn, second.turn) << "another call";
    watched_request* const request = r.add_request(c.number(), 4);
    ASSERT_NE(request, nullptr);
    request->start();
    EXPECT_EQ(look_at(seen, 7)->channels.at(0).starts, (std::map<std::uint32_t, std::uint64_t>{{4, 1}}));
    r.remove_request(*request);
    EXPECT_TRUE(look_at(seen, 7)->channels.at(0).starts.empty());
    EXPECT_FALSE(tells_to_end(seen, 7));
    r.tell_to_end();
    EXPECT_TRUE(tells_to_end(seen, 7));
    // To another run it is what an earlier one has left.
    EXPECT_FALSE(look_at(seen, 8));
    EXPECT_EQ(glimpse_of(seen, 8).beats, 0U);
    EXPECT_TRUE(glimpse_of(seen, 8).turns.empty());
    EXPECT_FALSE(tells_to_end(seen, 8));
    for (std::size_t i = 1; i < most_threads; ++i) EXPECT_NE(r.add_thread(), nullptr);
    EXPECT_EQ(r.add_thread(), nullptr) << "there are too many";
    EXPECT_TRUE(is_being_written(seen)) << "though this process has read it";
    r.finish();
}

}  // namespace
}  // namespace rubato::dropin
