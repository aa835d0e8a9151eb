// Every registered algorithm that only moves data, and the barriers.
#include "rubato/algorithm.hpp"
#include "rubato/verify.hpp"
#include "support/extent.hpp"
#include "support/problems.hpp"
#include "support/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>
#include <tuple>

namespace rubato::schedules {
namespace {

std::vector<std::int32_t> rank_counts(std::int32_t upto) {
    std::vector<std::int32_t> counts(static_cast<std::size_t>(upto));
    std::iota(counts.begin(), counts.end(), 1);
    return counts;
}

class movement : public ::testing::TestWithParam<std::string_view> {
protected:
    const algorithm& tested() const { return find_algorithm(GetParam()); }
};
class movement_in_place : public movement {};
class movement_of_chunks : public movement {};
class broadcast : public movement {};

TEST_P(movement, is_right) {
    const algorithm& a = tested();
    std::vector<std::vector<std::int32_t>> radixes{{}};
    if (a.takes_radix) radixes = {{}, {2}, {3}, {5}, {40}};
    std::vector<std::uint32_t> segments{1};
    if (a.segmented) segments = {1, 2, 3, 8};
    std::vector<std::int32_t> counts = rank_counts(33);
    for (const std::int32_t ranks : some_or_all(std::vector{64, 65}, std::vector{63, 64, 65, 128}))
        counts.push_back(ranks);
    int problems = 0;
    for (const std::int32_t ranks : counts) {
        for (const std::int32_t root : roots(a, ranks)) {
            for (const auto& radix : radixes) {
                for (const std::uint32_t n : segments) {
                    problem p = problem_for(a, ranks, root);
                    p.radix = radix;
                    p.segments = n;
                    if (unmet_need(a, p)) continue;
                    ++problems;
                    const auto findings = verify(p, build_all(a, p));
                    ASSERT_TRUE(findings.empty()) << "ranks " << ranks << " root " << root << " radix " << p.radix_or(0)
                                                  << " segments " << n << ": " << findings.front();
                }
            }
        }
    }
    EXPECT_GT(problems, 0);
}

/// Where the rank may pass MPI_IN_PLACE: input block 0 is which output block?
std::optional<std::int64_t> in_place_shift(const problem& p, const schedule& s, std::int32_t me) {
    const std::int64_t own = std::int64_t{me} * s.parts;
    const bool at_root = me == p.root.value;
    switch (p.what) {
        case collective::gather:
        case collective::gatherv: return at_root ? std::optional(own) : std::nullopt;
        case collective::allgather:
        case collective::allgatherv: return own;
        case collective::scatter:
        case collective::scatterv: return at_root ? std::optional(-own) : std::nullopt;
        case collective::bcast: return 0;
        default: return std::nullopt;
    }
}

TEST_P(movement_in_place, is_safe) {
    const algorithm& a = tested();
    int looked_at = 0;
    for (const std::int32_t ranks : rank_counts(20)) {
        for (const std::int32_t root : roots(a, ranks)) {
            const problem p = problem_for(a, ranks, root);
            if (unmet_need(a, p)) continue;
            const auto all = build_all(a, p);
            for (std::int32_t me = 0; me < ranks; ++me) {
                const schedule& s = all[static_cast<std::size_t>(me)];
                const auto shift = in_place_shift(p, s, me);
                if (!shift) continue;
                ++looked_at;
                EXPECT_TRUE(safe_in_place(s, *shift)) << "ranks " << ranks << " root " << root << " rank " << me;
            }
        }
    }
    EXPECT_GT(looked_at, 0);
}

TEST_P(movement_of_chunks, is_one_by_one_where_their_sizes_differ) {
    const algorithm& a = tested();
    for (const schedule& s : build_all(a, problem_for(a, 9, 4)))
        for (const step& t : s.steps)
            EXPECT_TRUE(t.count == 0 || t.source / s.parts == (t.source + t.count - 1) / s.parts) << to_string(t);
}

/// A broadcast that sends a rank the same block twice, or the root anything, wastes bandwidth.
TEST_P(broadcast, gives_every_rank_a_block_once) {
    const algorithm& a = tested();
    for (const std::int32_t ranks : rank_counts(33)) {
        for (const std::int32_t root : roots(a, ranks)) {
            problem p = problem_for(a, ranks, root);
            p.segments = 3;
            const auto all = build_all(a, p);
            for (std::int32_t me = 0; me < ranks; ++me) {
                const schedule& s = all[static_cast<std::size_t>(me)];
                std::vector<int> received(s.parts);
                for (const step& t : s.steps)
                    for (block i = t.target; t.writes() && i < t.target + t.count; ++i) ++received[i];
                EXPECT_EQ(received, std::vector<int>(s.parts, me == root ? 0 : 1))
                    << "ranks " << ranks << " root " << root << " rank " << me;
            }
        }
    }
}

bool moves(const algorithm& a) { return !traits(a.what).reduces; }
bool moves_in_place(const algorithm& a) {
    const bool may = a.what != collective::alltoall && a.what != collective::alltoallv && a.what != collective::barrier;
    // Bruck's algorithm sends its own chunk from the output; begun early, it may copy it back before it is sent.
    return moves(a) && may && !traits(a.what).on_graph && a.id != "allgather/sorted_tree+early";
}
bool moves_uneven_chunks(const algorithm& a) { return moves(a) && traits(a.what).irregular; }
bool broadcasts_directly(const algorithm& a) { return a.what == collective::bcast && !a.early; }

INSTANTIATE_TEST_SUITE_P(all, movement, ::testing::ValuesIn(testing::ids_of(moves)), testing::name_of_id);
INSTANTIATE_TEST_SUITE_P(all, movement_in_place, ::testing::ValuesIn(testing::ids_of(moves_in_place)),
                         testing::name_of_id);
INSTANTIATE_TEST_SUITE_P(all, movement_of_chunks, ::testing::ValuesIn(testing::ids_of(moves_uneven_chunks)),
                         testing::name_of_id);
INSTANTIATE_TEST_SUITE_P(all, broadcast, ::testing::ValuesIn(testing::ids_of(broadcasts_directly)),
                         testing::name_of_id);

cost traffic_of(std::string_view id, std::int32_t ranks, std::vector<std::int32_t> radix = {},
                std::uint32_t segments = 1, std::int64_t chunk = 1) {
    const algorithm& a = find_algorithm(id);
    problem p = problem_for(a, ranks);
    p.radix = std::move(radix);
    p.segments = segments;
    return cost_of(a, p, chunk);
}

/// What each rank sends.
std::vector<std::int64_t> sent(const cost& c, std::int64_t rank_cost::*what) {
    std::vector<std::int64_t> all;
    for (const rank_cost& r : c.ranks) all.push_back(r.*what);
    return all;
}
std::int64_t most(const cost& c, std::int64_t rank_cost::*what) { return std::ranges::max(sent(c, what)); }

std::vector<std::int64_t> each(std::int32_t ranks, std::int64_t value) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(ranks), value);
}

