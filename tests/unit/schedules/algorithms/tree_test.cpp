#include "schedules/algorithms/pattern/tree.hpp"

#include "support/extent.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace rubato::schedules {
namespace {

using tree_maker = tree (*)(std::int32_t, rank, rank, std::int32_t);

std::vector<tree> all_ranks(tree_maker make, std::int32_t ranks, std::int32_t root, std::int32_t k) {
    std::vector<tree> trees;
    for (std::int32_t r = 0; r < ranks; ++r) trees.push_back(make(ranks, rank(root), rank(r), k));
    return trees;
}

const tree& of(const std::vector<tree>& trees, rank r) { return trees[static_cast<std::size_t>(r.value)]; }

/// Parents and children agree, and all parents lead to the root.
void expect_tree(const std::vector<tree>& trees, rank root) {
    std::size_t edges = 0;
    for (std::int32_t r = 0; r < static_cast<std::int32_t>(trees.size()); ++r) {
        const tree& t = of(trees, rank(r));
        ASSERT_EQ(t.parent.has_value(), rank(r) != root);
        for (const rank child : t.children) ASSERT_EQ(of(trees, child).parent, rank(r));
        edges += t.children.size();
        std::size_t hops = 0;
        for (rank at(r); at != root; at = *of(trees, at).parent) ASSERT_LT(++hops, trees.size());
    }
    ASSERT_EQ(edges, trees.size() - 1);
}

/// Each subtree is an interval: its root and its branches, each of which is what the child covers; far ones first.
void expect_intervals(const std::vector<tree>& trees) {
    for (std::int32_t r = 0; r < static_cast<std::int32_t>(trees.size()); ++r) {
        const tree& t = of(trees, rank(r));
        ASSERT_TRUE(t.covers.has(r));
        ASSERT_EQ(t.branches.size(), t.children.size());
        interval joined{r, r + 1};
        for (std::size_t i = t.children.size(); i-- > 0;) {
            const interval branch = t.branches[i];
            ASSERT_EQ(branch.low, of(trees, t.children[i]).covers.low);
            ASSERT_EQ(branch.high, of(trees, t.children[i]).covers.high);
            ASSERT_TRUE(branch.high == joined.low || branch.low == joined.high);
            joined = {std::min(joined.low, branch.low), std::max(joined.high, branch.high)};
        }
        ASSERT_EQ(joined.low, t.covers.low);
        ASSERT_EQ(joined.high, t.covers.high);
    }
}

std::int32_t depth(const std::vector<tree>& trees, rank from) {
    std::int32_t deepest = 0;
    for (const rank child : of(trees, from).children) deepest = std::max(deepest, 1 + depth(trees, child));
    return deepest;
}

/// Rounds until all ranks have the data, if a rank sends to one other per round.
std::int32_t rounds(const std::vector<tree>& trees, rank from) {
    std::int32_t last = 0, sent = 0;
    for (const rank child : of(trees, from).children) last = std::max(last, ++sent + rounds(trees, child));
    return last;
}

std::int32_t ceil_log(std::int32_t k, std::int32_t n) {
    std::int32_t result = 0;
    for (std::int64_t power = 1; power < n; power *= k) ++result;
    return result;
}

template <class Check>
void for_many(Check check) {
    for (std::int32_t ranks = 1; ranks <= 40; ++ranks) {
        for (std::int32_t root = 0; root < ranks; root += some_or_all(1 + ranks / 8, 1)) {
            for (const std::int32_t k : {2, 3, 4, 5, 8, 50, 2147483647}) {
                SCOPED_TRACE(::testing::Message() << "ranks " << ranks << " root " << root << " k " << k);
                check(ranks, root, k);
                if (::testing::Test::HasFatalFailure()) return;
            }
        }
    }
}

TEST(tree, knomial_is_a_tree_of_intervals) {
    for_many([](std::int32_t ranks, std::int32_t root, std::int32_t k) {
        const auto trees = all_ranks(knomial_tree, ranks, root, k);
        expect_tree(trees, rank(root));
        expect_intervals(trees);
        for (std::int32_t r = 0; r < ranks; ++r) ASSERT_TRUE(r == root || of(trees, rank(r)).covers.low == r);
    });
}

TEST(tree, knomial_is_log_deep) {
    for_many([](std::int32_t ranks, std::int32_t root, std::int32_t k) {
        const auto trees = all_ranks(knomial_tree, ranks, root, k);
        const std::int32_t n = ceil_log(k, ranks);
        ASSERT_LE(depth(trees, rank(root)), n);
        ASSERT_LE(rounds(trees, rank(root)), (k - 1) * n);
        if (ceil_log(k, ranks + 1) > n) {  // a power of k
            ASSERT_EQ(depth(trees, rank(root)), n);
            ASSERT_EQ(rounds(trees, rank(root)), (k - 1) * n);
        }
        if (k == 2) {
            ASSERT_EQ(rounds(trees, rank(root)), n);
        }
    });
}

TEST(tree, bine_is_a_binomial_tree_whose_partners_are_nearer) {
    const auto bine = [](std::int32_t ranks, rank root, rank me, std::int32_t) { return bine_tree(ranks, root, me); };
    // How far data goes in a ring of ranks, in all.
    const auto way = [](const std::vector<tree>& trees) {
        const auto ranks = static_cast<std::int32_t>(trees.size());
        std::int64_t sum = 0;
        for (std::int32_t r = 0; r < ranks; ++r)
            for (const rank child : of(trees, rank(r)).children) {
                const std::int32_t apart = std::abs(child.value - r);
                sum += std::min(apart, ranks - apart);
            }
        return static_cast<double>(sum);
    };
    for_many([&](std::int32_t ranks, std::int32_t root, std::int32_t k) {
        if (k != 2) return;
        const auto trees = all_ranks(bine, ranks, root, k);
        expect_tree(trees, rank(root));
        ASSERT_EQ(rounds(trees, rank(root)), ceil_log(2, ranks));
    });
    // 0 sends to 3, 7 and 1, as in the paper's figure.
    EXPECT_EQ(bine_tree(8, rank(0), rank(0)).children, (std::vector{rank(3), rank(7), rank(1)}));
    EXPECT_EQ(bine_tree(8, rank(0), rank(5)).parent, rank(4));
    for (const std::int32_t ranks : {16, 64, 256, 1024})
        EXPECT_LT(way(all_ranks(bine, ranks, 0, 2)), .73 * way(all_ranks(knomial_tree, ranks, 0, 2))) << ranks;
}

/// When the last rank has the data, if a message is there after `delay` and its sender can send again after 1.
std::int32_t broadcast_time(const std::vector<tree>& trees, rank from, std::int32_t delay) {
    std::int32_t last = 0, sent = 0;
    for (const rank child : of(trees, from).children)
        last = std::max(last, sent++ + delay + broadcast_time(trees, child, delay));
    return last;
}

/// The same if every rank that has the data keeps sending: nothing can be sooner.
std::int32_t least_broadcast_time(std::int32_t ranks, std::int32_t delay) {
    std::multiset<std::int32_t> next{delay};  // when the next message of each rank that has the data is there
    std::int32_t last = 0;
    for (std::int32_t r = 1; r < ranks; ++r) {
        last = *next.begin();
        next.erase(next.begin());
        next.insert({last + 1, last + delay});
    }
    return last;
}

TEST(tree, fibonacci_is_optimal) {
    for (const std::int32_t k : {1, 2, 3, 4, 7, 50, 2147483647}) {
        for (const std::int32_t ranks : {1, 2, 3, 4, 5, 6, 7, 8, 12, 13, 14, 21, 33, 64, 100}) {
            for (const std::int32_t root : {0, ranks / 2, ranks - 1}) {
                SCOPED_TRACE(::testing::Message() << "ranks " << ranks << " root " << root << " k " << k);
                const auto trees = all_ranks(fibonacci_tree, ranks, root, k);
                expect_tree(trees, rank(root));
                const std::int32_t delay = std::min(k, 1000);
                ASSERT_EQ(broadcast_time(trees, rank(root), delay), least_broadcast_time(ranks, delay));
            }
        }
    }
}

TEST(tree, kary_is_a_tree_of_intervals) {
    for_many([](std::int32_t ranks, std::int32_t root, std::int32_t k) {
        const auto trees = all_ranks(kary_tree, ranks, root, k);
        expect_tree(trees, rank(root));
        expect_intervals(trees);
        for (const tree& t : trees) ASSERT_LE(t.children.size(), static_cast<std::size_t>(k));
    });
}

TEST(tree, kary_is_complete_when_the_sizes_allow) {
    for (const std::int32_t k : {2, 3, 4}) {
        std::int32_t ranks = 1;
        for (std::int32_t levels = 0; levels <= 4; ++levels, ranks = ranks * k + 1) {
            for (const tree_maker make : {kary_tree, rotated_kary_tree}) {
                // A k-ary tree of intervals can be complete with the root at one end, a rotated one with any.
                for (const std::int32_t root : {0, make == kary_tree ? 0 : ranks / 3, ranks - 1}) {
                    const auto trees = all_ranks(make, ranks, root, k);
                    ASSERT_EQ(depth(trees, rank(root)), levels) << "ranks " << ranks << " root " << root << " k " << k;
                    for (const tree& t : trees)
                        ASSERT_TRUE(t.children.empty() || t.children.size() == static_cast<std::size_t>(k));
                }
            }
        }
    }
}

TEST(tree, rotated_kary_is_a_tree_of_one_depth_for_all_roots) {
    for_many([](std::int32_t ranks, std::int32_t root, std::int32_t k) {
        const auto trees = all_ranks(rotated_kary_tree, ranks, root, k);
        expect_tree(trees, rank(root));
        ASSERT_EQ(depth(trees, rank(root)), depth(all_ranks(kary_tree, ranks, 0, k), rank(0)));
    });
}

TEST(tree, chains_have_one_or_two_lines) {
    for_many([](std::int32_t ranks, std::int32_t root, std::int32_t) {
        const auto one = all_ranks([](auto n, auto r, auto me, auto) { return ring_chain(n, r, me); }, ranks, root, 1);
        expect_tree(one, rank(root));
        ASSERT_EQ(depth(one, rank(root)), ranks - 1);
        const auto two =
            all_ranks([](auto n, auto r, auto me, auto) { return two_sided_chain(n, r, me); }, ranks, root, 1);
        expect_tree(two, rank(root));
        ASSERT_EQ(depth(two, rank(root)), std::max(root, ranks - 1 - root));
    });
}

}  // namespace
}  // namespace rubato::schedules
