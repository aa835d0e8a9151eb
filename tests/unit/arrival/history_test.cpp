#include "rubato/history.hpp"

#include "support/error_text.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

namespace rubato {
namespace {

constexpr operation reduce_small{collective::reduce, 4, rank(2)};

const void* site(std::uintptr_t at) { return reinterpret_cast<const void*>(at); }  // NOLINT: only compared

std::vector<std::int64_t> arrivals(const operation_history& of) {
    std::vector<std::int64_t> all;
    for (std::size_t i = 0; i < of.recent().size(); ++i) all.push_back(of.recent()[i].arrival.count());
    return all;
}

TEST(history, size_classes_are_powers_of_two) {
    const auto size_class = [](std::int64_t bytes) {
        return int{operation_of(collective::bcast, rank(0), bytes).size_class};
    };
    EXPECT_EQ(size_class(0), 0);
    EXPECT_EQ(size_class(1), 1);
    EXPECT_EQ(size_class(1023), 10);
    EXPECT_EQ(size_class(1024), 11);
    EXPECT_EQ(size_class(2047), 11);
    EXPECT_EQ(size_class(INT64_MAX), 63);
}

TEST(history, keeps_the_last_calls_of_each_operation_oldest_first) {
    history h({.calls = 3});
    const operation other{collective::reduce, 4, rank(1)};
    for (int i = 1; i <= 5; ++i) {
        h.record(reduce_small, time_ns(i), time_ns(10 * i));
        if (i <= 2) h.record(other, time_ns(100 + i), time_ns(200 + i));
    }
    ASSERT_EQ(h.operations().size(), 2U);
    EXPECT_EQ(h.operations()[0].what(), reduce_small);
    EXPECT_EQ(h.operations()[0].calls(), 5U);
    EXPECT_EQ(arrivals(h.operations()[0]), (std::vector<std::int64_t>{3, 4, 5}));
    EXPECT_EQ(h.operations()[0].recent().newest().exit, time_ns(50));
    EXPECT_EQ(h.operations()[1].what(), other);
    EXPECT_EQ(h.operations()[1].calls(), 2U);
    EXPECT_EQ(arrivals(h.operations()[1]), (std::vector<std::int64_t>{101, 102}));
    EXPECT_EQ(h.find(other), &h.operations()[1]);
}

TEST(history, tells_operations_apart_by_collective_root_and_size_class) {
    history h;
    const std::vector<operation> all{reduce_small,
                                     {collective::allreduce, 4, rank(2)},
                                     {collective::reduce, 5, rank(2)},
                                     {collective::reduce, 4, rank(3)}};
    for (int round = 0; round < 3; ++round)
        for (const operation& o : all) h.record(o, time_ns(0), time_ns(1));
    ASSERT_EQ(h.operations().size(), all.size());
    for (std::size_t i = 0; i < all.size(); ++i) {
        EXPECT_EQ(h.operations()[i].what(), all[i]);
        EXPECT_EQ(h.operations()[i].calls(), 3U);
    }
    EXPECT_EQ(h.find({collective::barrier, 0, rank(0)}), nullptr);
}

TEST(history, counts_call_sites_as_far_as_there_is_room) {
    history h({.sites = 2});
    for (const std::uintptr_t at : {0x10U, 0x20U, 0x10U, 0x30U, 0x30U, 0x20U, 0x10U, 0x10U})
        h.record(reduce_small, time_ns(0), time_ns(1), site(at));
    const operation_history& of = h.operations()[0];
    ASSERT_EQ(of.sites().size(), 2U);
    EXPECT_EQ(of.sites()[0].address, site(0x10));
    EXPECT_EQ(of.sites()[0].calls, 4U);
    EXPECT_EQ(of.sites()[1].address, site(0x20));
    EXPECT_EQ(of.sites()[1].calls, 2U);
    EXPECT_EQ(of.calls_elsewhere(), 2U);
    EXPECT_EQ(of.calls(), 8U);
}

TEST(history, counts_calls_of_operations_for_which_there_is_no_room) {
    history h({.operations = 2});
    for (std::int32_t root = 0; root < 5; ++root) h.record({collective::bcast, 1, rank(root)}, time_ns(0), time_ns(1));
    h.record({collective::bcast, 1, rank(1)}, time_ns(0), time_ns(1));
    h.record({collective::bcast, 1, rank(4)}, time_ns(0), time_ns(1));
    EXPECT_EQ(h.operations().size(), 2U);
    EXPECT_EQ(h.operations()[1].calls(), 2U);
    EXPECT_EQ(h.calls_not_kept(), 4U);
    EXPECT_EQ(h.find({collective::bcast, 1, rank(4)}), nullptr);
}

TEST(history, does_not_move_what_it_keeps_once_all_operations_are_known) {
    history h({.calls = 4, .sites = 4});
    const operation other{collective::bcast, 1, rank(0)};
    h.record(reduce_small, time_ns(0), time_ns(1), site(1));
    h.record(other, time_ns(0), time_ns(1), site(1));
    const auto* operations = h.operations().data();
    const auto* sites = h.operations()[0].sites().data();
    const auto* oldest = &h.operations()[0].recent()[0];
    for (std::uintptr_t i = 2; i < 100; ++i) {
        h.record(reduce_small, time_ns(0), time_ns(1), site(i));
        h.record(other, time_ns(0), time_ns(1), site(i));
    }
    EXPECT_EQ(h.operations().data(), operations);
    EXPECT_EQ(h.operations()[0].sites().data(), sites);
    EXPECT_LT(std::abs(&h.operations()[0].recent()[0] - oldest), 4);
}

TEST(history, must_keep_something) {
    EXPECT_EQ(error_text([] { history({.calls = 0}); }).find("a history that keeps nothing: "), 0U);
    EXPECT_EQ(error_text([] { history({.operations = 0}); }).find("a history that keeps nothing: "), 0U);
}

}  // namespace
}  // namespace rubato
