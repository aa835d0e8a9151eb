#include "rubato/verify.hpp"
#include "rubato/algorithm.hpp"

#include "rubato/builder.hpp"
#include "support/extent.hpp"
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

namespace rubato::schedules {
namespace {

TEST(verify, proves_every_registered_schedule) {
    for (const algorithm& a : algorithms()) {
        for (std::int32_t ranks = 1; ranks <= 20; ranks += some_or_all(1 + ranks / 8, 1)) {
            for (std::int32_t root = 0; root < (traits(a.what).rooted ? ranks : 1); ++root) {
                for (const bool commutative : {true, false}) {
                    problem p;
                    p.what = a.what;
                    p.ranks = ranks;
                    p.root = rank(root);
                    p.commutative = commutative;
                    add_neighbours(p);
                    if (unmet_need(a, p)) continue;
                    const auto findings = verify(p, build_all(a, p));
                    ASSERT_TRUE(findings.empty())
                        << a.id << " ranks " << ranks << " root " << root << ": " << findings.front();
                }
            }
        }
    }
}

/// The first thing that verify finds in schedules that `write` lists rank by rank and `damage` changes.
std::string first_finding(const problem& p, std::uint32_t parts,
                          const std::function<void(builder&, std::int32_t)>& write,
                          const std::function<void(std::vector<schedule>&)>& damage = {}) {
    std::vector<schedule> all;
    for (std::int32_t r = 0; r < p.ranks; ++r) {
        builder b(p, rank(r), parts);
        write(b, r);
        all.push_back(std::move(b).finish());
    }
    if (damage) damage(all);
    const auto findings = verify(p, all);
    return findings.empty() ? "nothing" : findings.front();
}

problem few_ranks(collective what, std::int32_t ranks = 2) {
    problem p;
    p.what = what;
    p.ranks = ranks;
    return p;
}

void hand_over(builder& b, std::int32_t r) {
    if (r == 0) b.send(rank(1), b.input());
    if (r == 1) b.recv(rank(0), b.output());
}

/// An allreduce of two ranks.
void exchange(builder& b, std::int32_t r) {
    b.send(rank(1 - r), b.input());
    b.recv(rank(1 - r), b.output());
    b.combine(b.input(), b.output());
}

/// What verify finds in a right allreduce of two ranks, in two parts, after `damage` to rank 0.
std::string after_damage(const std::function<void(schedule&)>& damage) {
    return first_finding(few_ranks(collective::allreduce), 2, exchange,
                         [&](std::vector<schedule>& all) { damage(all[0]); });
}

/// The second part of a vector lies where there is room for the first.
TEST(verify, parts_may_change_places_if_they_are_equal) {
    const problem p = few_ranks(collective::bcast);
    std::vector<schedule> all;
    for (std::int32_t r = 0; r < p.ranks; ++r) {
        builder b(p, rank(r), 2);
        const slice room = b.scratch(0, 1);
        if (r == 0) {
            b.send(rank(1), b.input().sub(1));
            b.send(rank(1), b.input().sub(0));
        } else {
            b.recv(rank(0), room);
            b.recv(rank(0), b.output().sub(0));
            b.copy(room, b.output().sub(1));
        }
        all.push_back(std::move(b).finish());
    }
    EXPECT_FALSE(verify(p, all).empty()) << "the first part may be larger";
    EXPECT_TRUE(verify(p, all, true).empty()) << verify(p, all, true).front();
    std::swap(all[0].steps[0].source, all[0].steps[1].source);
    EXPECT_FALSE(verify(p, all, true).empty()) << "in the wrong order";
}

/// Whether verify finds that these schedules are right, and that all ranks get the same bits.
std::pair<bool, bool> right_and_same(const problem& p, std::uint32_t parts,
                                     const std::function<void(builder&, std::int32_t)>& write) {
    std::vector<schedule> all;
    for (std::int32_t r = 0; r < p.ranks; ++r) {
        builder b(p, rank(r), parts);
        write(b, r);
        all.push_back(std::move(b).finish());
    }
    return {verify(p, all).empty(), verify(p, all, false, true).empty()};
}

TEST(verify_same_bits, the_order_of_operands_counts) {
    using both = std::pair<bool, bool>;
    const problem p = few_ranks(collective::allreduce);
    EXPECT_EQ(right_and_same(p, 2, exchange), both(true, false)) << "each rank has its own input on the left";
    EXPECT_EQ(right_and_same(p, 2,
                             [](builder& b, std::int32_t r) {
                                 const slice other = b.scratch_chunks();
                                 b.send(rank(1 - r), b.input());
                                 b.recv(rank(1 - r), r == 0 ? b.output() : other);
                                 if (r == 1) b.copy(b.input(), b.output());
                                 b.combine(r == 0 ? b.input() : other, b.output());
                             }),
              both(true, true));
}

/// Each rank has both vectors and combines them in pieces: rank 0 of two parts, rank 1 of so many.
void exchange_and_combine_parts(builder& b, std::int32_t r, std::uint32_t piece) {
    const slice other = b.scratch_chunks();
    b.send(rank(1 - r), b.input());
    b.recv(rank(1 - r), other);
    b.copy(r == 0 ? other : b.input(), b.output());
    const slice left = r == 0 ? b.input() : other;
    for (std::uint32_t first = 0; first < 2; first += r == 0 ? 2 : piece) {
        const std::uint32_t count = r == 0 ? 2 : piece;
        b.combine(left.sub(first, count), b.output().sub(first, count));
    }
}

TEST(verify_same_bits, pieces_count) {
    using both = std::pair<bool, bool>;
    for (const std::uint32_t piece : {1U, 2U})
        EXPECT_EQ(right_and_same(few_ranks(collective::allreduce), 2,
                                 [piece](builder& b, std::int32_t r) { exchange_and_combine_parts(b, r, piece); }),
                  both(true, piece == 2));
}

TEST(verify_same_bits, finds_sums_that_are_grouped_differently) {
    const problem p = few_ranks(collective::allreduce, 4);
    const algorithm& a = find_algorithm("allreduce/dissemination");
    EXPECT_FALSE(a.same_bits);
    EXPECT_TRUE(verify(p, build_all(a, p)).empty());
    const auto found = verify(p, build_all(a, p), false, true);
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found.front(), "rank 1, output block 0: combined in another way than on rank 0, so bits may differ");
}

TEST(verify_same_bits, results_of_other_ranks_may_be_combined_otherwise) {
    for (const char* id : {"scan/recursive_doubling", "reduce_scatter_block/halving", "reduce/binomial"}) {
        const algorithm& a = find_algorithm(id);
        const problem p = few_ranks(a.what, 7);
        EXPECT_TRUE(verify(p, build_all(a, p), false, true).empty()) << id;
    }
}

TEST(verify_form, needs_the_schedules_of_all_ranks) {
    EXPECT_EQ(verify(few_ranks(collective::barrier), {}).front(), "there are 0 schedules for 2 ranks");
}

TEST(verify_form, needs_one_number_of_parts) {
    const auto parts = [](std::uint32_t n) {
        return first_finding(few_ranks(collective::bcast), 1, hand_over,
                             [n](std::vector<schedule>& all) { all[1].parts = n; });
    };
    EXPECT_EQ(parts(1), "nothing");
    EXPECT_EQ(parts(2), "rank 1 cuts chunks into 2 parts, rank 0 into 1");
    EXPECT_EQ(parts(0), "rank 1 cuts chunks into 0 parts, rank 0 into 1");
}

TEST(verify_form, needs_lists_of_dependencies_that_fit) {
    const std::string complaint = "rank 0: the lists of what steps wait for do not fit the steps";
    EXPECT_EQ(after_damage([](schedule& s) { s.first_dependency.pop_back(); }), complaint);
    EXPECT_EQ(after_damage([](schedule& s) { s.first_dependency.clear(); }), complaint);
    EXPECT_EQ(after_damage([](schedule& s) { s.first_dependency[1] = 2; }), complaint) << "falls";
    EXPECT_EQ(after_damage([](schedule& s) { s.first_dependency[3] = 9; }), complaint) << "outside";
    EXPECT_EQ(after_damage([](schedule& s) { s.first_dependency[0] = 1; }), complaint);
    EXPECT_EQ(after_damage([](schedule& s) { s.dependencies.push_back(0); }), complaint);
    EXPECT_EQ(
        after_damage([](schedule& s) { s.dependencies[0] = 2; }),
        "rank 0, step 2 (combine input[0..1] into output[0..1]): it waits for step 2, which does not come before it");
}

TEST(verify_form, needs_shapes_that_exist) {
    EXPECT_EQ(after_damage([](schedule& s) { s.scratch.push_back(4); }),
              "rank 0: scratch block 0 has the shape of block 4, and there is none");
    EXPECT_EQ(after_damage([](schedule& s) { s.steps[0].shape = 3; }),
              "rank 0, step 0 (send input[0..1] to 1 (message 0)): there is no block of its shape");
}

TEST(verify_form, needs_steps_that_make_sense) {
    EXPECT_EQ(after_damage([](schedule&) {}), "nothing");
    EXPECT_EQ(after_damage([](schedule& s) { s.steps[0].peer = 2; }),
              "rank 0, step 0 (send input[0..1] to 2 (message 0)): there is no such peer");
    EXPECT_EQ(after_damage([](schedule& s) { s.steps[0].peer = 0; }),
              "rank 0, step 0 (send input[0..1] to 0 (message 0)): there is no such peer");
    EXPECT_EQ(after_damage([](schedule& s) { s.steps[1].target = 1; }),
              "rank 0, step 1 (recv output[1..2] from 1 (message 0)): rank 0 has only 2 such blocks");
    EXPECT_EQ(after_damage([](schedule& s) { s.steps[1].to = buffer::input; }),
              "rank 0, step 1 (recv input[0..1] from 1 (message 0)): the input is not to be written");
    EXPECT_EQ(after_damage([](schedule& s) { s.steps[2].count = 0; }),
              "rank 0, step 2 (combine nothing into nothing): it moves nothing");
    EXPECT_EQ(first_finding(few_ranks(collective::allgather), 1,
                            [](builder& b, std::int32_t) { b.combine(b.input(), b.output()); }),
              "rank 0, step 0 (combine input[0] into output[0]): allgather does not combine");
}

TEST(verify_form, refuses_steps_that_overwrite_what_they_read) {
    const auto within_scratch = [](step_kind kind, std::uint32_t source, std::uint32_t target) {
        return first_finding(few_ranks(collective::allreduce, 1), 3, [&](builder& b, std::int32_t) {
            const slice s = b.scratch(0, 3);
            b.copy(b.input(), s);
            if (kind == step_kind::copy)
                b.copy(s.sub(source, 2).holding(0, 2), s.sub(target, 2));
            else
                b.combine(s.sub(source, 2), s.sub(target, 2));
        });
    };
    EXPECT_EQ(within_scratch(step_kind::copy, 1, 0),
              "rank 0, step 1 (copy scratch[1..2] to scratch[0..1]): its source and its target overlap");
    EXPECT_EQ(within_scratch(step_kind::combine, 0, 1),
              "rank 0, step 1 (combine scratch[0..1] into scratch[1..2]): its source and its target overlap");
    EXPECT_EQ(within_scratch(step_kind::combine, 1, 1),
              "rank 0, step 1 (combine scratch[1..2] into scratch[1..2]): its source and its target overlap");
}

TEST(verify_buffers, belong_to_those_whom_mpi_gives_them) {
    EXPECT_EQ(first_finding(few_ranks(collective::reduce, 3), 1,
                            [](builder& b, std::int32_t r) {
                                if (r < 2) b.recv(rank(r + 1), b.output());
                                if (r < 2) b.combine(b.input(), b.output());
                                if (r > 0) b.send(rank(r - 1), r < 2 ? b.output() : b.input());
                            }),
              "rank 1, step 0 (recv output[0] from 2 (message 0)): rank 1 has only 0 such blocks");
    EXPECT_EQ(first_finding(few_ranks(collective::bcast), 1,
                            [](builder& b, std::int32_t r) {
                                hand_over(b, r);
                                if (r == 0) b.copy(b.input(), b.output());
                            }),
              "rank 0, step 1 (copy input[0] to output[0]): rank 0 has only 0 such blocks");
    EXPECT_EQ(first_finding(few_ranks(collective::exscan), 1,
                            [](builder& b, std::int32_t r) {
                                hand_over(b, r);
                                if (r == 0) b.copy(b.input(), b.output());
                            }),
              "rank 0, step 1 (copy input[0] to output[0]): rank 0 has only 0 such blocks");
}

TEST(verify_sizes, must_fit) {
    EXPECT_EQ(after_damage([](schedule& s) { s.steps[1] = step{s.steps[1]}, s.steps[1].shape = 1; }),
              "rank 0, step 1 (recv output[0..1] from 1 (message 0)): block 0 is not as large as what is moved");
    EXPECT_EQ(first_finding(few_ranks(collective::bcast), 2,
                            [](builder& b, std::int32_t r) {
                                if (r == 0) b.send(rank(1), b.input().sub(0));
                                if (r == 1) b.recv(rank(0), b.scratch(1, 1).holding(0, 1));
                            }),
              "rank 1, step 0 (recv scratch[0] from 0 (message 0)): scratch block 0 is not as large as what is moved");
}

TEST(verify_sizes, of_others_chunks_are_not_known) {
    EXPECT_EQ(first_finding(few_ranks(collective::gatherv, 3), 1,
                            [](builder& b, std::int32_t r) {
                                const slice held = b.scratch_chunks(1, 2);
                                if (r == 2) b.send(rank(1), b.input());
                                if (r == 1) b.recv(rank(2), held);
                                if (r == 1) b.send(rank(0), held);
                                if (r == 0) b.recv(rank(1), b.output(2));
                            }),
              "rank 1, step 0 (recv scratch[0] from 2 (message 0)): rank 1 does not know the size of scratch block 0");
    const auto relayed_scatterv = [](std::uint32_t shape) {
        return first_finding(few_ranks(collective::scatterv, 3), 1, [shape](builder& b, std::int32_t r) {
            const slice held = b.scratch_chunks(1, r == 1 ? shape : 0);
            if (r == 0) b.send(rank(1), b.input(2));
            if (r == 1) b.recv(rank(0), held);
            if (r == 1) b.send(rank(2), held);
            if (r == 2) b.recv(rank(1), b.output());
        });
    };
    EXPECT_EQ(
        relayed_scatterv(0),
        "rank 1, step 0 (recv scratch[0] from 0 (message 0)): its size is not that of rank 0's step 0 (send input[2] "
        "to 1 (message 0))");
    EXPECT_EQ(relayed_scatterv(2), "rank 1: scratch block 0 has the shape of block 2, and there is none");
}

TEST(verify_sizes, chunks_of_v_forms_lie_apart) {
    EXPECT_EQ(first_finding(few_ranks(collective::allgatherv, 3), 1,
                            [](builder& b, std::int32_t r) {
                                if (r == 0) b.recv(rank(1), b.output(1, 2));
                                if (r == 1) b.send(rank(0), b.output(1, 2));
                            }),
              "rank 0, step 0 (recv output[1..2] from 1 (message 0)): chunks need not lie one after the other");
}

TEST(verify_sizes, of_a_reduce_scatter_are_known_to_all_and_its_chunks_lie_in_line) {
    const auto halves = [](std::uint32_t room) {
        return first_finding(few_ranks(collective::reduce_scatter, 3), 1, [room](builder& b, std::int32_t r) {
            const slice held = b.scratch_chunks(2, room);
            if (r == 0) b.send(rank(2), b.input(1, 2));
            if (r == 2) b.recv(rank(0), held);
        });
    };
    EXPECT_EQ(halves(1), "rank 0, output block 0: expected input block 0 of 0..2, found nothing");
    EXPECT_EQ(halves(0),
              "rank 2, step 0 (recv scratch[0..1] from 0 (message 0)): its size is not that of rank 0's step 0 (send "
              "input[1..2] to 2 (message 0))");
    EXPECT_EQ(first_finding(few_ranks(collective::reduce_scatter), 1,
                            [](builder& b, std::int32_t) { b.copy(b.input(0), b.output()); }),
              "rank 1, step 0 (copy input[0] to output[0]): block 0 is not as large as what is moved");
}

TEST(verify_sizes, of_what_is_held_and_what_is_moved_are_one) {
    // Of two parts the first may be larger. It waits in scratch, and only as much as the second has is passed on.
    EXPECT_EQ(first_finding(few_ranks(collective::bcast, 3), 2,
                            [](builder& b, std::int32_t r) {
                                const slice slot = b.scratch(0, 1);
                                if (r == 0) b.send(rank(1), b.input().sub(0));
                                if (r == 1) b.recv(rank(0), slot);
                                if (r == 1) b.send(rank(2), slot.holding(1, 1));
                                if (r == 2) b.recv(rank(1), slot.holding(1, 1));
                            }),
              "rank 1, step 1 (send scratch[0] to 2 (message 0)): what block 0 holds is not as large as what is moved");
}

TEST(verify_messages, are_sent_and_received) {
    const problem p = few_ranks(collective::bcast);
    EXPECT_EQ(first_finding(p, 1,
                            [](builder& b, std::int32_t r) {
                                if (r == 0) b.send(rank(1), b.input());
                            }),
              "rank 0, step 0 (send input[0] to 1 (message 0)): rank 1 never receives this message");
    EXPECT_EQ(first_finding(p, 1,
                            [](builder& b, std::int32_t r) {
                                if (r == 1) b.recv(rank(0), b.output());
                            }),
              "rank 1, step 0 (recv output[0] from 0 (message 0)): rank 0 never sends this message");
}

TEST(verify_messages, have_the_same_size_at_both_ends) {
    EXPECT_EQ(first_finding(few_ranks(collective::bcast), 2,
                            [](builder& b, std::int32_t r) {
                                if (r == 0) b.send(rank(1), b.input());
                                if (r == 1) b.recv(rank(0), b.output().sub(0));
                            }),
              "rank 1, step 0 (recv output[0] from 0 (message 0)): its size is not that of rank 0's step 0 (send "
              "input[0..1] to 1 (message 0))");
}

TEST(verify_messages, of_a_pair_are_listed_in_their_order) {
    const auto renumbered = [](std::uint32_t first, std::uint32_t second) {
        return first_finding(
            few_ranks(collective::bcast), 2,
            [](builder& b, std::int32_t r) {
                for (std::uint32_t part = 0; part < 2; ++part) {
                    if (r == 0) b.send(rank(1), b.input().sub(part));
                    if (r == 1) b.recv(rank(0), b.output().sub(part));
                }
            },
            [=](std::vector<schedule>& all) {
                for (schedule& s : all) {
                    s.steps[0].message = first;
                    s.steps[1].message = second;
                }
            });
    };
    EXPECT_EQ(renumbered(0, 1), "nothing");
    EXPECT_EQ(renumbered(1, 0),
              "rank 0, step 0 (send input[0] to 1 (message 1)): it is listed as message 0 of this pair");
    EXPECT_EQ(renumbered(0, 2),
              "rank 0, step 1 (send input[1] to 1 (message 2)): it is listed as message 1 of this pair");
    EXPECT_EQ(renumbered(0, 0),
              "rank 0, step 1 (send input[1] to 1 (message 0)): it is listed as message 1 of this pair");
}

TEST(verify_values, are_there_before_they_are_used) {
    EXPECT_EQ(first_finding(few_ranks(collective::allreduce), 1,
                            [](builder& b, std::int32_t r) {
                                b.send(rank(1 - r), b.scratch_chunks());
                                b.recv(rank(1 - r), b.output());
                            }),
              "rank 0, step 0 (send scratch[0] to 1 (message 0)): block 0 of its source holds nothing yet");
    EXPECT_EQ(first_finding(few_ranks(collective::allreduce), 1,
                            [](builder& b, std::int32_t) { b.copy(b.scratch_chunks(), b.output()); }),
              "rank 0, step 0 (copy scratch[0] to output[0]): block 0 of its source holds nothing yet");
    EXPECT_EQ(first_finding(few_ranks(collective::allreduce), 1,
                            [](builder& b, std::int32_t) { b.combine(b.input(), b.output()); }),
              "rank 0, step 0 (combine input[0] into output[0]): block 0 of its target holds nothing yet");
}

TEST(verify_values, of_different_blocks_are_not_combined) {
    EXPECT_EQ(first_finding(few_ranks(collective::reduce_scatter_block), 1,
                            [](builder& b, std::int32_t r) {
                                b.copy(b.input(0), b.output());
                                if (r == 0) b.combine(b.input(1), b.output());
                            }),
              "rank 0, step 1 (combine input[1] into output[0]): it combines block 1 with block 0");
}

TEST(verify_values, count_every_rank_once) {
    const auto doubled = [](builder& b, std::int32_t r) {
        exchange(b, r);
        b.combine(b.input(), b.output());
    };
    problem p = few_ranks(collective::allreduce);
    EXPECT_EQ(first_finding(p, 1, doubled),
              "rank 1, step 3 (combine input[0] into output[0]): the contribution of rank 1 is counted twice");
    p.idempotent = true;
    EXPECT_EQ(first_finding(p, 1, doubled), "nothing");
}

TEST(verify_result, is_what_the_collective_promises) {
    EXPECT_EQ(first_finding(few_ranks(collective::bcast), 1, [](builder&, std::int32_t) {}),
              "rank 1, output block 0: expected input block 0 of 0, found nothing");
    EXPECT_EQ(first_finding(few_ranks(collective::allreduce), 1,
                            [](builder& b, std::int32_t r) {
                                b.send(rank(1 - r), b.input());
                                b.recv(rank(1 - r), b.output());
                            }),
              "rank 0, output block 0: expected input block 0 of 0..1, found input block 0 of 1");
}

TEST(verify_result, keeps_the_order_of_operands_if_the_operator_does_not_commute) {
    problem p = few_ranks(collective::allreduce);
    EXPECT_EQ(first_finding(p, 1, exchange), "nothing");
    p.commutative = false;
    EXPECT_EQ(first_finding(p, 1, exchange),
              "rank 1, output block 0: all contributions are there, but not in the order of ranks");
}

TEST(verify_order, must_not_deadlock) {
    EXPECT_EQ(first_finding(few_ranks(collective::allgather, 3), 1,
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
              "rank 0, step 1 (send input[0] to 1 (message 0)): deadlock: it never gets its turn");
}

TEST(verify_order, must_not_deadlock_where_a_combine_takes_the_ports) {
    const auto reduce_at_0 = [](bool result_last) {
        return [result_last](builder& b, std::int32_t r) {
            if (r == 0) {
                const slice sum = b.scratch_chunks();
                b.recv(rank(1), sum);
                if (!result_last) b.recv(rank(1), b.output());
                b.combine(b.input(), sum);
                b.send(rank(1), sum);
                if (result_last) b.recv(rank(1), b.output());
            } else {
                b.send(rank(0), b.input());
                b.recv(rank(0), b.output());
                b.send(rank(0), b.output());
            }
        };
    };
    EXPECT_EQ(first_finding(few_ranks(collective::allreduce), 1, reduce_at_0(true)), "nothing");
    EXPECT_EQ(first_finding(few_ranks(collective::allreduce), 1, reduce_at_0(false)),
              "rank 0, step 1 (recv output[0] from 1 (message 1)): deadlock: it never gets its turn")
        << "no step waits for this receive, but a combine is listed after it";
}

TEST(verify_order, needs_steps_to_wait_for_what_they_use) {
    EXPECT_EQ(first_finding(
                  few_ranks(collective::bcast, 3), 1,
                  [](builder& b, std::int32_t r) {
                      if (r > 0) b.recv(rank(r - 1), b.output());
                      if (r < 2) b.send(rank(r + 1), r == 0 ? b.input() : b.output());
                  },
                  [](std::vector<schedule>& all) {
                      all[1].dependencies.clear();
                      all[1].first_dependency.assign(3, 0);
                  }),
              "rank 1, step 1 (send output[0] to 2 (message 0)): it touches what step 0 (recv output[0] from 0 "
              "(message 0)) touches, and does not wait for it");
}

TEST(verify_barrier, lets_nobody_go_too_early) {
    const problem p = few_ranks(collective::barrier, 4);
    const auto dissemination = [](bool fenced, slice message) {
        return [fenced, message](builder& b, std::int32_t r) {
            for (const std::int32_t d : {1, 2}) {
                b.send(rank((r + d) % 4), message);
                b.recv(rank((r + 4 - d) % 4), builder::nothing());
                if (fenced) b.fence();
            }
        };
    };
    EXPECT_EQ(first_finding(p, 1, dissemination(true, builder::presence())), "nothing");
    EXPECT_EQ(first_finding(p, 1, dissemination(false, builder::presence())),
              "rank 0 leaves the barrier without knowing that rank 1 has arrived");
    EXPECT_EQ(first_finding(p, 1, dissemination(true, builder::nothing())),
              "rank 0 leaves the barrier without knowing that rank 1 has arrived")
        << "its messages may go out before their sender is there";
}

TEST(verify_barrier, may_list_a_receive_before_a_send_that_does_not_wait_for_it) {
    EXPECT_EQ(first_finding(few_ranks(collective::barrier), 1,
                            [](builder& b, std::int32_t r) {
                                b.recv(rank(1 - r), builder::nothing());
                                b.send(rank(1 - r), builder::presence());
                            }),
              "nothing");
}

}  // namespace
}  // namespace rubato::schedules