TEST(movement_traffic, of_rooted_trees) {
    for (const std::int32_t ranks : {2, 8, 64}) {
        const int n = ceil_log2(ranks);
        for (const std::string_view id : {"bcast/binomial", "scatter/binomial", "gather/binomial"}) {
            const cost t = traffic_of(id, ranks);
            EXPECT_EQ(t.messages, ranks - 1) << id;
            EXPECT_EQ(t.rounds, n) << id;
            EXPECT_EQ(t.bytes, id == "bcast/binomial" ? ranks - 1 : ranks / 2 * n) << id;
        }
        EXPECT_EQ(traffic_of("bcast/binomial", ranks).ranks[0].messages, n);
        EXPECT_EQ(traffic_of("scatter/binomial", ranks).ranks[0].bytes, ranks - 1);
        for (const std::string_view id : {"bcast/linear", "scatter/linear", "scatterv/linear"}) {
            const cost t = traffic_of(id, ranks);
            EXPECT_EQ(t.ranks[0].messages, ranks - 1) << id;
            EXPECT_EQ(t.bytes, ranks - 1) << id;
            EXPECT_EQ(t.rounds, 1) << id;
        }
        EXPECT_EQ(traffic_of("gather/linear", ranks).rounds, 1);
        EXPECT_EQ(traffic_of("gather/linear", ranks).messages, ranks - 1);
        EXPECT_EQ(traffic_of("gather/linear_sync", ranks, {}, 1, 2).rounds, 2 * (ranks - 1));
        EXPECT_EQ(traffic_of("gather/linear_sync", ranks, {}, 1, 2).ranks[0].messages, ranks - 1);
        EXPECT_EQ(traffic_of("gather/linear_sync", ranks, {}, 1, 2).messages, 3 * (ranks - 1));
    }
    EXPECT_EQ(traffic_of("bcast/knomial", 64).rounds, 9);  // one child after the other
    EXPECT_EQ(traffic_of("bcast/knomial", 64).ranks[0].messages, 9);
    EXPECT_EQ(traffic_of("bcast/knomial", 81, {3}).rounds, 8);
    EXPECT_EQ(traffic_of("bcast/knomial", 81, {3}).ranks[0].messages, 8);
}

