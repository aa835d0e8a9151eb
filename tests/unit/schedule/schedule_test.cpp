#include "rubato/schedule.hpp"

#include "rubato/algorithm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

namespace rubato {
namespace {

/// Schedules of every registered algorithm, small, with all that a schedule can have.
std::vector<schedule> samples() {
    std::vector<schedule> all;
    for (const algorithm& a : algorithms()) {
        for (const std::int32_t ranks : {1, 4, 7}) {
            problem p;
            p.what = a.what;
            p.ranks = ranks;
            p.segments = 3;
            p.root = rank(traits(a.what).rooted ? ranks - 1 : 0);
            if (unmet_need(a, p)) continue;
            for (schedule& s : build_all(a, p)) all.push_back(std::move(s));
        }
    }
    return all;
}

TEST(schedule, survives_a_round_trip_through_bytes) {
    for (const schedule& s : samples()) EXPECT_EQ(schedule_from_bytes(to_bytes(s)), s);
    EXPECT_EQ(schedule_from_bytes(to_bytes(schedule{})), schedule{});
}

TEST(schedule, bytes_hold_the_largest_numbers) {
    schedule s;
    s.parts = UINT32_MAX;
    s.scratch = {UINT32_MAX};
    s.steps.push_back({step_kind::recv, buffer::scratch, buffer::scratch, UINT32_MAX, UINT32_MAX, UINT32_MAX,
                       UINT32_MAX, INT32_MAX, UINT32_MAX});
    s.first_dependency.push_back(0);
    EXPECT_EQ(schedule_from_bytes(to_bytes(s)), s);
}

TEST(schedule, equal_schedules_hash_alike_and_others_do_not) {
    std::set<std::size_t> hashes;
    std::vector<schedule> distinct;
    for (const schedule& s : samples()) {
        EXPECT_EQ(hash(s), hash(schedule(s)));
        if (std::ranges::find(distinct, s) != distinct.end()) continue;
        distinct.push_back(s);
        EXPECT_TRUE(hashes.insert(hash(s)).second);
    }
    ASSERT_GT(distinct.size(), 5U);
}

TEST(schedule, every_field_counts_in_equality_and_hash) {
    schedule s;
    s.scratch = {0};
    s.steps = {{step_kind::send, buffer::input, buffer::output, 1, 2, 3, 4, 5, 6}, {}};
    s.first_dependency = {0, 0, 1};
    s.dependencies = {0};
    std::vector<schedule> others(12, s);
    others[0].parts = 2;
    others[1].scratch[0] = 1;
    others[2].steps[0].kind = step_kind::recv;
    others[3].steps[0].from = buffer::scratch;
    others[4].steps[0].to = buffer::scratch;
    others[5].steps[0].source = 9;
    others[6].steps[0].target = 9;
    others[7].steps[0].shape = 9;
    others[8].steps[0].count = 9;
    others[9].steps[0].peer = 9;
    others[10].steps[0].message = 9;
    others[11].first_dependency = {0, 1, 1};
    for (const schedule& o : others) {
        EXPECT_NE(o, s);
        EXPECT_NE(hash(o), hash(s));
    }
}

TEST(schedule, rejects_bytes_cut_short_or_continued) {
    for (const schedule& s : samples()) {
        std::vector<std::byte> bytes = to_bytes(s);
        for (std::size_t n = 0; n < bytes.size(); ++n)
            EXPECT_THROW(schedule_from_bytes(std::span(bytes).first(n)), error) << n << " of " << bytes.size();
        bytes.push_back(std::byte{0});
        EXPECT_THROW(schedule_from_bytes(bytes), error);
    }
}

TEST(schedule, broken_bytes_are_rejected_or_are_another_schedule) {
    std::mt19937 random(1);
    const std::vector<schedule> all = samples();
    int rejected = 0;
    for (int i = 0; i < 20000; ++i) {
        std::vector<std::byte> bytes = to_bytes(all[random() % all.size()]);
        for (auto flips = random() % 4 + 1; flips > 0; --flips)
            bytes[random() % bytes.size()] ^= static_cast<std::byte>(1U << random() % 8);
        if (random() % 4 == 0) bytes.resize(random() % bytes.size());
        try {
            const schedule s = schedule_from_bytes(bytes);
            ASSERT_GT(s.parts, 0U);
            ASSERT_EQ(s.first_dependency.size(), s.steps.size() + 1);
            for (std::size_t k = 0; k < s.steps.size(); ++k)
                for (const std::uint32_t d : s.dependencies_of(k)) ASSERT_LT(d, k);
            to_string(s);
        } catch (const error&) {
            ++rejected;
        }
    }
    EXPECT_GT(rejected, 1000);
}

TEST(schedule, noise_is_rejected) {
    std::mt19937 random(2);
    for (int i = 0; i < 2000; ++i) {
        std::vector<std::byte> bytes(random() % 64);
        for (std::byte& b : bytes) b = static_cast<std::byte>(random());
        EXPECT_THROW(schedule_from_bytes(bytes), error);
    }
    // Four good bytes and a count that asks for more memory than there is.
    std::vector<std::byte> bytes = to_bytes(schedule{});
    bytes.resize(5);
    for (int i = 0; i < 4; ++i) bytes.push_back(std::byte{0xff});
    bytes.push_back(std::byte{0x0f});
    EXPECT_THROW(schedule_from_bytes(bytes), error);
}

TEST(schedule, steps_read_as_sentences) {
    step s;
    s.kind = step_kind::send;
    s.from = buffer::output;
    s.source = 3;
    s.count = 3;
    s.peer = 7;
    s.message = 2;
    EXPECT_EQ(to_string(s), "send output[3..5] to 7 (message 2)");
    s.count = 0;
    EXPECT_EQ(to_string(s), "send nothing to 7 (message 2)");
    s = {step_kind::recv, buffer::input, buffer::scratch, 0, 4, 0, 1, 1, 0};
    EXPECT_EQ(to_string(s), "recv scratch[4] from 1 (message 0)");
    s = {step_kind::combine, buffer::input, buffer::output, 0, 4, 0, 2, -1, 0};
    EXPECT_EQ(to_string(s), "combine input[0..1] into output[4..5]");
    s.kind = step_kind::copy;
    EXPECT_EQ(to_string(s), "copy input[0..1] to output[4..5]");
}

TEST(schedule, lists_steps_with_what_they_wait_for) {
    problem p;
    p.what = collective::reduce;
    p.ranks = 4;
    EXPECT_EQ(to_string(build_one(find_algorithm("reduce/binomial"), p, rank(0))),
              "   0  recv scratch[0] from 1 (message 0)\n"
              "   1  combine input[0] into scratch[0]  after 0\n"
              "   2  recv output[0] from 2 (message 0)\n"
              "   3  combine scratch[0] into output[0]  after 1, 2\n");
}

}  // namespace
}  // namespace rubato
