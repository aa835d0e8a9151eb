#include "rubato/builder.hpp"

#include <gtest/gtest.h>

namespace rubato::schedules {
namespace {

problem some_problem(collective what = collective::allreduce, std::int32_t ranks = 4) {
    problem p;
    p.what = what;
    p.ranks = ranks;
    return p;
}

std::vector<std::uint32_t> waits(const schedule& s, std::size_t i) {
    const auto d = s.dependencies_of(i);
    return {d.begin(), d.end()};
}

using list = std::vector<std::uint32_t>;

TEST(builder, a_reader_waits_for_the_last_writer) {
    builder b(some_problem(), rank(0), 1);
    const slice s = b.scratch_chunks();
    b.recv(rank(1), s);
    b.send(rank(2), s);
    b.send(rank(3), s);
    const schedule r = std::move(b).finish();
    EXPECT_EQ(waits(r, 0), list{});
    EXPECT_EQ(waits(r, 1), list{0});
    EXPECT_EQ(waits(r, 2), list{0});
}

TEST(builder, a_writer_waits_for_all_readers_since_the_last_write) {
    builder b(some_problem(), rank(0), 1);
    const slice s = b.scratch_chunks();
    b.recv(rank(1), s);
    b.send(rank(2), s);
    b.send(rank(3), s);
    b.recv(rank(1), s);
    b.recv(rank(1), s);
    const schedule r = std::move(b).finish();
    EXPECT_EQ(waits(r, 3), (list{1, 2})) << "that the first write has ended follows";
    EXPECT_EQ(waits(r, 4), list{3}) << "write after write";
}

TEST(builder, a_combination_reads_and_writes_its_target) {
    builder b(some_problem(), rank(0), 1);
    const slice s = b.scratch_chunks();
    b.recv(rank(1), s);
    b.send(rank(2), s);
    b.combine(b.input(), s);
    b.send(rank(3), s);
    const schedule r = std::move(b).finish();
    EXPECT_EQ(waits(r, 2), (list{0, 1}));
    EXPECT_EQ(waits(r, 3), list{2});
}

TEST(builder, combining_a_block_with_itself_does_not_wait_for_itself) {
    builder b(some_problem(), rank(0), 1);
    b.copy(b.input(), b.output());
    b.combine(b.output(), b.output());
    const schedule r = std::move(b).finish();
    EXPECT_EQ(waits(r, 1), list{0});
}

TEST(builder, blocks_are_told_apart) {
    builder b(some_problem(), rank(0), 4);
    const slice s = b.scratch_chunks();
    b.recv(rank(1), s.sub(0, 2));
    b.recv(rank(1), s.sub(2, 2));
    b.send(rank(2), s.sub(1));
    b.send(rank(2), s.sub(2));
    b.send(rank(2), s.sub(1, 2));
    const schedule r = std::move(b).finish();
    EXPECT_EQ(waits(r, 1), list{});
    EXPECT_EQ(waits(r, 2), list{0});
    EXPECT_EQ(waits(r, 3), list{1});
    EXPECT_EQ(waits(r, 4), (list{0, 1}));
}

TEST(builder, buffers_are_told_apart) {
    builder b(some_problem(), rank(0), 1);
    const slice s = b.scratch_chunks();
    b.recv(rank(1), s);
    b.recv(rank(1), b.output());
    b.send(rank(2), b.input());
    const schedule r = std::move(b).finish();
    EXPECT_EQ(waits(r, 1), list{});
    EXPECT_EQ(waits(r, 2), list{});
}

TEST(builder, empty_messages_wait_only_where_told) {
    builder b(some_problem(collective::barrier), rank(0), 1);
    const auto first = b.recv(rank(1), builder::nothing());
    b.send(rank(2), builder::nothing());
    b.send(rank(3), builder::nothing(), {first});
    const schedule r = std::move(b).finish();
    EXPECT_EQ(waits(r, 1), list{});
    EXPECT_EQ(waits(r, 2), list{0});
}

TEST(builder, a_fence_holds_back_what_follows_it) {
    builder b(some_problem(collective::barrier), rank(0), 1);
    b.send(rank(1), builder::nothing());
    b.recv(rank(1), builder::nothing());
    b.fence();
    b.fence();
    b.send(rank(2), builder::nothing());
    b.recv(rank(2), builder::nothing());
    b.fence();
    b.send(rank(3), builder::nothing());
    const schedule r = std::move(b).finish();
    EXPECT_EQ(waits(r, 2), (list{0, 1}));
    EXPECT_EQ(waits(r, 3), (list{0, 1}));
    EXPECT_EQ(waits(r, 4), (list{2, 3})) << "the first two follow";
}

TEST(builder, messages_are_numbered_by_peer_and_direction) {
    builder b(some_problem(), rank(0), 1);
    const slice s = b.scratch_chunks();
    b.send(rank(1), b.input());
    b.recv(rank(1), s);
    b.send(rank(2), b.input());
    b.send(rank(1), b.input());
    b.recv(rank(1), s);
    const schedule r = std::move(b).finish();
    const std::vector<std::uint32_t> expected{0, 0, 0, 1, 1};
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(r.steps[i].message, expected[i]) << i;
}

TEST(builder, a_copy_onto_itself_is_no_step) {
    builder b(some_problem(), rank(0), 2);
    b.copy(b.output(), b.output());
    EXPECT_TRUE(std::move(b).finish().steps.empty());
}

TEST(builder, slices_name_chunks_and_their_shapes) {
    builder b(some_problem(collective::alltoall), rank(0), 3);
    const slice in = b.input(2, 2);
    EXPECT_EQ(in.first, 6U);
    EXPECT_EQ(in.count, 6U);
    EXPECT_EQ(in.shape, 6U);
    const slice s = b.scratch_chunks(2, 1);
    EXPECT_EQ(s.first, 0U);
    EXPECT_EQ(s.shape, 3U);
    const slice part = s.sub(4, 2);
    EXPECT_EQ(part.first, 4U);
    EXPECT_EQ(part.shape, 7U);
    const slice reused = part.holding(1, 1);
    EXPECT_EQ(reused.first, 4U);
    EXPECT_EQ(reused.shape, 1U);
    EXPECT_EQ(std::move(b).finish().scratch, (std::vector<block>{3, 4, 5, 6, 7, 8}));
}

TEST(builder, only_steps_on_the_ranks_own_data_need_its_arrival) {
    builder b(some_problem(), rank(0), 1);
    const slice s = b.scratch_chunks();
    b.recv(rank(1), s);
    b.send(rank(2), s);
    b.combine(b.input(), s);
    b.recv(rank(3), b.output());
    b.send(rank(3), builder::nothing());
    const schedule r = std::move(b).finish();
    const std::vector<bool> expected{false, false, true, true, false};
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(r.steps[i].needs_arrival(), expected[i]) << i;
}

}  // namespace
}  // namespace rubato::schedules
