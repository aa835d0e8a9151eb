// Collectives that are made for late ranks: they end when their files say, and are right whoever is late.
#include "rubato/algorithm.hpp"
#include "rubato/verify.hpp"
#include "support/extent.hpp"
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>
#include <random>

namespace rubato::schedules {
namespace {

using namespace std::chrono_literals;

constexpr std::int64_t bytes = 512 << 10;

/// When the last rank leaves, of a vector of half a MiB on links of 160 ns per byte, if combining one takes that long.
time_ns end_of(std::string_view id, const problem& p, bool early = false, int combining = 0) {
    problem q = p;
    const algorithm& a = find_algorithm(id);
    q.what = a.what;
    if (!a.segmented) q.segments = 1;
    const bool wide = traits(a.what).chunked();
    const std::int64_t chunk = wide ? bytes / p.ranks : bytes;
    q.round_time = time_ns(20'000 + chunk / q.segments * (160 + combining));
    const std::vector<layout> sizes{layout::uniform(chunk)};
    const model m{hockney{20'000, 160, static_cast<double>(combining)}};
    const simulation s = simulate(m, build_all(a, q), sizes, p.arrivals, {false, early});
    return std::ranges::max(s.exits);
}

problem with_late(std::int32_t ranks, const std::vector<std::int32_t>& late, time_ns delay,
                  std::uint32_t segments = 128) {
    problem p;
    p.ranks = ranks;
    p.segments = segments;
    p.arrivals.resize(static_cast<std::size_t>(ranks));
    for (const std::int32_t r : late) p.arrivals[static_cast<std::size_t>(r)] = delay;
    p.round_time = time_ns(20'000 + bytes / segments * 160);
    return p;
}

const time_ns vector_time(bytes * 160);

TEST(allreduce_clairvoyant, ends_little_more_than_a_vector_after_one_late_rank) {
    for (const std::int32_t late : {0, 7, 15}) {
        const problem p = with_late(16, {late}, 400ms);
        EXPECT_LT(end_of("allreduce/clairvoyant", p) - 400ms, vector_time * 5 / 4) << late;
        EXPECT_GT(end_of("allreduce/ring", p) - 400ms, vector_time * 3 / 2) << late;
    }
}

/// Nobody arrives quite as predicted, nor all at once.
TEST(allreduce_clairvoyant, does_not_mind_that_the_others_do_not_come_at_once) {
    problem p = with_late(16, {15}, 400ms);
    for (std::int32_t r = 0; r < 15; ++r) p.arrivals[static_cast<std::size_t>(r)] = (r * 7 % 15) * 40us;
    EXPECT_LT(end_of("allreduce/clairvoyant", p) - 400ms, vector_time * 5 / 4);
    p.arrivals[3] = 150ms;  // late, but long there when the last one comes
    p.arrivals[8] = 250ms;
    EXPECT_LT(end_of("allreduce/clairvoyant", p) - 400ms, vector_time * 5 / 4);
}

TEST(allreduce_clairvoyant, is_the_ring_if_nobody_is_late) {
    const problem p = with_late(16, {}, 0ns);
    EXPECT_LE(end_of("allreduce/clairvoyant", p), end_of("allreduce/ring", p) * 21 / 20);
    // A little late: nobody could have done anything.
    const problem soon = with_late(16, {4}, 1ms);
    EXPECT_LE(end_of("allreduce/clairvoyant", soon), end_of("allreduce/ring", soon) * 21 / 20);
}

TEST(allreduce_clairvoyant, is_no_other_algorithm_with_one_segment) {
    problem p = with_late(16, {}, 0ns, 1);
    p.what = collective::allreduce;
    const auto all = [](std::string_view id, const problem& q) { return build_all(find_algorithm(id), q); };
    EXPECT_EQ(all("allreduce/clairvoyant", p), all("allreduce/rabenseifner", p));  // too few segments for a ring of 16
    p = with_late(16, {5}, 400ms, 1);
    p.what = collective::allreduce;
    // The last one hands in its vector and gets the total.
    EXPECT_EQ(all("allreduce/clairvoyant_tree", p)[5].steps.size(), 2U);
}

TEST(allreduce_straggler, takes_log2_messages_after_the_last) {
    problem p = with_late(16, {5}, 400ms, 1);
    const std::vector<layout> sizes{layout::uniform(8)};
    p.what = collective::allreduce;
    p.round_time = 20us;
    const simulation s =
        simulate({hockney{20'000, 0, 0}}, build_all(find_algorithm("allreduce/straggler"), p), sizes, p.arrivals);
    EXPECT_EQ(std::ranges::max(s.exits), 400ms + 4 * 20us);
}

TEST(barrier_sorted_tree, takes_log2_messages_after_the_last) {
    for (const std::int32_t ranks : {2, 3, 16, 17}) {
        problem p = with_late(ranks, {ranks / 2}, 400ms, 1);
        p.what = collective::barrier;
        p.round_time = 20us;
        const std::vector<layout> sizes{layout::uniform(0)};
        const simulation s =
            simulate({hockney{20'000, 0, 0}}, build_all(find_algorithm("barrier/sorted_tree"), p), sizes, p.arrivals);
        EXPECT_EQ(std::ranges::max(s.exits), 400ms + ceil_log2(ranks) * 20us) << ranks;
    }
}

TEST(sorted_bcast, waits_behind_nobody) {
    problem p = with_late(16, {1, 2, 3, 4}, 400ms, 64);
    p.round_time = {};
    // The late ones come last in the line: everybody who is there has it when they come.
    EXPECT_LT(end_of("bcast/sorted_chain", p), 400ms + vector_time * 5 / 4);
    EXPECT_LE(end_of("bcast/sorted_chain+early", p, true), 400ms + 1us);
    EXPECT_GT(end_of("bcast/chain", p), 400ms + vector_time);
}

TEST(sorted_ring, ends_a_chunk_after_one_late_rank) {
    for (const std::int32_t late : {0, 3, 15}) {
        const problem p = with_late(16, {late}, 400ms, 16);
        EXPECT_LT(end_of("allgather/sorted_ring+early", p, true) - 400ms, vector_time / 6) << late;
        EXPECT_GT(end_of("allgather/ring", p) - 400ms, vector_time * 3 / 4) << late;
    }
}

/// Without an early start the late one lacks all other chunks, and in a ring nobody waits longer.
TEST(sorted_ring, is_never_behind_the_ring) {
    std::mt19937 random(5);
    for (const int spread : {0, 1, 30, 100, 400}) {
        problem p = with_late(16, {}, 0ns, 1);
        for (time_ns& t : p.arrivals) t = static_cast<int>(random() % 1000) * spread * 1us;
        EXPECT_LE(end_of("allgather/sorted_ring", p), end_of("allgather/ring", p) * 101 / 100) << spread;
        EXPECT_LE(end_of("alltoall/sorted_pairwise", p), end_of("alltoall/pairwise", p) * 101 / 100) << spread;
        EXPECT_LE(end_of("reduce_scatter_block/clairvoyant", p), end_of("reduce_scatter_block/ring", p) * 101 / 100)
            << spread;
    }
}

TEST(sorted_ring, begun_early_is_never_behind_the_ring) {
    std::mt19937 random(6);
    for (const int spread : {0, 1, 30, 100, 200, 400}) {
        problem p = with_late(16, {}, 0ns, 16);
        for (time_ns& t : p.arrivals) t = static_cast<int>(random() % 1000) * spread * 1us;
        EXPECT_LE(end_of("allgather/sorted_ring+early", p, true), end_of("allgather/ring+early", p, true) * 101 / 100)
            << spread;
    }
    EXPECT_LT(end_of("allgather/sorted_ring+early", with_late(16, {1, 2, 3}, 400ms, 16), true) - 400ms,
              vector_time / 2);
}

TEST(sorted_ring, refuses_more_segments_than_can_be_counted) {
    problem p;
    p.what = collective::allgather;
    p.ranks = 1 << 16;
    p.segments = 1U << 16;
    for (const char* id : {"allgather/sorted_ring", "allgather/sorted_ring+early"})
        EXPECT_THROW((void)build_one(find_algorithm(id), p, rank(1)), error) << id;
}

TEST(sorted_ring, works_in_place) {
    for (const std::int32_t late : {0, 2, 6}) {
        problem p = with_late(7, {late}, 400ms, 3);
        p.what = collective::allgather;
        const std::vector<schedule> all = build_all(find_algorithm("allgather/sorted_ring"), p);
        for (std::size_t r = 0; r < all.size(); ++r) EXPECT_TRUE(safe_in_place(all[r], static_cast<int>(3 * r))) << r;
    }
}

TEST(sorted_tree, is_never_behind_bruck) {
    for (const time_ns delay : {0ns, 1000000ns, 50000000ns, 100000000ns, 400000000ns}) {
        const problem p = with_late(16, {5}, delay, 1);
        EXPECT_LE(end_of("allgather/sorted_tree", p), end_of("allgather/bruck", p)) << delay.count();
    }
}

TEST(sorted_tree, takes_log2_messages_after_the_last) {
    for (const std::int32_t ranks : {2, 3, 16, 17}) {
        problem p = with_late(ranks, {ranks / 2}, 400ms, 1);
        p.what = collective::allgather;
        p.round_time = 20us;
        const algorithm& early = find_algorithm("allgather/sorted_tree+early");
        const std::vector<layout> sizes{layout::uniform(8)};
        const simulation s = simulate({hockney{20'000, 0, 0}}, build_all(early, p), sizes, p.arrivals, {false, true});
        EXPECT_EQ(std::ranges::max(s.exits), 400ms + ceil_log2(ranks) * 20us) << ranks;
    }
}

TEST(sorted_pairwise, ends_with_what_the_late_rank_has_to_send) {
    const problem p = with_late(16, {3}, 400ms);
    EXPECT_LT(end_of("alltoall/sorted_pairwise", p) - 400ms, vector_time);
    EXPECT_LT(end_of("alltoallv/sorted_pairwise", p) - 400ms, vector_time);
}

TEST(reduce_scatter_clairvoyant, ends_with_what_the_late_rank_has_to_send) {
    for (const auto& late : {std::vector{3}, {0, 7, 15}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}}) {
        const problem p = with_late(16, late, 400ms);
        EXPECT_LT(end_of("reduce_scatter_block/clairvoyant", p) - 400ms, vector_time) << late.size();
        EXPECT_LT(end_of("reduce_scatter/clairvoyant", p) - 400ms, vector_time) << late.size();
    }
}

/// Few messages, and never behind those who know of nobody.
TEST(straggler, is_never_behind_the_algorithm_for_ranks_that_come_together) {
    for (const std::int32_t ranks : {16, 23})
        for (const time_ns delay : {0ns, 1000000ns, 50000000ns, 170000000ns, 250000000ns, 400000000ns, 1000000000ns}) {
            const problem p = with_late(ranks, {5}, delay);
            EXPECT_LE(end_of("alltoall/straggler", p), end_of("alltoall/bruck", p)) << delay.count();
            EXPECT_LE(end_of("reduce_scatter_block/straggler", p, false, 160),
                      end_of("reduce_scatter_block/halving", p, false, 160))
                << delay.count();
        }
}

TEST(straggler, has_its_chunks_go_down_a_tree) {
    const problem p = with_late(16, {5}, 1s);
    EXPECT_LT(end_of("alltoall/straggler", p) - 1s, vector_time);
    EXPECT_GT(end_of("alltoall/bruck", p) - 1s, vector_time * 3 / 2);
    EXPECT_LT(end_of("reduce_scatter_block/straggler", p, false, 160) - 1s, vector_time * 5 / 4);
    EXPECT_GT(end_of("reduce_scatter_block/halving", p, false, 160) - 1s, vector_time * 3 / 2);
}

TEST(sorted_two_tree, passes_a_vector_to_many_ranks_after_the_last_came) {
    for (const auto& late : {std::vector{48}, {64}, {1, 32, 33, 63, 64, 65, 96, 127}}) {
        const problem p = with_late(128, late, 400ms, 64);
        EXPECT_LT(end_of("bcast/sorted_two_tree", p) - 400ms, vector_time * 6 / 5) << late.size();
        EXPECT_LE(end_of("bcast/sorted_two_tree+early", p, true), 400ms + 1us) << late.size();
    }
    const problem p = with_late(128, {}, 0ns, 64);
    EXPECT_EQ(end_of("bcast/sorted_two_tree", p), end_of("bcast/two_tree", p));
    EXPECT_GT(end_of("bcast/sorted_chain", p), end_of("bcast/sorted_two_tree", p) * 3 / 2);
}

TEST(allreduce_clairvoyant, does_not_plan_without_end) {
    problem p;
    p.what = collective::allreduce;
    p.ranks = 65;
    p.segments = 4096;
    p.round_time = 1ns;
    for (std::int32_t r = 0; r < p.ranks; ++r) p.arrivals.emplace_back(r * 1ms);
    const algorithm& a = find_algorithm("allreduce/clairvoyant");
    const schedule late = build_one(a, p, rank(0));
    p.arrivals.clear();
    EXPECT_TRUE(late == build_one(a, p, rank(0)));
}

TEST(scan_clairvoyant, ends_a_tree_after_the_late_rank) {
    problem p = with_late(16, {8}, 800ms, 1);
    p.what = collective::scan;
    EXPECT_LT(end_of("scan/clairvoyant", p) - 800ms, vector_time * 31 / 10);  // to 7 ranks after it
}

/// What each rank ends with, if the operator tells its operands apart as rounding does: those who combine the same in
/// another order get something else.
std::vector<std::vector<std::uint64_t>> results_of(const std::vector<schedule>& all) {
    using block_values = std::vector<std::uint64_t>;
    std::vector<std::array<block_values, 3>> has(all.size());
    std::vector<std::size_t> done(all.size());
    std::map<std::pair<std::size_t, std::int32_t>, std::deque<block_values>> sent;
    const auto run = [&](std::size_t r) {
        const schedule& s = all[r];
        const auto at = [&](buffer b, block i) -> auto& { return has[r][static_cast<std::size_t>(b)][i]; };
        for (; done[r] < s.steps.size(); ++done[r]) {
            const step& t = s.steps[done[r]];
            block_values moved;
            if (t.kind == step_kind::recv) {
                auto& waiting = sent[{static_cast<std::size_t>(t.peer), static_cast<std::int32_t>(r)}];
                if (waiting.empty()) return;
                moved = waiting.front();
                waiting.pop_front();
            }
            for (block i = 0; i < t.count && t.kind != step_kind::recv; ++i) moved.push_back(at(t.from, t.source + i));
            if (t.kind == step_kind::send) sent[{r, t.peer}].push_back(moved);
            for (block i = 0; i < t.count && t.kind != step_kind::send; ++i) {
                std::uint64_t& into = at(t.to, t.target + i);
                into = t.kind == step_kind::combine ? (moved[i] * 31 + into) * 0x9e3779b97f4a7c15U : moved[i];
            }
        }
    };
    for (std::size_t r = 0; r < all.size(); ++r) {
        has[r] = {block_values(all[r].parts, r + 1), block_values(all[r].parts), block_values(all[r].scratch.size())};
    }
    for (std::size_t rounds = 0; rounds < 1000; ++rounds)
        for (std::size_t r = 0; r < all.size(); ++r) run(r);
    std::vector<block_values> results;
    for (std::size_t r = 0; r < all.size(); ++r) {
        EXPECT_EQ(done[r], all[r].steps.size()) << r;
        results.push_back(has[r][static_cast<std::size_t>(buffer::output)]);
    }
    return results;
}

TEST(allreduce, gives_all_ranks_the_same_bits) {
    for (const algorithm& a : algorithms()) {
        if (a.what != collective::allreduce || a.has(need::idempotent_or_power)) continue;
        for (const std::int32_t ranks : {2, 3, 6, 9})
            for (const std::uint32_t segments : {1U, 5U, 40U})
                for (const auto& late : {std::vector{0}, {1}, {0, 1}, {ranks - 1}}) {
                    problem p = with_late(ranks, late, 400s, segments);
                    p.what = a.what;
                    if (a.host_aware) p.hosts = parse_hosts("cyclic:2", ranks);
                    const auto results = results_of(build_all(a, p));
                    for (std::size_t r = 1; r < results.size(); ++r)
                        ASSERT_EQ(results[r], results[0]) << a.id << ", " << ranks << " ranks, " << segments
                                                          << " segments, late " << late.front() << ", rank " << r;
                }
    }
}

TEST(collectives_for_late_ranks, are_planned_for_one_as_for_all) {
    for (const algorithm& a : algorithms()) {
        if (a.build_some == nullptr) continue;
        problem p = with_late(9, {4}, 400ms, 12);
        p.what = a.what;
        const std::vector<schedule> all = build_all(a, p);
        for (std::size_t r = 0; r < all.size(); ++r)
            EXPECT_TRUE(build_one(a, p, rank(static_cast<std::int32_t>(r))) == all[r]) << a.id << ", rank " << r;
    }
}

TEST(collectives_for_late_ranks, can_have_rounds_as_long_as_there_are) {
    for (const char* id : {"barrier/sorted_tree", "scan/clairvoyant", "allreduce/clairvoyant", "allreduce/straggler",
                           "alltoall/straggler", "reduce_scatter_block/straggler"}) {
        const algorithm& a = find_algorithm(id);
        problem p = with_late(17, {3}, longest_time, 1);
        p.what = a.what;
        p.round_time = longest_time;
        const std::vector<schedule> late = build_all(a, p);
        p.arrivals.clear();
        EXPECT_TRUE(late == build_all(a, p)) << id << ": who is late by one round is waited for";
    }
}

TEST(collectives_for_late_ranks, are_right_whoever_is_late_and_however_long) {
    std::mt19937 random(11);
    for (const algorithm& a : algorithms()) {
        if (!a.arrival_aware || !a.uses_round_time() || a.dynamic != nullptr || a.what == collective::reduce) continue;
        for (std::int32_t ranks = 1; ranks <= 33; ranks += some_or_all(1 + ranks / 5, 1)) {
            for (const int scale : {1, 10, 1000}) {
                problem p = problem_for(a, ranks);
                p.segments = a.segmented ? 1 + static_cast<std::uint32_t>(random() % 70) : 1;
                p.round_time = 10ns;
                for (std::int32_t r = 0; r < ranks; ++r) {
                    const bool late = random() % 4 == 0;
                    p.arrivals.emplace_back(static_cast<int>(late ? random() % 100 : random() % 10) *
                                            (late ? scale : 1));
                }
                const auto findings = verify(p, build_all(a, p), false, a.same_bits);
                ASSERT_TRUE(findings.empty()) << a.id << ", " << ranks << " ranks: " << findings.front();
            }
        }
    }
}

}  // namespace
}  // namespace rubato::schedules