TEST(movement_traffic, of_pipelines) {
    for (const std::uint32_t segments : {1U, 4U}) {
        const cost binary = traffic_of("bcast/binary", 31, {}, segments, 12);
        EXPECT_EQ(binary.rounds, segments == 1 ? 8 : 4);  // whole vectors go to one child after the other
        EXPECT_EQ(most(binary, &rank_cost::messages), 2 * segments);
        const cost chain = traffic_of("bcast/chain", 31, {}, segments, 12);
        EXPECT_EQ(chain.rounds, 30);
        EXPECT_EQ(most(chain, &rank_cost::messages), segments);
        for (const std::int32_t ranks : {2, 3, 30, 31}) {
            const cost split = traffic_of("bcast/split_binary", ranks, {}, segments, 24);
            EXPECT_EQ(split.messages, (ranks - 1) * (std::int64_t{segments} + 1)) << ranks;
            EXPECT_EQ(split.bytes, (ranks - 1) * 24) << ranks;
            EXPECT_EQ(split.rounds, ranks == 2 ? 1 : floor_power_of_two(ranks) == 2 ? 2 : 5) << ranks;
        }
        EXPECT_EQ(most(traffic_of("bcast/split_binary", 31, {}, segments, 24), &rank_cost::bytes), 36);
    }
}

TEST(movement_traffic, of_broadcasts_in_two_phases) {
    for (const std::int32_t ranks : {2, 8, 64}) {
        const int n = ceil_log2(ranks);
        const cost doubling = traffic_of("bcast/scatter_allgather", ranks, {}, 1, ranks);
        EXPECT_EQ(doubling.bytes, (ranks - 1) * ranks);
        EXPECT_LE(doubling.rounds, 2 * n);
        const cost ring = traffic_of("bcast/scatter_ring", ranks, {}, 1, ranks);
        EXPECT_EQ(ring.bytes, (ranks - 1) * ranks);
        EXPECT_LE(ring.rounds, n + ranks - 1);
    }
}

TEST(movement_traffic, of_allgathers) {
    for (const std::int32_t ranks : {1, 2, 5, 8, 12, 64}) {
        const int n = ceil_log2(ranks);
        const auto expect = [ranks](std::string_view id, std::int64_t messages, std::int64_t rounds) {
            const cost t = traffic_of(id, ranks);
            EXPECT_EQ(sent(t, &rank_cost::messages), each(ranks, messages)) << id << " of " << ranks;
            EXPECT_EQ(sent(t, &rank_cost::bytes), each(ranks, ranks - 1)) << id << " of " << ranks;
            // Elsewhere Bruck's last round sends less than all it has, and need not wait for the rest.
            const bool exact = is_power_of_two(ranks) || id != "allgather/bruck";
            EXPECT_EQ(t.rounds, exact ? rounds : std::min(t.rounds, rounds)) << id << " of " << ranks;
        };
        expect("allgather/ring", ranks - 1, ranks - 1);
        expect("allgatherv/ring", ranks - 1, ranks - 1);
        expect("allgatherv/direct", ranks - 1, ranks > 1 ? 1 : 0);
        expect("allgather/bruck", n, n);
        if (is_power_of_two(ranks)) expect("allgather/recursive_doubling", n, n);
        if (ranks % 2 == 0) expect("allgather/neighbour_exchange", ranks / 2, ranks / 2);
    }
}

TEST(movement_traffic, of_alltoalls) {
    for (const std::int32_t ranks : {1, 2, 5, 8, 12, 64}) {
        const int n = ceil_log2(ranks);
        for (const std::string_view id :
             {"alltoall/direct", "alltoallv/direct", "alltoall/pairwise", "alltoallv/pairwise"}) {
            const cost t = traffic_of(id, ranks);
            EXPECT_EQ(sent(t, &rank_cost::messages), each(ranks, ranks - 1)) << id;
            EXPECT_EQ(sent(t, &rank_cost::bytes), each(ranks, ranks - 1)) << id;
            EXPECT_EQ(t.rounds, id.ends_with("pairwise") ? ranks - 1 : std::min(ranks - 1, 1)) << id;
        }
        const cost bruck = traffic_of("alltoall/bruck", ranks);
        EXPECT_EQ(sent(bruck, &rank_cost::messages), each(ranks, n));
        EXPECT_EQ(bruck.rounds, n);
        if (is_power_of_two(ranks)) {
            EXPECT_EQ(sent(bruck, &rank_cost::bytes), each(ranks, ranks / 2 * n));
        }
    }
}

