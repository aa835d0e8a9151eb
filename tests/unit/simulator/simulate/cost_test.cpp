#include "rubato/cost.hpp"

#include "rubato/algorithm.hpp"
#include "support/error_text.hpp"
#include "support/hand_made.hpp"
#include "support/registry.hpp"

#include <gtest/gtest.h>

namespace rubato::simulator {
namespace {

using testing::registered;

constexpr std::int64_t size = 100;

cost count(const std::vector<schedule>& all, std::int64_t bytes = size) {
    const std::vector<layout> sizes{layout::uniform(bytes)};
    return rubato::count_cost(all, sizes);
}

// Energies that are whole numbers and no static power, so that sums are exact.
model simple() {
    model m{loggp5{1, 1, 1}};
    m.message_energy = 7;
    m.byte_energy = 3;
    m.static_power = 0;
    return m;
}

// Hoefler & Moor 2014, 3.1.
TEST(cost, flat_tree) {
    for (const std::int32_t ranks : {2, 5, 16}) {
        const cost c = count(hand_made::flat_bcast(ranks));
        EXPECT_EQ(c.rounds, 1);
        EXPECT_EQ(rubato::energy(simple(), c, time_ns(5)), (ranks - 1) * (7 + size * 3.));
        EXPECT_EQ(rubato::descriptor_memory(simple(), c), 32 * (ranks - 1));
    }
}

TEST(cost, binomial_tree) {
    for (int n = 0; n <= 7; ++n) {
        const std::int32_t ranks = 1 << n;
        for (const std::string_view id : {"bcast/binomial", "reduce/binomial"}) {
            const cost c = count(testing::registered(id, ranks));
            EXPECT_EQ(c.rounds, n) << id;
            EXPECT_EQ(c.messages, ranks - 1);
            EXPECT_EQ(c.bytes, (ranks - 1) * size);
            EXPECT_EQ(rubato::energy(simple(), c, time_ns(5)), (ranks - 1) * (7 + size * 3.)) << id;
        }
        EXPECT_EQ(rubato::descriptor_memory(simple(), count(testing::registered("bcast/binomial", ranks))), 32 * n);
    }
}

TEST(cost, personalised_binomial_tree) {
    for (int n = 1; n <= 7; ++n) {
        const std::int32_t ranks = 1 << n;
        const cost c = count(hand_made::binomial_scatter(ranks));
        EXPECT_EQ(c.rounds, n);
        EXPECT_EQ(rubato::energy(simple(), c, time_ns(5)), 7. * (ranks - 1) + size * 3. * ranks / 2 * n);
        EXPECT_EQ(rubato::descriptor_memory(simple(), c), 32 * n);
    }
}

TEST(cost, kary_tree) {
    const cost c = count(hand_made::kary_bcast(13, 3));
    EXPECT_EQ(c.rounds, 2);
    EXPECT_EQ(rubato::energy(simple(), c, time_ns(5)), 12 * (7 + size * 3.));
    EXPECT_EQ(rubato::descriptor_memory(simple(), c), 32 * 3);
}

TEST(cost, per_rank) {
    const cost c = count(hand_made::binomial_scatter(4));
    ASSERT_EQ(c.ranks.size(), 4U);
    EXPECT_EQ(c.ranks[0].messages, 2);
    EXPECT_EQ(c.ranks[0].bytes, 3 * size);
    EXPECT_EQ(c.ranks[0].scratch, 0);
    EXPECT_EQ(c.ranks[1].messages, 0);
    EXPECT_EQ(c.ranks[2].messages, 1);
    EXPECT_EQ(c.ranks[2].bytes, size);
    EXPECT_EQ(c.ranks[2].scratch, 2 * size);
    EXPECT_EQ(c.messages, 3);
    EXPECT_EQ(c.bytes, 4 * size);
}

TEST(cost, rounds_are_the_messages_on_the_longest_chain) {
    // Segments that do not wait for each other make no chain longer.
    EXPECT_EQ(count(hand_made::chain_reduce(5, 8)).rounds, 4);
    // A second message that waits for the first one's buffer does.
    const auto reuse = hand_made::all_ranks(collective::alltoall, 2, 1, [](builder& b, std::int32_t r) {
        const slice slot = b.scratch_chunks();
        for (const std::uint32_t i : {0U, 1U}) {
            if (r == 1) {
                b.recv(rank(0), b.output(i));
                continue;
            }
            b.copy(b.input(i), slot);
            b.send(rank(1), slot);
        }
    });
    EXPECT_EQ(count(reuse).rounds, 2);
    // Empty messages count.
    const auto barrier = hand_made::all_ranks(collective::barrier, 4, 1, [](builder& b, std::int32_t r) {
        for (std::int32_t distance = 1; distance < 4; distance *= 2) {
            b.send(rank((r + distance) % 4), builder::nothing());
            b.recv(rank((r + 4 - distance) % 4), builder::nothing());
            b.fence();
        }
    });
    EXPECT_EQ(count(barrier).rounds, 2);
    EXPECT_EQ(count(barrier).messages, 8);
    EXPECT_EQ(count(barrier).bytes, 0);
}

TEST(cost, every_rank_leaks_for_the_whole_time) {
    model m{loggp5{1, 1, 1}};
    const cost c = count(hand_made::flat_bcast(4));
    EXPECT_DOUBLE_EQ(rubato::energy(m, c, time_ns(1'000'000)), 4 * 0.5 * 1e-3 + 3 * (16.5e-6 + 100 * 8.1e-9));
}

TEST(cost, errors) {
    const auto all = hand_made::flat_bcast(3);
    EXPECT_EQ(error_text([&] { rubato::count_cost(all, std::vector<layout>(2)); }).find("2 layouts for 3 ranks"), 0U);
    auto lonely = all;
    lonely[2].steps[0].message = 1;
    EXPECT_EQ(error_text([&] { count(lonely); }).find("rank 2 never runs step 0"), 0U);
}

}  // namespace
}  // namespace rubato::simulator
