#include "rubato/verify.hpp"

#include "rubato/builder.hpp"

#include <gtest/gtest.h>

#include <functional>

namespace rubato {
namespace {

TEST(verify, proves_every_registered_schedule) {
    for (const algorithm& a : algorithms()) {
        for (std::int32_t ranks = 1; ranks <= 20; ++ranks) {
            for (std::int32_t root = 0; root < (traits(a.what).rooted ? ranks : 1); ++root) {
                for (const bool commutative : {true, false}) {
                    problem p;
                    p.what = a.what;
                    p.ranks = ranks;
                    p.root = rank(root);
                    p.commutative = commutative;
                    if (unmet_need(a, p)) continue;
                    const auto findings = verify(p, build_all(a, p));
                    ASSERT_TRUE(findings.empty())
                        << a.id << " ranks " << ranks << " root " << root << ": " << findings.front();
                }
            }
        }
    }
}

/// What verify finds in schedules that `write` lists rank by rank; only the first, without rank and step.
std::string first_finding(const problem& p, std::uint32_t parts,
                          const std::function<void(builder&, std::int32_t)>& write) {
    std::vector<schedule> all;
    for (std::int32_t r = 0; r < p.ranks; ++r) {
        builder b(p, rank(r), parts);
        write(b, r);
        all.push_back(std::move(b).finish());
    }
    const auto findings = verify(p, all);
    if (findings.empty()) return "nothing";
    const std::size_t end = findings.front().find("): ");
    return end == std::string::npos ? findings.front() : findings.front().substr(end + 3);
}

problem two_ranks(collective what) {
    problem p;
    p.what = what;
    p.ranks = 2;
    return p;
}

TEST(verify, needs_the_schedules_of_all_ranks) {
    EXPECT_EQ(verify(two_ranks(collective::barrier), {}).front(), "there are 0 schedules for 2 ranks");
}

TEST(verify, finds_a_message_without_receiver_or_sender) {
    const problem p = two_ranks(collective::bcast);
    EXPECT_EQ(first_finding(p, 1,
                            [](builder& b, std::int32_t r) {
                                if (r == 0) b.send(rank(1), b.input());
                            }),
              "rank 1 never receives this message");
    EXPECT_EQ(first_finding(p, 1,
                            [](builder& b, std::int32_t r) {
                                if (r == 1) b.recv(rank(0), b.output());
                            }),
              "rank 0 never sends this message");
}

TEST(verify, finds_a_message_whose_ends_differ_in_size) {
    EXPECT_EQ(first_finding(two_ranks(collective::bcast), 2,
                            [](builder& b, std::int32_t r) {
                                if (r == 0) b.send(rank(1), b.input());
                                if (r == 1) b.recv(rank(0), b.output().sub(0));
                            }),
              "its size is not that of rank 0's step 0 (send input[0..1] to 1 (message 0))");
}

TEST(verify, finds_data_that_is_moved_in_part) {
    // Of two parts the first may be larger. It waits in scratch, and only as much as the second has is passed on.
    problem p = two_ranks(collective::bcast);
    p.ranks = 3;
    EXPECT_EQ(first_finding(p, 2,
                            [](builder& b, std::int32_t r) {
                                const slice slot = b.scratch(0, 1);
                                if (r == 0) b.send(rank(1), b.input().sub(0));
                                if (r == 1) b.recv(rank(0), slot);
                                if (r == 1) b.send(rank(2), slot.holding(1, 1));
                                if (r == 2) b.recv(rank(1), slot.holding(1, 1));
                            }),
              "what block 0 holds is not as large as what is moved");
}

TEST(verify, finds_a_missing_or_wrong_result) {
    EXPECT_EQ(first_finding(two_ranks(collective::bcast), 1, [](builder&, std::int32_t) {}),
              "rank 1, output block 0: expected input block 0 of 0, found nothing");
    EXPECT_EQ(first_finding(two_ranks(collective::allreduce), 1,
                            [](builder& b, std::int32_t r) {
                                b.send(rank(1 - r), b.input());
                                b.recv(rank(1 - r), b.output());
                            }),
              "rank 0, output block 0: expected input block 0 of 0..1, found input block 0 of 1");
}

TEST(verify, finds_a_contribution_that_is_counted_twice) {
    const auto doubled = [](builder& b, std::int32_t r) {
        b.send(rank(1 - r), b.input());
        b.recv(rank(1 - r), b.output());
        b.combine(b.input(), b.output());
        b.combine(b.input(), b.output());
    };
    problem p = two_ranks(collective::allreduce);
    EXPECT_EQ(first_finding(p, 1, doubled), "the contribution of rank 1 is counted twice");
    p.idempotent = true;
    EXPECT_EQ(first_finding(p, 1, doubled), "nothing");
}

TEST(verify, finds_operands_out_of_order_if_the_operator_does_not_commute) {
    const auto own_first = [](builder& b, std::int32_t r) {
        b.send(rank(1 - r), b.input());
        b.recv(rank(1 - r), b.output());
        b.combine(b.input(), b.output());
    };
    problem p = two_ranks(collective::allreduce);
    EXPECT_EQ(first_finding(p, 1, own_first), "nothing");
    p.commutative = false;
    EXPECT_EQ(first_finding(p, 1, own_first),
              "rank 1, output block 0: all contributions are there, but not in the order of ranks");
}

TEST(verify, finds_an_order_that_can_deadlock) {
    problem p = two_ranks(collective::allgather);
    p.ranks = 3;
    EXPECT_EQ(first_finding(p, 1,
                            [](builder& b, std::int32_t r) {
                                const auto me = static_cast<std::uint32_t>(r);
                                b.copy(b.input(), b.output(me));
                                for (std::uint32_t k = 1; k < 3; ++k)
                                    b.send(rank(static_cast<std::int32_t>((me + k) % 3)), b.input());
                                for (std::uint32_t k = 1; k < 3; ++k) {
                                    const std::uint32_t from = (me + k) % 3;
                                    b.recv(rank(static_cast<std::int32_t>(from)), b.output(from));
                                }
                            }),
              "deadlock: it never gets its turn");
}

TEST(verify, finds_steps_that_wait_too_little) {
    problem p = two_ranks(collective::bcast);
    p.ranks = 3;
    std::vector<schedule> all;
    for (std::int32_t r = 0; r < 3; ++r) {
        builder b(p, rank(r), 1);
        if (r > 0) b.recv(rank(r - 1), b.output());
        if (r < 2) b.send(rank(r + 1), r == 0 ? b.input() : b.output());
        all.push_back(std::move(b).finish());
    }
    EXPECT_TRUE(verify(p, all).empty());
    all[1].dependencies.clear();
    all[1].first_dependency.assign(3, 0);
    EXPECT_EQ(verify(p, all).front(),
              "rank 1, step 1 (send output[0] to 2 (message 0)): it touches what step 0 (recv output[0] from 0 "
              "(message 0)) touches, and does not wait for it");
}

TEST(verify, finds_places_that_are_not_there_or_not_to_be_used) {
    const problem p = two_ranks(collective::reduce);
    const auto exchange = [&](const std::function<void(schedule&)>& damage) {
        std::vector<schedule> all = build_all(find_algorithm("reduce/binomial"), p);
        damage(all[0]);
        const auto findings = verify(p, all);
        const std::string first = findings.empty() ? "): nothing" : findings.front();
        return first.substr(first.find("): ") + 3);
    };
    EXPECT_EQ(exchange([](schedule&) {}), "nothing");
    EXPECT_EQ(exchange([](schedule& s) { s.steps[0].peer = 2; }), "there is no such peer");
    EXPECT_EQ(exchange([](schedule& s) { s.steps[0].target = 1; }), "there are only 1 such blocks");
    EXPECT_EQ(exchange([](schedule& s) { s.steps[0].to = buffer::input; }), "the input is not to be written");
    EXPECT_EQ(exchange([](schedule& s) { s.steps[1].from = buffer::output; }), "its source and its target overlap");
    EXPECT_EQ(exchange([](schedule& s) { s.steps[1].count = 0; }), "it moves nothing");
    EXPECT_EQ(exchange([](schedule& s) { s.dependencies[0] = 1; }),
              "it waits for step 1, which does not come before it");
}

TEST(verify, finds_a_barrier_that_lets_somebody_go_too_early) {
    problem p = two_ranks(collective::barrier);
    p.ranks = 4;
    const auto dissemination = [](bool fenced, bool early) {
        return [fenced, early](builder& b, std::int32_t r) {
            for (const std::int32_t d : {1, 2}) {
                b.send(rank((r + d) % 4), early ? builder::nothing() : builder::presence());
                b.recv(rank((r + 4 - d) % 4), builder::nothing());
                if (fenced) b.fence();
            }
        };
    };
    EXPECT_EQ(first_finding(p, 1, dissemination(true, false)), "nothing");
    EXPECT_EQ(first_finding(p, 1, dissemination(false, false)),
              "rank 0 leaves the barrier without knowing that rank 1 has arrived");
    EXPECT_EQ(first_finding(p, 1, dissemination(true, true)),
              "rank 0 leaves the barrier without knowing that rank 1 has arrived")
        << "its messages may go out before their sender is there";
}

}  // namespace
}  // namespace rubato