TEST(movement_traffic, of_barriers) {
    for (const std::int32_t ranks : {1, 2, 5, 8, 12, 64}) {
        const int n = ceil_log2(ranks);
        const cost t = traffic_of("barrier/dissemination", ranks);
        EXPECT_EQ(sent(t, &rank_cost::messages), each(ranks, n));
        EXPECT_EQ(t.rounds, n);
        EXPECT_EQ(sent(traffic_of("barrier/n_way_dissemination", ranks, {1}), &rank_cost::messages), each(ranks, n));
        EXPECT_EQ(traffic_of("barrier/tree", ranks).messages, 2 * (ranks - 1));
        if (is_power_of_two(ranks)) {
            EXPECT_EQ(traffic_of("barrier/tree", ranks).rounds, 2 * n);
        }
    }
    // ranks = (ways + 1)^rounds
    for (const auto& [ways, ranks, rounds] : {std::tuple{2, 9, 2}, {2, 27, 3}, {3, 16, 2}, {3, 64, 3}, {7, 8, 1}}) {
        const cost t = traffic_of("barrier/n_way_dissemination", ranks, {ways});
        EXPECT_EQ(sent(t, &rank_cost::messages), each(ranks, ways * rounds));
        EXPECT_EQ(t.rounds, rounds);
    }
    // With 16 ranks the third round of 2 ways has one peer: the other would be 18 ranks away.
    EXPECT_EQ(sent(traffic_of("barrier/n_way_dissemination", 16), &rank_cost::messages), each(16, 5));
    EXPECT_EQ(traffic_of("barrier/n_way_dissemination", 16).rounds, 3);
}

TEST(movement_order, linear_sync_sends_nothing_unasked) {
    const algorithm& a = find_algorithm("gather/linear_sync");
    const schedule leaf = build_one(a, problem_for(a, 3), rank(2));
    ASSERT_EQ(leaf.steps.size(), 3U);
    ASSERT_EQ(leaf.steps[0].kind, step_kind::recv);
    for (const std::size_t sent : {1U, 2U}) {
        ASSERT_EQ(leaf.dependencies_of(sent).size(), 1U);
        EXPECT_EQ(leaf.dependencies_of(sent)[0], 0U);
    }
}

TEST(movement_rounds, of_a_chain_are_ranks_and_segments) {
    const algorithm& a = find_algorithm("bcast/chain");
    for (const std::int32_t ranks : {2, 3, 8, 13}) {
        for (const std::uint32_t segments : {1U, 2U, 5U, 16U}) {
            problem p = problem_for(a, ranks, ranks / 2);
            p.segments = segments;
            EXPECT_EQ(lock_step_rounds(build_all(a, p)), ranks - 2 + std::int64_t{segments}) << ranks << " ranks";
        }
    }
}

/// The bandwidth term of algorithms that are chosen for it, for every root: nobody is left with a tail of the tree.
TEST(movement_bandwidth, does_not_depend_on_the_root) {
    const hockney bandwidth{0, 1, 0};
    for (const std::int32_t ranks : {9, 12, 33}) {
        const std::int64_t chunk = 840;
        const std::int64_t vector = chunk * ranks;
        for (std::int32_t root = 0; root < ranks; ++root) {
            const auto time = [&](std::string_view id, std::int64_t units) {
                const algorithm& a = find_algorithm(id);
                return hockney_time(build_all(a, problem_for(a, ranks, root)), bandwidth, units);
            };
            SCOPED_TRACE(::testing::Message() << ranks << " ranks, root " << root);
            EXPECT_EQ(time("scatter/binomial", chunk), (ranks - 1) * chunk);
            EXPECT_EQ(time("gather/binomial", chunk), (ranks - 1) * chunk);
            EXPECT_EQ(time("reduce/ring", vector), 2 * (ranks - 1) * chunk);
            EXPECT_LE(time("bcast/scatter_ring", vector), 2 * (ranks - 1) * chunk);
            EXPECT_LE(time("bcast/scatter_allgather", vector), 2 * (ranks - 1) * chunk);
        }
    }
}

TEST(movement_input, may_have_any_radix) {
    for (const std::string_view id : {"bcast/binary", "bcast/knomial", "barrier/n_way_dissemination"}) {
        problem p = problem_for(find_algorithm(id), 6);
        p.radix = {std::numeric_limits<std::int32_t>::max()};
        EXPECT_TRUE(verify(p, build_all(find_algorithm(id), p)).empty()) << id;
    }
}

}  // namespace
}  // namespace rubato::schedules
