// Every registered algorithm that only moves data, and the barriers.
#include "rubato/layout.hpp"
#include "rubato/verify.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <tuple>

namespace rubato {
namespace {

problem problem_for(const algorithm& a, std::int32_t ranks, std::int32_t root = 0) {
    problem p;
    p.what = a.what;
    p.ranks = ranks;
    p.root = rank(root);
    return p;
}

std::vector<std::int32_t> roots(const algorithm& a, std::int32_t ranks) {
    if (!traits(a.what).rooted) return {0};
    if (ranks > 12) return {0, ranks / 3, ranks - 1};
    std::vector<std::int32_t> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

std::vector<std::int32_t> rank_counts(std::int32_t upto) {
    std::vector<std::int32_t> counts(static_cast<std::size_t>(upto));
    std::iota(counts.begin(), counts.end(), 1);
    return counts;
}

class movement : public testing::TestWithParam<std::string_view> {
protected:
    const algorithm& tested() const { return find_algorithm(GetParam()); }
};

TEST_P(movement, is_right) {
    const algorithm& a = tested();
    std::vector<std::vector<std::int32_t>> radixes{{}};
    if (a.takes_radix) radixes = {{}, {2}, {3}, {5}, {40}};
    std::vector<std::uint32_t> segments{1};
    if (a.segmented) segments = {1, 2, 3, 8};
    std::vector<std::int32_t> counts = rank_counts(33);
    for (const std::int32_t ranks : {63, 64, 65, 128}) counts.push_back(ranks);
    for (const std::int32_t ranks : counts) {
        for (const std::int32_t root : roots(a, ranks)) {
            for (const auto& radix : radixes) {
                for (const std::uint32_t n : segments) {
                    problem p = problem_for(a, ranks, root);
                    p.radix = radix;
                    p.segments = n;
                    if (unmet_need(a, p)) continue;
                    const auto findings = verify(p, build_all(a, p));
                    ASSERT_TRUE(findings.empty()) << "ranks " << ranks << " root " << root << " radix " << p.radix_or(0)
                                                  << " segments " << n << ": " << findings.front();
                }
            }
        }
    }
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

TEST_P(movement, works_in_place) {
    const algorithm& a = tested();
    for (const std::int32_t ranks : rank_counts(20)) {
        for (const std::int32_t root : roots(a, ranks)) {
            const problem p = problem_for(a, ranks, root);
            if (unmet_need(a, p)) continue;
            const auto all = build_all(a, p);
            for (std::int32_t me = 0; me < ranks; ++me) {
                const schedule& s = all[static_cast<std::size_t>(me)];
                const auto shift = in_place_shift(p, s, me);
                EXPECT_TRUE(!shift || safe_in_place(s, *shift))
                    << "ranks " << ranks << " root " << root << " rank " << me;
            }
        }
    }
}

TEST_P(movement, moves_single_chunks_where_their_sizes_differ) {
    const algorithm& a = tested();
    if (!traits(a.what).irregular) return;
    for (const schedule& s : build_all(a, problem_for(a, 9, 4)))
        for (const step& t : s.steps) EXPECT_EQ(t.source / s.parts, (t.source + t.count - 1) / s.parts) << to_string(t);
}

/// A broadcast that sends a rank the same block twice, or the root anything, wastes bandwidth.
TEST_P(movement, gives_every_rank_a_broadcast_block_once) {
    const algorithm& a = tested();
    if (a.what != collective::bcast) return;
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

std::vector<std::string_view> moving() {
    std::vector<std::string_view> ids;
    for (const algorithm& a : algorithms())
        if (!traits(a.what).reduces) ids.push_back(a.id);
    return ids;
}

INSTANTIATE_TEST_SUITE_P(all, movement, testing::ValuesIn(moving()), [](const auto& instance) {
    std::string name(instance.param);
    std::ranges::replace(name, '/', '_');
    return name;
});

/// What schedules cost, a chunk being one unit.
struct traffic {
    std::vector<std::int64_t> messages{};  // sent by each rank
    std::vector<std::int64_t> units{};     // sent by each rank
    std::int64_t rounds = 0;               // messages that wait for each other

    std::int64_t all_messages() const { return std::accumulate(messages.begin(), messages.end(), std::int64_t{0}); }
    std::int64_t most_messages() const { return *std::ranges::max_element(messages); }
    std::int64_t most_units() const { return *std::ranges::max_element(units); }
    std::int64_t all_units() const { return std::accumulate(units.begin(), units.end(), std::int64_t{0}); }
};

/// The number of messages on the longest chain that ends in each step, rank by rank as far as it is known.
std::int64_t count_rounds(std::span<const schedule> all) {
    std::map<std::tuple<std::int32_t, std::int32_t, std::uint32_t>, std::int64_t> sent;
    std::vector<std::vector<std::int64_t>> level(all.size());
    std::int64_t most = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (std::size_t r = 0; r < all.size(); ++r) {
            const auto me = static_cast<std::int32_t>(r);
            for (std::size_t i = level[r].size(); i < all[r].steps.size(); ++i, moved = true) {
                const step& t = all[r].steps[i];
                std::int64_t here = 0;
                for (const std::uint32_t d : all[r].dependencies_of(i)) here = std::max(here, level[r][d]);
                if (t.kind == step_kind::recv) {
                    const auto match = sent.find({t.peer, me, t.message});
                    if (match == sent.end()) break;
                    here = std::max(here, match->second);
                }
                if (t.kind == step_kind::send) sent[{me, t.peer, t.message}] = ++here;
                level[r].push_back(here);
                most = std::max(most, here);
            }
        }
    }
    return most;
}

traffic traffic_of(std::string_view id, std::int32_t ranks, std::vector<std::int32_t> radix = {},
                   std::uint32_t segments = 1, std::int64_t chunk = 1) {
    const algorithm& a = find_algorithm(id);
    problem p = problem_for(a, ranks);
    p.radix = std::move(radix);
    p.segments = segments;
    const auto all = build_all(a, p);
    const layout sizes = layout::uniform(chunk);
    traffic sum;
    for (const schedule& s : all) {
        sum.messages.push_back(0);
        sum.units.push_back(0);
        for (const step& t : s.steps) {
            if (t.kind != step_kind::send) continue;
            ++sum.messages.back();
            sum.units.back() += sizes.length(s, t);
        }
    }
    sum.rounds = count_rounds(all);
    return sum;
}

std::vector<std::int64_t> each(std::int32_t ranks, std::int64_t value) {
    return std::vector<std::int64_t>(static_cast<std::size_t>(ranks), value);
}

TEST(movement_traffic, of_rooted_trees) {
    for (const std::int32_t ranks : {2, 8, 64}) {
        const int n = ceil_log2(ranks);
        for (const std::string_view id : {"bcast/binomial", "scatter/binomial", "gather/binomial"}) {
            const traffic t = traffic_of(id, ranks);
            EXPECT_EQ(t.all_messages(), ranks - 1) << id;
            EXPECT_EQ(t.rounds, n) << id;
            EXPECT_EQ(t.all_units(), id == "bcast/binomial" ? ranks - 1 : ranks / 2 * n) << id;
        }
        EXPECT_EQ(traffic_of("bcast/binomial", ranks).messages[0], n);
        EXPECT_EQ(traffic_of("scatter/binomial", ranks).units[0], ranks - 1);
        for (const std::string_view id : {"bcast/linear", "scatter/linear", "scatterv/linear"}) {
            const traffic t = traffic_of(id, ranks);
            EXPECT_EQ(t.messages[0], ranks - 1) << id;
            EXPECT_EQ(t.all_units(), ranks - 1) << id;
            EXPECT_EQ(t.rounds, 1) << id;
        }
        EXPECT_EQ(traffic_of("gather/linear", ranks).rounds, 1);
        EXPECT_EQ(traffic_of("gather/linear", ranks).all_messages(), ranks - 1);
        EXPECT_EQ(traffic_of("gather/linear_sync", ranks, {}, 1, 2).rounds, 2 * (ranks - 1));
        EXPECT_EQ(traffic_of("gather/linear_sync", ranks, {}, 1, 2).messages[0], ranks - 1);
        EXPECT_EQ(traffic_of("gather/linear_sync", ranks, {}, 1, 2).all_messages(), 3 * (ranks - 1));
    }
    EXPECT_EQ(traffic_of("bcast/knomial", 64).rounds, 3);
    EXPECT_EQ(traffic_of("bcast/knomial", 64).messages[0], 9);
    EXPECT_EQ(traffic_of("bcast/knomial", 81, {3}).rounds, 4);
    EXPECT_EQ(traffic_of("bcast/knomial", 81, {3}).messages[0], 8);
}

TEST(movement_traffic, of_pipelines) {
    for (const std::uint32_t segments : {1U, 4U}) {
        const traffic binary = traffic_of("bcast/binary", 31, {}, segments, 12);
        EXPECT_EQ(binary.rounds, 4);
        EXPECT_EQ(binary.most_messages(), 2 * segments);
        const traffic chain = traffic_of("bcast/chain", 31, {}, segments, 12);
        EXPECT_EQ(chain.rounds, 30);
        EXPECT_EQ(chain.most_messages(), segments);
        for (const std::int32_t ranks : {2, 3, 30, 31}) {
            const traffic split = traffic_of("bcast/split_binary", ranks, {}, segments, 24);
            EXPECT_EQ(split.all_messages(), (ranks - 1) * (std::int64_t{segments} + 1)) << ranks;
            EXPECT_EQ(split.all_units(), (ranks - 1) * 24) << ranks;
            EXPECT_EQ(split.rounds, ranks == 2 ? 1 : floor_power_of_two(ranks) == 2 ? 2 : 5) << ranks;
        }
        EXPECT_EQ(traffic_of("bcast/split_binary", 31, {}, segments, 24).most_units(), 36);
    }
}

TEST(movement_traffic, of_broadcasts_in_two_phases) {
    for (const std::int32_t ranks : {2, 8, 64}) {
        const int n = ceil_log2(ranks);
        const traffic doubling = traffic_of("bcast/scatter_allgather", ranks, {}, 1, ranks);
        EXPECT_EQ(doubling.all_units(), (ranks - 1) * ranks);
        EXPECT_LE(doubling.rounds, 2 * n);
        const traffic ring = traffic_of("bcast/scatter_ring", ranks, {}, 1, ranks);
        EXPECT_EQ(ring.all_units(), (ranks - 1) * ranks);
        EXPECT_LE(ring.rounds, n + ranks - 1);
    }
}

TEST(movement_traffic, of_allgathers) {
    for (const std::int32_t ranks : {1, 2, 5, 8, 12, 64}) {
        const int n = ceil_log2(ranks);
        const auto expect = [ranks](std::string_view id, std::int64_t messages, std::int64_t rounds) {
            const traffic t = traffic_of(id, ranks);
            EXPECT_EQ(t.messages, each(ranks, messages)) << id << " of " << ranks;
            EXPECT_EQ(t.units, each(ranks, ranks - 1)) << id << " of " << ranks;
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
            const traffic t = traffic_of(id, ranks);
            EXPECT_EQ(t.messages, each(ranks, ranks - 1)) << id;
            EXPECT_EQ(t.units, each(ranks, ranks - 1)) << id;
            EXPECT_EQ(t.rounds, id.ends_with("pairwise") ? ranks - 1 : std::min(ranks - 1, 1)) << id;
        }
        const traffic bruck = traffic_of("alltoall/bruck", ranks);
        EXPECT_EQ(bruck.messages, each(ranks, n));
        EXPECT_EQ(bruck.rounds, n);
        if (is_power_of_two(ranks)) {
            EXPECT_EQ(bruck.units, each(ranks, ranks / 2 * n));
        }
    }
}

TEST(movement_traffic, of_barriers) {
    for (const std::int32_t ranks : {1, 2, 5, 8, 12, 64}) {
        const int n = ceil_log2(ranks);
        const traffic t = traffic_of("barrier/dissemination", ranks);
        EXPECT_EQ(t.messages, each(ranks, n));
        EXPECT_EQ(t.rounds, n);
        EXPECT_EQ(traffic_of("barrier/n_way_dissemination", ranks, {1}).messages, t.messages);
        EXPECT_EQ(traffic_of("barrier/tree", ranks).all_messages(), 2 * (ranks - 1));
        if (is_power_of_two(ranks)) {
            EXPECT_EQ(traffic_of("barrier/tree", ranks).rounds, 2 * n);
        }
    }
    // ranks = (ways + 1)^rounds
    for (const auto& [ways, ranks, rounds] : {std::tuple{2, 9, 2}, {2, 27, 3}, {3, 16, 2}, {3, 64, 3}, {7, 8, 1}}) {
        const traffic t = traffic_of("barrier/n_way_dissemination", ranks, {ways});
        EXPECT_EQ(t.messages, each(ranks, ways * rounds));
        EXPECT_EQ(t.rounds, rounds);
    }
    // With 16 ranks the third round of 2 ways has one peer: the other would be 18 ranks away.
    EXPECT_EQ(traffic_of("barrier/n_way_dissemination", 16).messages, each(16, 5));
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

TEST(movement_input, knomial_refuses_radix_1) {
    problem p = problem_for(find_algorithm("bcast/knomial"), 4);
    p.radix = {1};
    EXPECT_THROW(build_all(find_algorithm("bcast/knomial"), p), error);
}

}  // namespace
}  // namespace rubato
