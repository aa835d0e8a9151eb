// Local Redirect under every order of arrivals and any timing of messages: nothing is lost, nobody hangs, nothing is
// left unread, and there are no more messages than its file promises.
#include "rubato/algorithm.hpp"
#include "rubato/verify.hpp"
#include "schedules/algorithms/dynamic.hpp"
#include "schedules/algorithms/pattern/tree.hpp"
#include "support/problems.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <random>
#include <set>

namespace rubato::schedules {
namespace {

const algorithm& local_redirect() { return find_algorithm("reduce/local_redirect"); }

std::int64_t depth(const problem& p, rank r) {
    const auto parent = knomial_tree(p.ranks, p.root, r, 2).parent;
    return parent ? 1 + depth(p, *parent) : 0;
}

std::int64_t most_messages(const problem& p) {
    std::int64_t sum = 0;
    for (rank r; r.value < p.ranks; ++r.value)
        if (r != p.root) sum += 8 * depth(p, r) + 1;
    return sum;
}

/// Receiver and sender of every message that carries data.
std::set<std::pair<std::int32_t, std::int32_t>> handed_over(const std::vector<schedule>& all) {
    std::set<std::pair<std::int32_t, std::int32_t>> pairs;
    for (std::size_t r = 0; r < all.size(); ++r)
        for (const step& s : all[r].steps)
            if (s.kind == step_kind::recv && s.count > 0) pairs.emplace(static_cast<std::int32_t>(r), s.peer);
    return pairs;
}

void expect_right(const problem& p, const pace& takes) {
    const std::vector<schedule> all = record(local_redirect(), p, takes);
    const auto text = [&] {
        std::vector<std::int64_t> arrivals;
        for (const time_ns t : p.arrivals) arrivals.push_back(t.count());
        return fmt::format("{} ranks, root {}, patience {}, notes {}, data {}, arrivals {}", p.ranks, p.root.value,
                           p.round_time.count(), takes.note.count(), takes.data.count(), arrivals);
    };
    const auto findings = verify(p, all);
    ASSERT_TRUE(findings.empty()) << text() << ": " << findings.front();
    ASSERT_EQ(handed_over(all).size(), static_cast<std::size_t>(p.ranks) - 1) << text();
    const std::vector<layout> sizes{layout::uniform(1)};
    ASSERT_LE(count_cost(all, sizes).messages, most_messages(p)) << text();
}

/// Calls f with every order in which n ranks can arrive, together or not: places 0, 1, ... with no gap.
template <class F>
void for_each_order(std::int32_t n, F f) {
    std::vector<std::int32_t> order(static_cast<std::size_t>(n));
    for (;;) {
        const std::set<std::int32_t> places(order.begin(), order.end());
        if (*places.rbegin() + 1 == static_cast<std::int32_t>(places.size())) f(order);
        std::size_t i = 0;
        for (; i < order.size() && ++order[i] == n; ++i) order[i] = 0;
        if (i == order.size()) return;
    }
}

TEST(local_redirect, is_right_for_every_order_of_arrivals) {
    using namespace std::chrono_literals;
    int orders = 0;
    for (std::int32_t ranks = 1; ranks <= 6; ++ranks) {
        for_each_order(ranks, [&](const std::vector<std::int32_t>& order) {
            problem p = problem_for(local_redirect(), ranks, orders++ % ranks);
            p.round_time = orders % 3 == 0 ? 0ns : 10ns;
            // Apart by less than a note takes, less than data takes, more than everything takes.
            const time_ns apart = std::vector{1ns, 7ns, 1000ns}[static_cast<std::size_t>(orders / 6 % 3)];
            for (const std::int32_t place : order) p.arrivals.push_back(place * apart);
            if (!::testing::Test::HasFatalFailure()) expect_right(p, {2ns, 10ns, 3ns});
        });
    }
    EXPECT_EQ(orders, 1 + 3 + 13 + 75 + 541 + 4683);
}

TEST(local_redirect, is_right_for_any_root_and_pace) {
    std::mt19937 random(5);
    const auto up_to = [&random](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
    for (std::int32_t ranks = 1; ranks <= 33; ++ranks) {
        for (std::int32_t root = 0; root < ranks; ++root) {
            problem p = problem_for(local_redirect(), ranks, root);
            p.round_time = time_ns(up_to(3) * 20);
            const auto spread = static_cast<std::uint32_t>(1 << up_to(12));
            for (std::int32_t r = 0; r < ranks; ++r) p.arrivals.emplace_back(up_to(spread));
            expect_right(p, {time_ns(up_to(10)), time_ns(up_to(100)), time_ns(up_to(10))});
            if (HasFatalFailure()) return;
        }
    }
}

/// Ranks whose clocks and messages go on at random; only messages of one pair keep their order.
class chaos {
public:
    chaos(const problem& p, unsigned seed) : p_(p), random_(seed), held_(static_cast<std::size_t>(p.ranks)) {
        for (rank r; r.value < p.ranks; ++r.value) {
            absent_.push_back(r);
            held_[static_cast<std::size_t>(r.value)] = {r.value};
            machines_.emplace_back();
        }
    }

    void run() {
        for (int idle = 0; idle < 1000; ++idle)  // patience ends some day, so nothing happening is not the end
            if (step()) idle = 0;
        ASSERT_TRUE(absent_.empty());
        for (rank r; r.value < p_.ranks; ++r.value)
            ASSERT_TRUE(at(r)->done()) << "rank " << r.value << " of " << p_.ranks;
        ASSERT_TRUE(notes_.empty() && data_.empty());
        ASSERT_EQ(held_[static_cast<std::size_t>(p_.root.value)].size(), static_cast<std::size_t>(p_.ranks));
        ASSERT_LE(messages_, most_messages(p_));
    }

private:
    using channel = std::pair<rank, rank>;  // from, to

    std::unique_ptr<state_machine>& at(rank r) { return machines_[static_cast<std::size_t>(r.value)]; }
    std::size_t any(std::size_t n) { return random_() % n; }
    std::set<std::int32_t>& held(rank r) { return held_[static_cast<std::size_t>(r.value)]; }

    bool step() {
        now_ += time_ns(static_cast<std::int64_t>(any(3)));
        if (!absent_.empty() && any(10) == 0) {
            const std::size_t i = any(absent_.size());
            const rank r = absent_[i];
            absent_.erase(absent_.begin() + static_cast<std::ptrdiff_t>(i));
            at(r) = local_redirect().dynamic(p_, r);
            decide(r);
            return true;
        }
        if (!data_.empty() && any(3) == 0) {
            const auto d = std::next(data_.begin(), static_cast<std::ptrdiff_t>(any(data_.size())));
            const auto [from, to] = *d;
            data_.erase(d);
            for (const std::int32_t r : held(from)) EXPECT_TRUE(held(to).insert(r).second) << "counted twice";
            held(from).clear();
            at(to)->taken(from);
            decide(to);
            return true;
        }
        if (!notes_.empty()) {
            const auto n = std::next(notes_.begin(), static_cast<std::ptrdiff_t>(any(notes_.size())));
            const auto [from, to] = n->first;
            if (!at(to)) return false;
            EXPECT_FALSE(at(to)->done()) << "a note for rank " << to.value << ", which is done";
            at(to)->receive(from, n->second.front());
            n->second.pop_front();
            if (n->second.empty()) notes_.erase(n);
            if (any(3) != 0) decide(to);
            return true;
        }
        const rank r(static_cast<std::int32_t>(any(machines_.size())));
        return at(r) && decide(r);
    }

    /// Whether anything was done.
    bool decide(rank r) {
        at(r)->decide(now_);
        const std::vector<action> actions = at(r)->actions();
        for (const action& a : actions) {
            if (a.what == action::verb::tell) notes_[{r, a.peer}].push_back(a.text);
            if (a.what == action::verb::take) data_.insert({a.peer, r});
            messages_ += a.what == action::verb::take ? 0 : 1;
        }
        return !actions.empty();
    }

    problem p_;
    std::mt19937 random_;
    std::vector<std::set<std::int32_t>> held_;  // whose contributions
    std::vector<std::unique_ptr<state_machine>> machines_{};
    std::vector<rank> absent_{};
    std::map<channel, std::deque<note>> notes_{};
    std::set<channel> data_{};
    std::int64_t messages_ = 0;
    time_ns now_{};
};

TEST(local_redirect, survives_any_order_of_messages) {
    for (unsigned seed = 0; seed < 400; ++seed) {
        const auto ranks = static_cast<std::int32_t>(1 + seed % 33);
        problem p = problem_for(local_redirect(), ranks, static_cast<std::int32_t>(seed * 7 % (1 + seed % 33)));
        p.round_time = time_ns(seed % 4 * 50);
        chaos(p, seed).run();
        if (HasFatalFailure()) FAIL() << "seed " << seed;
    }
}

/// Of other numbers of ranks some wait a round for a child anyway, and use it to hand over elsewhere.
TEST(local_redirect, is_the_binomial_tree_if_all_arrive_together) {
    for (std::int32_t ranks = 1; ranks <= 64; ranks *= 2) {
        problem p = problem_for(local_redirect(), ranks, ranks / 3);
        p.round_time = time_ns(1000);
        const std::vector<schedule> all = build_all(local_redirect(), p);
        EXPECT_EQ(handed_over(all), handed_over(build_all(find_algorithm("reduce/binomial"), p))) << ranks;
        const std::vector<layout> sizes{layout::uniform(1)};
        EXPECT_LE(count_cost(all, sizes).messages, 5 * (ranks - 1)) << ranks;
    }
}

TEST(local_redirect, has_only_the_latecomers_data_left_to_move) {
    const hockney costs{10, 1, 0};
    const std::vector<layout> sizes{layout::uniform(1000)};
    for (std::int32_t late = 0; late < 16; ++late) {
        problem p = problem_for(local_redirect(), 16);
        p.round_time = time_ns(1010);
        p.arrivals.resize(16);
        p.arrivals[static_cast<std::size_t>(late)] = time_ns(20'000);
        const auto all = record(local_redirect(), p, {time_ns(10), time_ns(1010)});
        const time_ns end = std::ranges::max(simulate({costs}, all, sizes, p.arrivals).exits);
        // It asks, is sent on, is asked back: notes, but no second transfer of data.
        EXPECT_LT(end, time_ns(20'000 + 2 * 1010)) << late;
    }
}

}  // namespace
}  // namespace rubato::schedules
