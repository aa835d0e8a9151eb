#include "direct/pacer.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

namespace rubato {
namespace {

using namespace std::chrono_literals;

/// What ranks gather, in the order in which they do.
struct wall {
    int ranks;
    std::vector<std::map<int, std::vector<std::byte>>> gathered{};
};

class paper_board final : public board {
public:
    paper_board(wall& w, int me) : wall_(w), me_(me) {}

    std::uint64_t gather(std::span<const std::byte> mine) override {
        if (next_ == wall_.gathered.size()) wall_.gathered.emplace_back();
        wall_.gathered[next_][me_].assign(mine.begin(), mine.end());
        return next_++;
    }
    bool is_there(std::uint64_t ticket) override { return std::ssize(wall_.gathered[ticket]) == wall_.ranks; }
    std::vector<std::byte> take(std::uint64_t ticket) override {
        EXPECT_TRUE(is_there(ticket)) << "a started call waits";
        std::vector<std::byte> all;
        for (const auto& [r, bytes] : wall_.gathered[ticket]) all.insert(all.end(), bytes.begin(), bytes.end());
        return all;
    }
    std::uint64_t tell(rank, std::span<const std::byte>) override { return 0; }
    void synchronise() override {}
    const model& network() override { return network_; }
    time_ns now() override { return {}; }

private:
    wall& wall_;
    int me_;
    std::size_t next_ = 0;
    model network_{};
};

/// A program that starts a call, computes, and waits for it.
struct program {
    int ranks = 3;
    std::uint64_t calls = 1000;
    time_ns computing = 10ms;
    std::function<time_ns(std::uint64_t call, bool plan)> waiting;
};

struct outcome {
    std::vector<bool> plans{};
    std::vector<decision> explained{};
    time_ns total{};

    auto by_plan(std::size_t from) const {
        return std::count(plans.begin() + static_cast<std::ptrdiff_t>(from), plans.end(), true);
    }
};

outcome run(const program& p) {
    wall w{p.ranks};
    std::deque<paper_board> boards;
    std::deque<effort> processes;
    std::deque<pacer> all;
    std::vector<outcome> seen(static_cast<std::size_t>(p.ranks));
    for (int r = 0; r < p.ranks; ++r) {
        boards.emplace_back(w, r);
        processes.emplace_back();
        all.emplace_back(pacer::settings{p.ranks, 0.01, &processes.back()}, boards.back(),
                         [&explained = seen[static_cast<std::size_t>(r)].explained](const decision& d) {
                             explained.push_back(d);
                         });
    }
    time_ns now{};
    time_ns waited{};
    for (std::uint64_t call = 0; call < p.calls; ++call) {
        const pacer::started_call c{{collective::allreduce, rank(0), 1 << 20}, "allreduce/ring", now, waited};
        // Ranks start it one after the other; who does not know what makes it asks again.
        std::vector<std::optional<bool>> plans(all.size());
        for (int round = 0; round < 2; ++round)
            for (std::size_t r = 0; r < all.size(); ++r)
                if (!plans[r]) plans[r] = all[r].plans(c);
        for (const std::optional<bool>& one : plans) {
            EXPECT_TRUE(one) << "call " << call;
            EXPECT_EQ(one, plans.front()) << "call " << call;
        }
        const bool plan = plans.front().value_or(false);
        for (outcome& o : seen) o.plans.push_back(plan);
        now += p.computing + p.waiting(call, plan);
        waited += p.waiting(call, plan);
    }
    for (const outcome& o : seen) EXPECT_EQ(o.explained, seen.front().explained);
    seen.front().total = now;
    return seen.front();
}

TEST(pacer, finds_that_a_plan_hides_what_the_native_call_does_not) {
    const outcome o = run({.waiting = [](std::uint64_t, bool plan) { return time_ns(plan ? 1ms : 9ms); }});
    EXPECT_EQ(o.by_plan(0), o.by_plan(9)) << "no plan before it has looked";
    EXPECT_GT(o.by_plan(17), 900) << "from the 18th on, apart from a look back now and then";
    EXPECT_TRUE(o.plans.back());
    ASSERT_GE(o.explained.size(), 2U);
    EXPECT_EQ(o.explained[0].made, decision::verdict::tried);
    EXPECT_EQ(o.explained[1].made, decision::verdict::kept);
    EXPECT_EQ(o.explained[1].algorithm, "allreduce/ring");
    EXPECT_EQ(o.explained[1].measured->period, 11ms);
    EXPECT_EQ(o.explained[1].of_incumbent->period, 19ms);
}

TEST(pacer, leaves_alone_what_the_program_does_not_wait_for) {
    const outcome o = run({.waiting = [](std::uint64_t, bool) { return time_ns(100us); }});
    EXPECT_EQ(o.by_plan(0), 0);
    ASSERT_EQ(o.explained.size(), 1U);
    EXPECT_EQ(o.explained.front().made, decision::verdict::left);
}

TEST(pacer, gives_up_a_plan_that_is_no_better) {
    const program p{.calls = 20000, .waiting = [](std::uint64_t, bool plan) { return time_ns(plan ? 15ms : 9ms); }};
    const outcome o = run(p);
    const time_ns natively = 20000 * 19ms;
    EXPECT_LE(o.total, natively + natively / 100 + 6 * 6ms) << "the first trial is free";
    EXPECT_GE(o.by_plan(0), 12) << "it is tried again";
    EXPECT_FALSE(o.plans.back());
    EXPECT_EQ(o.explained[1].made, decision::verdict::withdrawn);
}

TEST(pacer, follows_a_program_that_changes) {
    const auto turns_at = [](std::uint64_t when) {
        return [=](std::uint64_t call, bool plan) { return time_ns(plan == (call < when) ? 2ms : 9ms); };
    };
    EXPECT_LT(run({.calls = 4000, .waiting = turns_at(500)}).by_plan(2000), 20) << "a trial now and then";
    const auto turns_to_plan = [](std::uint64_t call, bool plan) { return time_ns(plan == (call >= 500) ? 2ms : 9ms); };
    EXPECT_GT(run({.calls = 4000, .waiting = turns_to_plan}).by_plan(3000), 900);
}

/// A small wait must be affordable before anything is tried for it.
TEST(pacer, tries_what_it_can_afford) {
    const outcome o = run({.waiting = [](std::uint64_t, bool plan) { return time_ns(plan ? 100us : 1ms); }});
    EXPECT_EQ(o.by_plan(0), o.by_plan(54)) << "six calls cost 6 ms at most, 1 % of 55 calls";
    EXPECT_TRUE(o.plans.back());
}

}  // namespace
}  // namespace rubato
