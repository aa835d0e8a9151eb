#include "reports/tune/tuning.hpp"

#include <gtest/gtest.h>

namespace rubato::reports {
namespace {

using namespace std::chrono_literals;

const way chain{&find_algorithm("reduce/chain"), 8 << 10};
const way binomial{&find_algorithm("reduce/binomial")};
const way linear{&find_algorithm("reduce/linear")};

/// Balanced, a late rank, a very late one.
timed_problem example(std::int64_t bytes = 1 << 20) {
    timed_problem p{collective::reduce, 8, bytes, {0ms, 100ms, 1000ms}};
    p.ways = {{chain, {100ms, 190ms, 1100ms}},    // never far from the best
              {binomial, {90ms, 290ms, 1290ms}},  // best if balanced
              {linear, {300ms, 180ms, 1001ms}}};  // best if late
    return p;
}

const std::vector<std::size_t> all_three{0, 1, 2};

TEST(tuning, regret_is_what_is_lost_to_the_best_of_each_pattern) {
    const timed_problem p = example();
    const regret r = regret_of(p, p.ways[1], all_three);
    EXPECT_NEAR(r.worst, 289. / 90, 1e-9);
    EXPECT_NEAR(r.mean, (0 + 110. / 90 + 289. / 90) / 3, 1e-9);
    EXPECT_EQ(regret_of(p, p.ways[1], {0}).worst, 0);
}

TEST(tuning, the_choice_is_not_the_best_of_the_balanced_case) {
    const timed_problem p = example();
    EXPECT_EQ(best(p, all_three, {})->use, chain);
    EXPECT_EQ(best(p, {0}, {})->use, binomial);
    timed_problem often = p;
    for (timed_way& w : often.ways) w.run_times.insert(w.run_times.end(), 20, w.run_times[2]);
    often.imbalances.insert(often.imbalances.end(), 20, 1000ms);
    std::vector<std::size_t> patterns(23);
    for (std::size_t i = 0; i < patterns.size(); ++i) patterns[i] = i;
    EXPECT_EQ(best(often, patterns, {.by = measure::worst})->use, chain);
    EXPECT_EQ(best(often, patterns, {.by = measure::mean})->use, linear);
}

TEST(tuning, what_happens_otherwise_is_kept_unless_the_gain_is_sure) {
    timed_problem p = example();
    EXPECT_FALSE(best(p, all_three, {.keeps_unknown = true}));
    p.otherwise = binomial;
    EXPECT_FALSE(best(p, all_three, {})) << "the others lose if all arrive together";
    p.ways[1].run_times[0] = 100ms;
    ASSERT_TRUE(best(p, all_three, {}));
    EXPECT_EQ(best(p, all_three, {})->use, chain);
    EXPECT_FALSE(best(p, all_three, {.margin = 2}));
    EXPECT_GT(best(p, all_three, {})->of_otherwise->worst, 1);
}

TEST(tuning, classes_of_imbalance_have_their_own_choices) {
    const timed_problem p = example();
    const decided d = decide(p, {});
    EXPECT_EQ(d.any->use, chain);
    ASSERT_EQ(d.classes.size(), 3U);
    EXPECT_EQ(d.classes[0].chosen.use, binomial);
    EXPECT_EQ(d.classes[1].from, 45ms);
    EXPECT_EQ(d.classes[1].chosen.use, linear);
    EXPECT_EQ(d.classes[2].from, 360ms);
    EXPECT_EQ(d.classes[2].chosen.use, linear);
}

TEST(tuning, sizes_are_cut_halfway) {
    EXPECT_EQ(boundaries({1024, 4096, 1 << 20}), (std::vector<std::int64_t>{1024, 2048, 65536}));
}

TEST(tuning, rules_have_each_choice_once) {
    const std::vector<timed_problem> problems{example(1 << 16), example(1 << 20), example(1 << 22)};
    std::vector<decided> all;
    for (const timed_problem& p : problems) all.push_back(decide(p, {}));
    const rules r = own_rules(all, std::nullopt);
    EXPECT_EQ(rubato::to_string(r),
              "reduce 8 64KiB any reduce/chain 8KiB\n"
              "reduce 8 64KiB 0 reduce/binomial\n"
              "reduce 8 64KiB 45ms reduce/linear\n"
              "reduce 8 64KiB 360ms reduce/linear\n"
              "reduce 16 0B any native\n");
}

TEST(tuning, problems_travel_as_text) {
    timed_problem p = example();
    p.otherwise = way{};
    const timed_problem again = from_text(as_text(p));
    EXPECT_EQ(as_text(again), as_text(p));
    ASSERT_EQ(again.ways.size(), 3U);
    EXPECT_EQ(again.ways[0].how, chain);
    EXPECT_EQ(again.ways[2].run_times, p.ways[2].run_times);
    EXPECT_EQ(again.otherwise, way{});
    EXPECT_EQ(to_string(chain), "reduce/chain@8KiB");
}

}  // namespace
}  // namespace rubato::reports
