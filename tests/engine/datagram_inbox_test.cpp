#include "engine/execute/multicast_chain.hpp"

#include <gtest/gtest.h>

namespace rubato {
namespace {

constexpr std::uint64_t key_of_tests = 4711;

/// A datagram with 8 bytes, of a message of 100.
std::vector<std::byte> raw_of(std::uint64_t call, std::uint64_t fragment) {
    engine::datagram_head head;
    head.key = key_of_tests;
    head.call = call;
    head.bytes = 100;
    head.fragment = fragment;
    std::vector<std::byte> raw(sizeof head + 8);
    std::memcpy(raw.data(), &head, sizeof head);
    return raw;
}

TEST(datagram_inbox, keeps_no_more_than_its_bound) {
    engine::datagram_inbox inbox(key_of_tests, 20);
    inbox.begin(1, 100);
    engine::multicast_chain::datagram d;
    for (std::uint64_t fragment = 0; fragment < 5; ++fragment) EXPECT_FALSE(inbox.accept(raw_of(2, fragment), d));
    inbox.begin(2, 100);
    EXPECT_TRUE(inbox.take_kept(d));
    EXPECT_TRUE(inbox.take_kept(d));
    EXPECT_EQ(d.fragment, 1);
    EXPECT_FALSE(inbox.take_kept(d));
}

TEST(datagram_inbox, forgets_what_it_kept_for_calls_that_have_ended) {
    engine::datagram_inbox inbox(key_of_tests, 20);
    inbox.begin(1, 100);
    engine::multicast_chain::datagram d;
    for (const std::uint64_t call : {2U, 3U}) EXPECT_FALSE(inbox.accept(raw_of(call, 0), d));
    inbox.begin(3, 100);
    EXPECT_TRUE(inbox.take_kept(d));
    EXPECT_FALSE(inbox.take_kept(d));
    for (const std::uint64_t fragment : {0U, 1U}) EXPECT_FALSE(inbox.accept(raw_of(4, fragment), d));
    inbox.begin(4, 100);  // there was room for both
    EXPECT_TRUE(inbox.take_kept(d));
    EXPECT_TRUE(inbox.take_kept(d));
}

}  // namespace
}  // namespace rubato
