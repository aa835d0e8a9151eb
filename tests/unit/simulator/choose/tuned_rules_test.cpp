#include "rubato/tuned_rules.hpp"

#include "support/error_text.hpp"

#include <gtest/gtest.h>

namespace rubato::simulator {
namespace {

using namespace std::chrono_literals;

constexpr const char* some =
    "# a comment\n"
    "model hockney:alpha=1us,beta=1ns,gamma=0\n"
    "reduce 8 64KiB any reduce/chain 8KiB\n"
    "reduce 8 64KiB 0 reduce/binomial\n"
    "reduce 8 64KiB 10ms reduce/clairvoyant 16KiB\n"
    "reduce 8 1MiB any reduce/ring\n"
    "reduce 16 1MiB any native\n"
    "allgather 4 1000 any allgather/recursive_doubling\n";

problem reduce_of(std::int32_t ranks) {
    problem p;
    p.what = collective::reduce;
    p.ranks = ranks;
    return p;
}

std::string_view found(const rules& r, const problem& p, std::int64_t chunk) {
    const rule* const one = r.find(p, chunk);
    return one == nullptr ? "none" : one->use->id;
}

TEST(rules, say_whose_ranks_may_round_differently) {
    EXPECT_TRUE(cautions(rules::parse(some, "some")).empty());
    const std::vector<std::string> said =
        cautions(rules::parse("allreduce 4 1 any allreduce/dissemination\nallreduce 4 1KiB any allreduce/ring\n"
                              "allreduce 4 1MiB any allreduce/dissemination\n",
                              "some"));
    ASSERT_EQ(said.size(), 1U) << "once";
    EXPECT_EQ(said.front(),
              "allreduce/dissemination: ranks may get floating-point results that differ in the last bits");
}

TEST(rules, hold_from_their_values_up_to_the_next) {
    const rules r = rules::parse(some, "some");
    EXPECT_EQ(found(r, reduce_of(7), 1 << 20), "none");
    EXPECT_EQ(found(r, reduce_of(8), (64 << 10) - 1), "none");
    EXPECT_EQ(found(r, reduce_of(8), 64 << 10), "reduce/chain");
    EXPECT_EQ(found(r, reduce_of(15), (1 << 20) - 1), "reduce/chain");
    EXPECT_EQ(found(r, reduce_of(15), 1 << 20), "reduce/ring");
    EXPECT_EQ(found(r, reduce_of(16), 64 << 10), "none");
    EXPECT_EQ(found(r, reduce_of(16), 1 << 20), "none") << "native";
}

TEST(rules, are_chosen_by_the_imbalance_if_arrivals_are_known) {
    const rules r = rules::parse(some, "some");
    problem p = reduce_of(8);
    p.arrivals.assign(8, 1ms);
    EXPECT_EQ(found(r, p, 64 << 10), "reduce/binomial");
    p.arrivals[3] = 12ms;
    EXPECT_EQ(found(r, p, 64 << 10), "reduce/clairvoyant");
    EXPECT_EQ(found(r, p, 1 << 20), "reduce/ring") << "there is one for any";
}

TEST(rules, that_cannot_solve_a_problem_do_not_hold) {
    const rules r = rules::parse(some, "some");
    problem p;
    p.what = collective::allgather;
    p.ranks = 4;
    EXPECT_EQ(found(r, p, 250), "allgather/recursive_doubling") << "sizes are those of the buffer with all chunks";
    EXPECT_EQ(found(r, p, 249), "none");
    p.ranks = 6;
    EXPECT_EQ(found(r, p, 250), "none");
    problem ordered = reduce_of(8);
    ordered.commutative = false;
    EXPECT_EQ(found(r, ordered, 1 << 20), "none") << "a ring needs an operator that commutes";
}

TEST(rules, cut_vectors_and_plan_rounds_as_they_say) {
    const rules r = rules::parse(some, "some");
    problem p = reduce_of(8);
    p.arrivals.assign(8, 0ns);
    p.arrivals[0] = 20ms;
    const rule* const one = r.find(p, 100'000);
    ASSERT_NE(one, nullptr);
    r.prepare(*one, p, 100'000);
    EXPECT_EQ(p.segments, 7U);
    EXPECT_GT(p.round_time, 10us);
}

TEST(rules, are_read_as_they_are_written) {
    const rules r = rules::parse(some, "some");
    const rules again = rules::parse(to_string(r), "again");
    ASSERT_EQ(again.all().size(), r.all().size());
    for (std::size_t i = 0; i < r.all().size(); ++i) {
        rule expected = r.all()[i];
        expected.line = again.all()[i].line;
        EXPECT_EQ(again.all()[i], expected);
    }
    EXPECT_EQ(again.network(), r.network());
    EXPECT_EQ(to_string(again), to_string(r));
}

TEST(rules, with_a_mistake_are_refused_with_the_line_and_the_reason) {
    const auto text = [](const char* lines) { return error_text([lines] { (void)rules::parse(lines, "my.rules"); }); };
    EXPECT_EQ(text("reduce 8\n").substr(0, 36), "line 1 of rules 'my.rules': 2 words:");
    EXPECT_NE(text("\nreduce x 1 any reduce/ring\n").find("line 2 of rules 'my.rules': 'x'"), std::string::npos);
    EXPECT_NE(text("reduce 8 1 any reduce/rings\n").find("line 1"), std::string::npos);
    EXPECT_NE(text("reduce 8 1 any bcast/chain\n").find("another collective"), std::string::npos);
    EXPECT_NE(text("reduce 8 1 any reduce/binomial 8KiB\n").find("does not cut"), std::string::npos);
    EXPECT_NE(text("reduce 8 1 any native 8KiB\n").find("does not cut"), std::string::npos);
    EXPECT_NE(text("reduce 8 1 any reduce/ring\nreduce 8 1 any reduce/chain\n").find("line 2"), std::string::npos);
    EXPECT_NE(text("reduce 8 1 any reduce/clairvoyant\n").find("without a model"), std::string::npos);
    EXPECT_NE(text("model nonsense\n").find("line 1"), std::string::npos);
    EXPECT_NE(text("# nothing\n").find("is empty"), std::string::npos);
}

}  // namespace
}  // namespace rubato::simulator
