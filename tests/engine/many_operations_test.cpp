// Very many operations on one communicator: nothing that counts them may run over.
#include "engine/execute/player.hpp"
#include "support/memory_stage.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <deque>

namespace rubato {
namespace {

using testing::memory_call;

/// RUBATO_OPERATIONS, or a few.
std::uint64_t operations_to_try() {
    const char* const said = std::getenv("RUBATO_OPERATIONS");
    return said != nullptr ? std::strtoull(said, nullptr, 10) : 20000;
}

struct one_rank {
    one_rank(testing::hall& h, rank who) : me(who), stage(h, who, 1), plays(who, h.ranks(), stage, {}) {
        stage.room = 50;  // as if tags were used again
    }

    rank me;
    testing::memory_stage stage;
    engine::player plays;
    struct started {
        engine::player::ticket ticket;
        memory_call call;
    };
    std::deque<started> under_way{};
};

TEST(player, counts_many_operations) {
    constexpr std::size_t most = 64;
    const std::uint64_t all = operations_to_try();
    testing::hall between(2);
    std::deque<one_rank> ranks;
    ranks.emplace_back(between, rank(0));
    ranks.emplace_back(between, rank(1));
    engine::intent what;
    what.use = &find_algorithm("allreduce/recursive_doubling");
    what.what.what = collective::allreduce;
    what.what.ranks = 2;
    what.bytes = sizeof(testing::affine);
    what.type = what.op = 0;
    std::array<std::vector<testing::affine>, 2> expected;
    for (std::int32_t r = 0; r < 2; ++r)
        expected[static_cast<std::size_t>(r)] = testing::expected_output(what.what, r, 1);
    std::uint64_t ended = 0;
    while (ended < 2 * all) {  // NOLINT(bugprone-infinite-loop): 'ended' grows within
        for (one_rank& r : ranks) {
            while (r.plays.number() < all && r.under_way.size() < most) {
                auto& s = r.under_way.emplace_back(one_rank::started{nullptr, memory_call(what.what, r.me.value, 1)});
                s.ticket = r.plays.arrive(what, &s.call, {});
            }
            while (!r.under_way.empty() && r.plays.progress(r.under_way.front().ticket, false)) {
                ASSERT_EQ(r.under_way.front().call.output, expected[static_cast<std::size_t>(r.me.value)]) << ended;
                r.under_way.pop_front();
                ++ended;
            }
        }
        const std::uint64_t done = std::min(ranks[0].plays.number() - ranks[0].under_way.size(),
                                            ranks[1].plays.number() - ranks[1].under_way.size());
        between.forget(done);
    }
    EXPECT_EQ(ranks[0].plays.number(), all);
}

}  // namespace
}  // namespace rubato
