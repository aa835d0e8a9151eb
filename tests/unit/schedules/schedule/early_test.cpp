// Early forms: the same messages, and only what needs the rank's own data waits for the rank.
#include "rubato/algorithm.hpp"
#include "rubato/verify.hpp"
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace rubato::schedules {
namespace {

/// Calls f for problems of every kind that the algorithm can do.
template <class F>
void for_each_problem(const algorithm& a, F f) {
    for (const std::int32_t ranks : {1, 2, 5, 8}) {
        for (const std::int32_t root : std::set{0, traits(a.what).rooted ? ranks / 2 : 0}) {
            for (const bool commutative : {true, false}) {
                problem p = problem_for(a, ranks, root);
                p.segments = 3;
                p.idempotent = true;
                p.commutative = commutative || !traits(a.what).reduces;
                if (!unmet_need(a, p)) f(p);
            }
        }
    }
}

/// Everything of a message but where its data lies.
std::vector<step> messages(const schedule& s) {
    std::vector<step> all;
    for (step t : s.steps) {
        if (!t.is_message()) continue;
        t.from = t.to = buffer::scratch;
        t.source = t.target = 0;
        all.push_back(t);
    }
    return all;
}

bool reads_input(const step& t) { return t.kind != step_kind::recv && t.from == buffer::input; }

/// Steps that have to wait for the rank's own data.
std::vector<bool> wait_for_input(const schedule& s) {
    std::vector<bool> waits(s.steps.size());
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
        waits[i] = reads_input(s.steps[i]);
        for (const std::uint32_t d : s.dependencies_of(i)) waits[i] = waits[i] || waits[d];
    }
    return waits;
}

/// Copies to the output that nothing waits for.
bool is_last_copy(const schedule& s, std::size_t i) {
    const step& t = s.steps[i];
    return t.kind == step_kind::copy && t.to == buffer::output &&
           std::ranges::find(s.dependencies, static_cast<std::uint32_t>(i)) == s.dependencies.end();
}

TEST(early_form, of_every_algorithm_is_right_and_waits_only_for_the_input) {
    for (const algorithm& a : algorithms()) {
        for_each_problem(a, [&](const problem& p) {
            std::vector<schedule> all = build_all(a, p);
            for (schedule& s : all) {
                const schedule plain = std::exchange(s, early_form(s));
                ASSERT_EQ(messages(s), messages(plain)) << a.id;
                const std::vector<bool> waits = wait_for_input(s);
                for (std::size_t i = 0; i < s.steps.size(); ++i)
                    ASSERT_TRUE(!s.steps[i].needs_arrival() || waits[i] || is_last_copy(s, i))
                        << a.id << ", " << p.ranks << " ranks: " << rubato::to_string(s.steps[i]) << '\n'
                        << rubato::to_string(s);
            }
            const auto findings = verify(p, all);
            ASSERT_TRUE(findings.empty()) << a.id << ", " << p.ranks << " ranks: " << findings.front();
        });
    }
}

TEST(early_form, changes_nothing_twice) {
    for (const algorithm& a : algorithms())
        for_each_problem(a, [&](const problem& p) {
            const schedule once = early_form(build_one(a, p, p.root));
            ASSERT_EQ(early_form(once), once) << a.id;
        });
}

TEST(early_form, leaves_alone_what_the_input_is_copied_to) {
    const algorithm& a = find_algorithm("gather/linear");
    const schedule root = early_form(build_one(a, problem_for(a, 4, 1), rank(1)));
    EXPECT_EQ(root.scratch, (std::vector<block>{0, 2, 3}));
    EXPECT_EQ(std::ranges::count(root.steps, buffer::input, &step::from), 4);  // three receives and the copy
    EXPECT_EQ(std::ranges::count(root.steps, step_kind::copy, &step::kind), 4);
}

TEST(early_form, keeps_several_blocks_in_one_copy) {
    const algorithm& a = find_algorithm("gather/binomial");
    const schedule root = early_form(build_one(a, problem_for(a, 8), rank(0)));
    // Its own chunk, and those of three subtrees.
    EXPECT_EQ(std::ranges::count(root.steps, step_kind::copy, &step::kind), 4);
}

TEST(early_rows, send_the_messages_of_their_plain_rows) {
    int rows = 0;
    for (const algorithm& a : algorithms()) {
        EXPECT_EQ(a.early, a.id.ends_with("+early")) << a.id;
        if (!a.early) continue;
        ++rows;
        const algorithm& plain = find_algorithm(a.id.substr(0, a.id.find('+')));
        EXPECT_EQ(a.needs, plain.needs);
        EXPECT_EQ(a.arrival_aware, plain.arrival_aware);
        EXPECT_EQ(a.segmented, plain.segmented);
        if (a.has(need::round_time)) continue;  // there a late root sends nothing
        for_each_problem(a, [&](const problem& p) {
            for (rank r; r.value < p.ranks; ++r.value)
                ASSERT_EQ(messages(build_one(a, p, r)), messages(build_one(plain, p, r))) << a.id;
        });
    }
    EXPECT_GE(rows, 8);
}

/// A reduction with a late root: when it comes, the others' result is there, and its own is added.
TEST(early_rows, have_the_result_waiting_for_a_late_root) {
    constexpr std::int64_t bytes = 600;
    const hockney m{1000, 1, 10};
    const std::vector<layout> sizes{layout::uniform(bytes)};
    for (const algorithm& a : algorithms()) {
        if (!a.early || a.what != collective::reduce) continue;
        for (const std::int32_t root : {0, 3, 7}) {
            for (const bool commutative : {true, false}) {
                for (const bool predicted : {true, false}) {
                    problem p = problem_for(a, 8, root);
                    p.segments = 3;
                    p.commutative = commutative;
                    std::vector<time_ns> arrivals(8);
                    arrivals[static_cast<std::size_t>(root)] = time_ns(1'000'000);
                    if (predicted) p.arrivals = arrivals;
                    p.round_time = time_ns(1200);
                    if (unmet_need(a, p)) continue;
                    const simulation result = simulate({m}, build_all(a, p), sizes, arrivals, {.early = true});
                    // The left and the right operands of a root in the middle wait apart.
                    const std::int64_t combined = commutative || root == 0 || root == 7 ? 1 : 2;
                    EXPECT_EQ(std::ranges::max(result.exits), time_ns(1'000'000 + combined * bytes * 10))
                        << a.id << " root " << root << " commutative " << commutative;
                }
            }
        }
    }
}

TEST(aliases, find_the_algorithms_of_the_paper) {
    EXPECT_EQ(find_algorithm("scatter/SLN").id, "scatter/sorted_linear");
    EXPECT_EQ(find_algorithm("scatter/SBN").id, "scatter/sorted_binomial");
    EXPECT_EQ(find_algorithm("scatter/bsln").id, "scatter/sorted_linear+early");
    EXPECT_EQ(find_algorithm("scatter/BSBN").id, "scatter/sorted_binomial+early");
    EXPECT_EQ(find_algorithm("gather/SLS").id, "gather/sorted_linear_sync");
    EXPECT_EQ(find_algorithm("gather/Sbn").id, "gather/sorted_binomial");
    EXPECT_EQ(find_algorithm("gather/BSLS").id, "gather/sorted_linear_sync+early");
    EXPECT_EQ(find_algorithm("gather/BSBN").id, "gather/sorted_binomial+early");
    EXPECT_EQ(find_algorithm("gather/LS").id, "gather/linear_sync");
    EXPECT_THROW(find_algorithm("reduce/SBN"), error);
    EXPECT_THROW(find_algorithm("SBN"), error);
    EXPECT_THROW(find_algorithm("scatter/"), error);
    int named = 0;
    for (const algorithm& a : algorithms()) named += a.alias.empty() ? 0 : 1;
    EXPECT_EQ(named, 13);
}

}  // namespace
}  // namespace rubato::schedules
