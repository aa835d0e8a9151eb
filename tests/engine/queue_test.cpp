// The player's queue against a plain model: calls are made, arrive, are passed and asked for in random order. Each
// result is given once, to the call that it belongs to, and calls arrive in the order in which they were made.
#include "engine/execute/player.hpp"
#include "support/memory_stage.hpp"

#include <gtest/gtest.h>

#include <deque>

namespace rubato {
namespace {

using testing::memory_call;

struct modelled_call {
    engine::player::ticket ticket = nullptr;
    std::uint64_t number = 0;
    std::unique_ptr<memory_call> data{};
    bool arrived = false;
    bool refused = false;  // its result is an error
};

class one_queue {
public:
    one_queue(testing::hall& between, rank me, std::uint64_t seed)
        : stage_(between, me, seed), player_(me, between.ranks(), stage_, {}), me_(me) {
        what_.use = &find_algorithm("allreduce/recursive_doubling");
        what_.what.what = collective::allreduce;
        what_.what.ranks = between.ranks();
        what_.bytes = sizeof(testing::affine);
        what_.type = what_.op = 0;
        expected_ = testing::expected_output(what_.what, me.value, 1);
        // Room is what makes calls wait that have arrived.
        if (seed % 3 == 0) stage_.room = 1 + seed % 5;
    }

    std::size_t made() const { return made_; }
    std::size_t asked_for() const { return asked_for_; }
    bool is_open() const { return !calls_.empty(); }

    void make(bool with_others) {
        modelled_call& c = calls_.emplace_back();
        c.number = made_++;
        c.refused = !with_others;
        c.ticket = player_.call({});
        ASSERT_NE(player_.first_called(), nullptr);
    }
    /// What all ranks decide alike for the first call that has not arrived.
    void enter_first() {
        const auto first = std::ranges::find(calls_, false, &modelled_call::arrived);
        if (first == calls_.end()) {
            ASSERT_EQ(player_.first_called(), nullptr);
            return;
        }
        ASSERT_EQ(player_.first_called(), first->ticket);
        ASSERT_EQ(player_.number(), first->number);
        first->arrived = true;
        if (first->refused) {
            player_.pass(first->ticket, std::make_exception_ptr(error(std::to_string(first->number))));
            return;
        }
        first->data = std::make_unique<memory_call>(what_.what, me_.value, 1);
        player_.arrive(first->ticket, what_, first->data.get());
    }
    void ask(std::size_t which) {
        const auto c = calls_.begin() + static_cast<std::ptrdiff_t>(which % calls_.size());
        if (!c->arrived) return;
        std::string said;
        try {
            if (!player_.progress(c->ticket, false)) {
                ASSERT_FALSE(c->refused) << "a refused call needs nobody else";
                return;
            }
        } catch (const error& e) {
            said = e.what();
        }
        ASSERT_EQ(said.empty(), !c->refused) << said;
        if (c->refused)
            ASSERT_NE(said.find(std::to_string(c->number)), std::string::npos) << said;
        else
            ASSERT_EQ(c->data->output, expected_);
        calls_.erase(c);
        ++asked_for_;
    }
    void poll() { (void)player_.poll(); }
    bool close() { return player_.close({}); }

private:
    testing::memory_stage stage_;
    engine::player player_;
    rank me_;
    engine::intent what_{};
    std::vector<testing::affine> expected_{};
    std::deque<modelled_call> calls_{};  // made and not asked for, in their order
    std::size_t made_ = 0;
    std::size_t asked_for_ = 0;
};

/// The same calls on all ranks; each makes, enters and asks when it likes.
void try_program(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    const auto ranks = static_cast<std::int32_t>(2 + random() % 3);
    testing::hall between(ranks);
    std::deque<one_queue> queues;
    for (rank r; r.value < ranks; ++r.value) queues.emplace_back(between, r, seed);
    std::vector<bool> with_others(1 + random() % 30);
    for (std::size_t i = 0; i < with_others.size(); ++i) with_others[i] = random() % 5 != 0;
    const auto is_over = [&](const one_queue& q) { return q.made() == with_others.size() && !q.is_open(); };
    for (std::size_t steps = 0; !std::ranges::all_of(queues, is_over); ++steps) {
        ASSERT_LT(steps, 1000000U) << "nobody moves any more";
        one_queue& q = queues[random() % queues.size()];
        switch (random() % 4) {
            case 0:
                if (q.made() < with_others.size()) q.make(with_others[q.made()]);
                break;
            case 1: q.enter_first(); break;
            case 2:
                if (q.is_open()) q.ask(random());
                break;
            default: q.poll();
        }
        if (::testing::Test::HasFatalFailure()) return;
    }
    for (const one_queue& q : queues) EXPECT_EQ(q.asked_for(), with_others.size());
    std::vector<bool> closed(queues.size());
    for (std::size_t steps = 0; std::ranges::find(closed, false) != closed.end(); ++steps) {
        ASSERT_LT(steps, 1000000U) << "the end does not come";
        const std::size_t r = random() % queues.size();
        if (!closed[r]) closed[r] = queues[r].close();
    }
    EXPECT_TRUE(between.exchanges_agree());
}

TEST(queue, gives_each_call_its_result_once) {
    for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
        SCOPED_TRACE(seed);
        try_program(seed);
        if (HasFailure()) return;
    }
}

/// Two ranks: one that calls another collective than it has named cannot use its player any more, and every call that
/// it makes or has made says so once.
TEST(queue, a_broken_player_answers_every_call) {
    testing::hall between(2);
    testing::memory_stage stage(between, rank(0), 1);
    engine::player p(rank(0), 2, stage, {});
    engine::intent what;
    what.use = &find_algorithm("allreduce/recursive_doubling");
    what.what.what = collective::allreduce;
    what.what.ranks = 2;
    what.bytes = sizeof(testing::affine);
    what.type = what.op = 0;
    engine::intent other = what;
    other.use = &find_algorithm("allreduce/ring");
    std::deque<memory_call> data;
    for (int i = 0; i < 3; ++i) data.emplace_back(what.what, 0, 1);
    const engine::player::ticket begun = p.arrive(what, &data[0], {});
    p.expect(what);
    const engine::player::ticket wrong = p.call({});
    const engine::player::ticket later = p.call({});
    p.arrive(wrong, other, &data[1]);
    EXPECT_TRUE(p.broken());
    ASSERT_EQ(p.first_called(), later);
    p.arrive(later, what, &data[2]);
    EXPECT_EQ(p.first_called(), nullptr);
    for (const engine::player::ticket t : {later, begun, wrong}) EXPECT_THROW((void)p.progress(t, true), error);
    EXPECT_THROW((void)p.arrive(what, &data[0], {}), error);
}

}  // namespace
}  // namespace rubato
