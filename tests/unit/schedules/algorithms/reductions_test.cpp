// Every algorithm that combines: verified for many problems, and its messages and rounds compared with the formulas of
// the literature.
#include "rubato/algorithm.hpp"
#include "rubato/verify.hpp"
#include "support/extent.hpp"
#include "support/problems.hpp"
#include "support/registry.hpp"
#include "support/timings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace rubato::schedules {
namespace {

std::string text(const algorithm& a, const problem& p) {
    std::vector<std::int64_t> arrivals;
    for (const time_ns t : p.arrivals) arrivals.push_back(t.count());
    return fmt::format("{}: {} ranks, root {}, {} segments, radix [{}], arrivals [{}], rounds of {}{}{}", a.id, p.ranks,
                       p.root.value, p.segments, fmt::join(p.radix, ","), fmt::join(arrivals, ","),
                       format_time(p.round_time), p.commutative ? "" : ", ordered", p.idempotent ? ", idempotent" : "");
}

std::vector<std::uint32_t> segment_counts(const algorithm& a, std::int32_t ranks) {
    if (!a.segmented) return {1};
    return ranks > 33 ? std::vector<std::uint32_t>{3} : std::vector<std::uint32_t>{1, 2, 3, 8};
}

std::vector<std::vector<std::int32_t>> radices(const algorithm& a, std::int32_t ranks) {
    if (!a.takes_radix) return {{}};
    if (!a.has(need::radix_product)) {
        std::vector<std::vector<std::int32_t>> all{{}, {2}, {3}, {5}, {200}};
        if (a.has(need::idempotent_or_power)) all.push_back({1});
        return all;
    }
    std::vector<std::vector<std::int32_t>> all{{}, {ranks}, {1, ranks, 1}};
    for (const std::int32_t k : {2, 3, 4})
        if (ranks % k == 0) all.insert(all.end(), {{k, ranks / k}, {ranks / k, k}});
    if (ranks % 8 == 0) all.push_back({2, ranks / 8, 2, 2});
    return all;
}

/// Calls f for every problem of the sweep that meets the algorithm's needs; gives their number.
template <class F>
int for_each_problem(const algorithm& a, std::int32_t ranks, F f) {
    int problems = 0;
    for (const std::int32_t root : roots(a, ranks)) {
        problem p = problem_for(a, ranks, root);
        for (const testing::timing& when : testing::timings(a, ranks, root)) {
            p.arrivals = when.arrivals;
            p.round_time = when.round_time;
            p.hosts = when.hosts;
            for (const std::uint32_t segments : segment_counts(a, ranks)) {
                p.segments = segments;
                for (const auto& radix : radices(a, ranks)) {
                    p.radix = radix;
                    for (const bool commutative : {true, false}) {
                        p.commutative = commutative;
                        for (const bool idempotent : {false, true}) {
                            p.idempotent = idempotent;
                            if (idempotent && !a.has(need::idempotent_or_power)) continue;
                            if (unmet_need(a, p)) continue;
                            ++problems;
                            f(p);
                        }
                    }
                }
            }
        }
    }
    return problems;
}

class reductions : public ::testing::TestWithParam<std::string_view> {};
class rooted_reductions : public reductions {};
class commuting_reductions : public reductions {};

TEST_P(reductions, are_proven) {
    const algorithm& a = find_algorithm(GetParam());
    auto counts = some_or_all(std::vector<std::int32_t>{64, 65}, std::vector<std::int32_t>{63, 64, 65, 128});
    for (std::int32_t ranks = 1; ranks <= 33; ++ranks) counts.push_back(ranks);
    int problems = 0;
    int with_differing_bits = 0;
    for (const std::int32_t ranks : counts) {
        problems += for_each_problem(a, ranks, [&](const problem& p) {
            if (HasFatalFailure()) return;
            const std::vector<schedule> all = build_all(a, p);
            const auto findings = verify(p, all, false, a.same_bits);
            ASSERT_TRUE(findings.empty()) << text(a, p) << ": " << findings.front();
            if (!a.same_bits && !verify(p, all, false, true).empty()) ++with_differing_bits;
        });
    }
    EXPECT_GE(problems, static_cast<int>(counts.size()));
    EXPECT_EQ(with_differing_bits == 0, a.same_bits) << "its row says that ranks may round differently";
}

/// MPI gives only the root an output to reduce into.
TEST_P(rooted_reductions, use_the_output_of_the_root_alone) {
    const algorithm& a = find_algorithm(GetParam());
    int problems = 0;
    for (const std::int32_t ranks : {2, 3, 7, 8, 13, 24}) {
        problems += for_each_problem(a, ranks, [&](const problem& p) {
            for (std::int32_t r = 0; r < ranks; ++r) {
                if (r == p.root.value) continue;
                for (const step& s : build_one(a, p, rank(r)).steps)
                    ASSERT_FALSE((s.reads() && s.from == buffer::output) || (s.writes() && s.to == buffer::output))
                        << text(a, p) << ", rank " << r << ": " << rubato::to_string(s);
            }
        });
    }
    EXPECT_GT(problems, 0);
}

/// If the order of operands does not matter, each can be received into the place of the result.
TEST_P(commuting_reductions, copy_nothing) {
    const algorithm& a = find_algorithm(GetParam());
    int looked_at = 0;
    // The keeper of a folded pair halves down to two chunks, and its output holds one.
    const bool folds_chunks =
        traits(a.what).reduces && traits(a.what).wide_input && (a.name() == "halving" || a.name() == "bine");
    for (const std::int32_t ranks : {2, 3, 7, 8, 13, 24}) {
        if (folds_chunks && !is_power_of_two(ranks)) continue;
        for_each_problem(a, ranks, [&](const problem& p) {
            if (!p.commutative) return;
            ++looked_at;
            for (std::int32_t r = 0; r < ranks; ++r) {
                // The result of a scan's first rank is its input.
                if (p.what == collective::scan && r == 0) continue;
                for (const step& s : build_one(a, p, rank(r)).steps)
                    ASSERT_NE(s.kind, step_kind::copy) << text(a, p) << ", rank " << r << ": " << rubato::to_string(s);
            }
        });
    }
    EXPECT_GT(looked_at, 0);
}

/// One computation for all ranks and one for each rank give the same schedules.
TEST_P(reductions, are_the_same_built_one_by_one) {
    const algorithm& a = find_algorithm(GetParam());
    for (const std::int32_t ranks : {1, 3, 8}) {
        for_each_problem(a, ranks, [&](const problem& p) {
            const std::vector<schedule> all = build_all(a, p);
            for (std::int32_t r = 0; r < ranks; ++r)
                ASSERT_EQ(all[static_cast<std::size_t>(r)], build_one(a, p, rank(r))) << text(a, p) << ", rank " << r;
        });
    }
}

bool reduces(const algorithm& a) { return traits(a.what).reduces; }
bool reduces_to_a_root(const algorithm& a) { return reduces(a) && traits(a.what).rooted; }
bool copies_nothing(const algorithm& a) {
    if (!reduces(a) || a.early) return false;  // an early form copies its result to the output
    // What a rank passes on is not its result, and needs a place of its own.
    if (a.what == collective::exscan || a.id == "scan/clairvoyant") return false;
    if (a.id == "reduce_scatter_block/linear" || a.id == "reduce_scatter_block/binomial") return false;
    // It packs chunks without those of the last rank.
    if (a.id == "reduce_scatter_block/straggler") return false;
    // All ranks combine the same operands in one order, so that all get the same bits.
    return a.id != "allreduce/recursive_doubling" && a.id != "allreduce/bine_doubling" && a.id != "allreduce/direct" &&
           a.id != "allreduce/straggler" && a.id != "allreduce/two_level_straggler";
}

INSTANTIATE_TEST_SUITE_P(all, reductions, ::testing::ValuesIn(testing::ids_of(reduces)), testing::name_of_id);
INSTANTIATE_TEST_SUITE_P(all, rooted_reductions, ::testing::ValuesIn(testing::ids_of(reduces_to_a_root)),
                         testing::name_of_id);
INSTANTIATE_TEST_SUITE_P(all, commuting_reductions, ::testing::ValuesIn(testing::ids_of(copies_nothing)),
                         testing::name_of_id);

struct traffic {
    std::int64_t rounds = 0;  // in lock step
    std::int64_t messages = 0;
};

traffic run(std::string_view id, std::int32_t ranks, std::uint32_t segments = 1, std::int32_t root = 0,
            std::vector<std::int32_t> radix = {}) {
    const algorithm& a = find_algorithm(id);
    problem p = problem_for(a, ranks, root);
    p.segments = segments;
    p.radix = std::move(radix);
    return {lock_step_rounds(build_all(a, p)), cost_of(a, p).messages};
}

void expect(const traffic& have, std::int64_t rounds, std::int64_t messages, std::string_view id, std::int64_t ranks) {
    EXPECT_EQ(have.rounds, rounds) << id << " on " << ranks << " ranks";
    EXPECT_EQ(have.messages, messages) << id << " on " << ranks << " ranks";
}

TEST(reduction_costs, follow_the_formulas_for_powers_of_two) {
    for (std::int32_t n = 1; n <= 6; ++n) {
        const std::int32_t P = 1 << n;
        const auto check = [P](std::string_view id, std::int64_t rounds, std::int64_t messages) {
            expect(run(id, P), rounds, messages, id, P);
        };
        check("reduce/binomial", n, P - 1);
        check("reduce/linear", P - 1, P - 1);
        check("reduce/chain", P - 1, P - 1);
        check("reduce/butterfly", 2 * n, P * n + P - 1);
        check("reduce/ring", P - 1 + n, P * (P - 1) + P - 1);
        check("allreduce/recursive_doubling", n, P * n);
        check("allreduce/dissemination", n, P * n);
        check("allreduce/ring", 2 * (P - 1), 2 * P * (P - 1));
        check("allreduce/rabenseifner", 2 * n, 2 * P * n);
        check("allreduce/reduce_bcast", 2 * n, 2 * (P - 1));
        check("reduce_scatter_block/ring", P - 1, P * (P - 1));
        check("reduce_scatter_block/halving", n, P * n);
        check("reduce_scatter_block/binomial", n + P - 1, 2 * (P - 1));
        check("reduce_scatter/ring", P - 1, P * (P - 1));
        check("reduce_scatter/halving", n, P * n);
        check("scan/recursive_doubling", n, P * n - (P - 1));
        check("exscan/recursive_doubling", n, P * n - (P - 1));
    }
}

TEST(reduction_costs, hold_for_every_root) {
    for (std::int32_t root = 0; root < 16; ++root) {
        EXPECT_EQ(run("reduce/binomial", 16, 1, root).rounds, 4) << root;
        EXPECT_EQ(run("reduce/butterfly", 16, 1, root).rounds, 8) << root;
        EXPECT_EQ(run("reduce/ring", 16, 1, root).rounds, 19) << root;
    }
}

TEST(reduction_costs, of_a_chain_are_ranks_and_segments) {
    for (const std::int32_t P : {2, 3, 8, 13})
        for (const std::int64_t N : {1, 2, 5, 16})
            expect(run("reduce/chain", P, static_cast<std::uint32_t>(N), P / 2), P - 2 + N, (P - 1) * N, "reduce/chain",
                   P);
}

TEST(reduction_costs, of_radix_k_add_up_its_factors) {
    const auto check = [](const std::vector<std::int32_t>& radix, std::int32_t P, std::int64_t rounds) {
        std::int64_t per_rank = 0;
        for (const std::int32_t k : radix) per_rank += k - 1;
        expect(run("reduce/radix_k", P, 1, P - 1, radix), rounds, P * per_rank + P - 1, "reduce/radix_k", P);
    };
    check({4, 4, 8}, 128, 3 + 3 + 7 + 7);
    check({2, 2, 2, 2}, 16, 4 + 4);
    check({16}, 16, 15 + 4);
    check({2, 3, 4}, 24, 1 + 2 + 3 + 5);
}

TEST(reduction_costs, of_n_way_dissemination) {
    for (const std::int32_t ways : {1, 2, 3}) {
        const std::int32_t P = (ways + 1) * (ways + 1) * (ways + 1);
        expect(run("allreduce/n_way_dissemination", P, 1, 0, {ways}), 3 * ways, P * 3 * ways, "n-way", P);
    }
}

TEST(reduction_costs, of_two_trees_are_segments_and_twice_the_depth) {
    for (const std::string_view id : {"bcast/two_tree", "reduce/two_tree"}) {
        for (std::int32_t P = 2; P <= 70; ++P) {
            for (const std::int64_t N : {2, 9, 40}) {
                const traffic t = run(id, P, static_cast<std::uint32_t>(N), P / 3);
                EXPECT_EQ(t.messages, (P - 1) * N);
                // If the segments are odd in number, the last one makes a pair with none.
                EXPECT_LE(t.rounds, N + N % 2 + 2 * ceil_log2(P) - 1)
                    << id << " on " << P << " ranks, " << N << " segments";
            }
        }
    }
}

TEST(reduction_costs, of_clairvoyant_are_depth_and_segments) {
    for (std::int32_t n = 1; n <= 6; ++n)
        for (const std::int64_t N : {1, 2, 5, 16})
            for (const std::int32_t root : {0, (1 << n) - 1})
                EXPECT_EQ(run("reduce/clairvoyant", 1 << n, static_cast<std::uint32_t>(N), root).rounds, n + N - 1)
                    << n << ", " << N;
}

TEST(reduction_costs, of_clairvoyant_hide_the_work_behind_a_latecomer) {
    const algorithm& a = find_algorithm("reduce/clairvoyant");
    const hockney m{1000, 0, 0};
    const std::vector<layout> sizes{layout::uniform(4)};
    for (const std::int32_t late : {0, 3, 7}) {
        problem p = problem_for(a, 8);
        p.segments = 4;
        p.arrivals.resize(8);
        p.arrivals[static_cast<std::size_t>(late)] = time_ns(20'000);
        p.round_time = time_ns(1000);
        const simulation result = simulate({m}, build_all(a, p), sizes, p.arrivals);
        // The other ranks are done, and two are left: the time of a reduction of two ranks.
        EXPECT_EQ(std::ranges::max(result.exits), time_ns(20'000 + 4 * 1000)) << late;
    }
}

TEST(reduction_needs, know_the_time_of_a_round_if_arrivals_differ) {
    const algorithm& a = find_algorithm("reduce/clairvoyant");
    problem p = problem_for(a, 3);
    EXPECT_FALSE(unmet_need(a, p));
    p.arrivals = {time_ns(5), time_ns(5), time_ns(5)};
    EXPECT_FALSE(unmet_need(a, p));
    p.arrivals.back() = time_ns(6);
    EXPECT_EQ(unmet_need(a, p), "arrivals differ, so it must be told how long a round takes (--round-time)");
    p.round_time = time_ns(1);
    EXPECT_FALSE(unmet_need(a, p));
    p.round_time = time_ns(-1);
    EXPECT_THROW(rubato::check(a, p), error);
}

TEST(reduction_needs, know_the_ways_of_a_dissemination) {
    const algorithm& one_way = find_algorithm("allreduce/dissemination");
    const algorithm& n_way = find_algorithm("allreduce/n_way_dissemination");
    problem p = problem_for(n_way, 9);
    EXPECT_FALSE(unmet_need(n_way, p));
    EXPECT_TRUE(unmet_need(one_way, p));
    p.radix = {3};
    EXPECT_TRUE(unmet_need(n_way, p));
    p.ranks = 16;
    EXPECT_FALSE(unmet_need(n_way, p));
    p.radix = {2};
    EXPECT_TRUE(unmet_need(n_way, p));
    EXPECT_FALSE(unmet_need(one_way, p));
    p.idempotent = true;
    EXPECT_FALSE(unmet_need(n_way, p));
}

TEST(reduction_needs, refuse_trees_of_degree_one) {
    for (const algorithm& a : algorithms()) {
        problem p = problem_for(a, 16);
        p.radix = {1};
        const bool tree = a.name() == "knomial" || a.name() == "binary";
        EXPECT_EQ(a.has(need::radix_above_one), tree) << a.id;
        if (tree) {
            EXPECT_EQ(unmet_need(a, p), "its tree cuts ranks into pieces, and a radix of 1 cuts nothing") << a.id;
        }
    }
}

}  // namespace
}  // namespace rubato::schedules
