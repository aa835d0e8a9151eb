// Random patterns in memory: messages, receipts and the end of a barrier take any time, ranks come at any time, and
// exchanges follow each other without a pause.
#include "engine/execute/sparse_exchange.hpp"

#include "support/dice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>

namespace rubato {
namespace {

using testing::dice;

/// One step is one look of one rank.
class network {
public:
    network(std::int32_t ranks, dice& random, bool tells_apart)
        : random_(random), boxes_(static_cast<std::size_t>(ranks)), tells_apart_(tells_apart) {}

    struct letter {
        engine::incoming what;
        std::uint64_t exchange;
        std::uint64_t due;
        std::shared_ptr<std::uint64_t> receipt;  // when the sender knows that it was received
    };

    std::uint64_t now = 0;
    std::uint64_t later() { return now + static_cast<std::uint64_t>(random_.draw(random_.chance(90) ? 20 : 2000)); }
    bool alike(std::uint64_t a, std::uint64_t b) const { return !tells_apart_ || a % 2 == b % 2; }
    std::deque<letter>& box(rank of) { return boxes_[static_cast<std::size_t>(of.value)]; }
    std::vector<std::uint64_t>& entered(std::uint64_t exchange) {
        while (barriers_.size() <= exchange) barriers_.emplace_back();
        return barriers_[exchange];
    }

private:
    dice& random_;
    std::vector<std::deque<letter>> boxes_;
    std::deque<std::vector<std::uint64_t>> barriers_{};  // when each rank entered, in any order
    bool tells_apart_;
};

class slow_post final : public engine::sparse_exchange::post {
public:
    slow_post(network& n, rank me, std::int32_t ranks, std::uint64_t exchange)
        : network_(n), me_(me), ranks_(ranks), exchange_(exchange) {}

    void send(const engine::outgoing& p) override {
        auto& box = network_.box(p.to);
        std::uint64_t due = network_.later();
        // In order between any two.
        for (const network::letter& l : box)
            if (l.what.from == me_) due = std::max(due, l.due);
        sent_.push_back(std::make_shared<std::uint64_t>(UINT64_MAX));
        box.push_back({{me_, {p.data.begin(), p.data.end()}}, exchange_, due, sent_.back()});
    }
    bool all_received() override {
        return std::ranges::all_of(sent_, [this](const auto& receipt) { return *receipt <= network_.now; });
    }
    bool receive(engine::incoming& p) override {
        auto& box = network_.box(me_);
        const auto found = std::ranges::find_if(box, [this](const network::letter& l) {
            return l.due <= network_.now && network_.alike(l.exchange, exchange_);
        });
        if (found == box.end()) return false;
        p = std::move(found->what);
        *found->receipt = network_.later();
        box.erase(found);
        return true;
    }
    void enter_barrier() override {
        network_.entered(exchange_).push_back(network_.now);
        ends_ = network_.later();
    }
    bool barrier_has_ended() override {
        return std::ssize(network_.entered(exchange_)) == ranks_ && ends_ <= network_.now;
    }

private:
    network& network_;
    rank me_;
    std::int32_t ranks_;
    std::uint64_t exchange_;
    std::uint64_t ends_ = 0;
    std::vector<std::shared_ptr<std::uint64_t>> sent_{};
};

struct given {
    rank to;
    std::vector<std::byte> data;
};
/// What each rank sends in each exchange.
using pattern = std::vector<std::vector<std::vector<given>>>;

pattern draw_pattern(dice& random, std::int32_t ranks, std::uint64_t exchanges) {
    pattern all(exchanges, std::vector<std::vector<given>>(static_cast<std::size_t>(ranks)));
    for (std::uint64_t x = 0; x < exchanges; ++x) {
        const std::int32_t most = random.draw(ranks + 2);
        for (auto& mine : all[x])
            for (std::int32_t i = random.draw(most + 1); i > 0; --i) {
                given p{rank(random.draw(ranks)), {}};
                p.data.resize(static_cast<std::size_t>(random.draw(9)), static_cast<std::byte>(random.draw(256)));
                mine.push_back(std::move(p));
            }
    }
    return all;
}

std::vector<engine::incoming> expected(const std::vector<std::vector<given>>& sent, rank me) {
    std::vector<engine::incoming> all;
    for (std::size_t r = 0; r < sent.size(); ++r)
        for (const given& p : sent[r])
            if (p.to == me) all.push_back({rank(static_cast<std::int32_t>(r)), p.data});
    return all;
}

/// What goes wrong, or nothing.
std::string run(std::uint64_t seed, bool tells_apart) {
    dice random(seed);
    const std::int32_t ranks = 1 + random.draw(9);
    const std::uint64_t exchanges = 1 + static_cast<std::uint64_t>(random.draw(4));
    const pattern all = draw_pattern(random, ranks, exchanges);
    network between(ranks, random, tells_apart);
    struct process {
        std::uint64_t at = 0;
        std::uint64_t comes = 0;
        std::unique_ptr<slow_post> post{};
        std::unique_ptr<engine::sparse_exchange> now{};
    };
    std::vector<process> processes(static_cast<std::size_t>(ranks));
    for (process& p : processes) p.comes = between.later();
    std::int32_t ended = 0;
    for (std::uint64_t steps = 0; ended < ranks; ++steps) {
        if (steps > 2'000'000) return "it does not end";
        ++between.now;
        const rank me(random.draw(ranks));
        process& p = processes[static_cast<std::size_t>(me.value)];
        if (p.at == exchanges || p.comes > between.now) continue;
        const auto& sent = all[p.at];
        if (!p.now) {
            p.post = std::make_unique<slow_post>(between, me, ranks, p.at);
            std::vector<engine::outgoing> mine;
            for (const given& g : sent[static_cast<std::size_t>(me.value)]) mine.push_back({g.to, g.data});
            p.now = std::make_unique<engine::sparse_exchange>(mine, *p.post);
        }
        if (!p.now->progress()) continue;
        if (p.now->take() != expected(sent, me)) return "a rank has received something else";
        p.now.reset();
        p.comes = random.chance(50) ? between.now : between.later();
        ended += ++p.at == exchanges ? 1 : 0;
    }
    for (std::int32_t r = 0; r < ranks; ++r)
        if (!between.box(rank(r)).empty()) return "something was not received";
    return {};
}

TEST(sparse_exchange, is_right_for_ten_thousand_random_patterns) {
    for (std::uint64_t seed = 1; seed <= 10000; ++seed) ASSERT_EQ(run(seed, true), "") << "seed " << seed;
}

TEST(sparse_exchange, the_network_of_this_test_shows_that_exchanges_must_be_told_apart) {
    int wrong = 0;
    for (std::uint64_t seed = 1; seed <= 300; ++seed) wrong += run(seed, false).empty() ? 0 : 1;
    EXPECT_GT(wrong, 10);
}

}  // namespace
}  // namespace rubato
