#include "rubato/simulate.hpp"

#include "rubato/algorithm.hpp"
#include "rubato/arrival.hpp"
#include "support/error_text.hpp"
#include "support/hand_made.hpp"
#include "support/problems.hpp"
#include "support/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace rubato::simulator {
namespace {

using testing::registered;

using std::chrono_literals::operator""ns;
using times = std::vector<time_ns>;

std::vector<layout> bytes(std::int64_t per_chunk) { return {layout::uniform(per_chunk)}; }

times exits(const model& m, const std::vector<schedule>& all, const std::vector<layout>& sizes, times arrivals = {},
            bool early = false) {
    arrivals.resize(all.size());
    return rubato::simulate(m, all, sizes, arrivals, {.early = early}).exits;
}

/// The run time if all arrive at 0.
time_ns duration(const model& m, const std::vector<schedule>& all, const std::vector<layout>& sizes) {
    return std::ranges::max(exits(m, all, sizes));
}

// Marendic et al. 2016, Table 3.
TEST(simulate_hockney, binomial_tree) {
    const model m{hockney{1000, 3, 2}};
    for (int n = 0; n <= 8; ++n)
        EXPECT_EQ(duration(m, testing::registered("reduce/binomial", 1 << n), bytes(100)), n * (1000ns + 300ns + 200ns))
            << n;
}

TEST(simulate_hockney, linear_pipeline) {
    const model m{hockney{1000, 3, 2}};
    for (const std::int32_t ranks : {2, 3, 4, 7, 16})
        for (const std::int32_t segments : {1, 2, 5, 16})
            EXPECT_EQ(duration(m, hand_made::chain_reduce(ranks, segments), bytes(10 * segments)),
                      (ranks - 2 + segments) * (1000ns + 10 * 5ns))
                << ranks << " ranks, " << segments << " segments";
}

TEST(simulate_hockney, duration_is_rounded_once_per_message) {
    const auto one = hand_made::flat_bcast(2);
    EXPECT_EQ(duration({hockney{0.25, 0.25, 0}}, one, bytes(1)), 1ns);
    EXPECT_EQ(duration({hockney{0.2, 0.25, 0}}, one, bytes(1)), 0ns);
    EXPECT_EQ(duration({hockney{2660, 0.48179, 0}}, one, bytes(1000000)), 484450ns);
}

TEST(simulate_hockney, ports_are_independent_but_not_while_combining) {
    // Both send their input and receive the other's into scratch, combine, and send again.
    const auto all = hand_made::all_ranks(collective::allreduce, 2, 1, [](builder& b, std::int32_t r) {
        const slice other = b.scratch_chunks();
        b.send(rank(1 - r), b.input());
        b.recv(rank(1 - r), other);
        b.combine(b.input(), other);
        b.send(rank(1 - r), b.input());
        b.recv(rank(1 - r), b.output());
    });
    const simulation result =
        rubato::simulate({hockney{10, 1, 2}}, all, bytes(5), times{0ns, 3ns}, {.record_steps = true});
    EXPECT_EQ(result.exits, (times{43ns, 43ns}));
    const std::vector<std::pair<time_ns, time_ns>> want{
        {3ns, 18ns}, {3ns, 18ns}, {18ns, 28ns}, {28ns, 43ns}, {28ns, 43ns}};
    for (const auto& steps : result.steps) {
        ASSERT_EQ(steps.size(), want.size());
        for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(std::pair(steps[i].begin, steps[i].end), want[i]) << i;
    }
}

TEST(simulate_hockney, a_port_keeps_the_schedules_order) {
    // Rank 0 sends to 1, which is late, then to 2, which waits although it is ready. The copy waits for nobody.
    const auto all = hand_made::flat_bcast(3);
    EXPECT_EQ(exits({hockney{10, 0, 0}}, all, bytes(1), {0ns, 100ns, 0ns}), (times{120ns, 110ns, 120ns}));
    const auto copy = hand_made::all_ranks(collective::gather, 2, 1, [](builder& b, std::int32_t r) {
        if (r == 1) return void(b.send(rank(0), b.input()));
        b.recv(rank(1), b.output(1));
        b.copy(b.input(), b.output(0));
    });
    const simulation result =
        rubato::simulate({hockney{10, 0, 0}}, copy, bytes(1), times{0ns, 100ns}, {.record_steps = true});
    EXPECT_EQ(result.steps[0][1].end, 0ns);
}

TEST(simulate_hockney, a_late_rank_shifts_what_it_must_and_nothing_else) {
    // 1 -> 0 and 3 -> 2 at once, then 2 -> 0. A message takes 15, a combination 10.
    const model m{hockney{10, 1, 2}};
    const auto all = testing::registered("reduce/binomial", 4);
    const auto late = [&](std::size_t r, time_ns delay) {
        times arrivals(4);
        arrivals[r] = delay;
        return exits(m, all, bytes(5), arrivals);
    };
    EXPECT_EQ(late(0, 0ns), (times{50ns, 15ns, 40ns, 15ns}));
    EXPECT_EQ(late(0, 100ns), (times{150ns, 115ns, 140ns, 15ns}));
    EXPECT_EQ(late(1, 100ns), (times{150ns, 115ns, 140ns, 15ns}));
    EXPECT_EQ(late(2, 100ns), (times{150ns, 15ns, 140ns, 115ns}));
    EXPECT_EQ(late(3, 100ns), (times{150ns, 15ns, 140ns, 115ns}));
    EXPECT_EQ(late(1, 7ns), (times{57ns, 22ns, 47ns, 15ns}));
    EXPECT_EQ(late(3, 7ns), (times{57ns, 15ns, 47ns, 22ns}));
}

TEST(simulate_hockney, early_steps_do_not_wait_for_their_rank) {
    const model m{hockney{10, 1, 2}};
    const auto all = testing::registered("reduce/binomial", 4);
    // The late root has received rank 1's vector into scratch before it comes.
    EXPECT_EQ(exits(m, all, bytes(5), {100ns, 0ns, 0ns, 0ns}, true), (times{135ns, 15ns, 125ns, 15ns}));
    EXPECT_EQ(exits(m, all, bytes(5), {0ns, 0ns, 100ns, 0ns}, true), (times{135ns, 15ns, 125ns, 15ns}));
    // But nothing happens before the first one comes.
    EXPECT_EQ(exits(m, all, bytes(5), {1100ns, 1000ns, 1000ns, 1000ns}, true), (times{1135ns, 1015ns, 1125ns, 1015ns}));
}

TEST(simulate_hockney, nothing_is_early_before_the_first_arrival) {
    const auto all = hand_made::all_ranks(collective::barrier, 2, 1, [](builder& b, std::int32_t r) {
        b.send(rank(1 - r), builder::nothing());
        b.recv(rank(1 - r), builder::nothing());
    });
    EXPECT_EQ(exits({hockney{10, 0, 0}}, all, bytes(1), {1000ns, 5000ns}, true), (times{1010ns, 5000ns}));
}

/// The definition, iterated until nothing changes: slow and obvious.
times reference(const hockney& m, const std::vector<schedule>& all, const layout& sizes, const times& arrivals) {
    std::vector<std::vector<std::int64_t>> ends(all.size());
    for (std::size_t r = 0; r < all.size(); ++r) ends[r].resize(all[r].steps.size());
    const auto begin_of = [&](std::size_t r, std::size_t i) {
        std::int64_t begin = arrivals[r].count();
        const step_kind kind = all[r].steps[i].kind;
        for (const std::uint32_t d : all[r].dependencies_of(i)) begin = std::max(begin, ends[r][d]);
        for (std::size_t j = 0; j < i && kind != step_kind::copy; ++j) {
            const step_kind before = all[r].steps[j].kind;
            const bool meet = before == kind || before == step_kind::combine || kind == step_kind::combine;
            if (meet && before != step_kind::copy) begin = std::max(begin, ends[r][j]);
        }
        return begin;
    };
    const auto partner_of = [&](std::size_t r, const step& t) {
        const auto peer = static_cast<std::size_t>(t.peer);
        for (std::size_t i = 0;; ++i) {
            const step& u = all[peer].steps[i];
            if (u.is_message() && u.kind != t.kind && u.peer == static_cast<std::int32_t>(r) && u.message == t.message)
                return i;
        }
    };
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t r = 0; r < all.size(); ++r) {
            for (std::size_t i = 0; i < all[r].steps.size(); ++i) {
                const step& t = all[r].steps[i];
                const auto size = static_cast<double>(sizes.length(all[r], t));
                std::int64_t end = begin_of(r, i);
                if (t.is_message()) {
                    end = std::max(end, begin_of(static_cast<std::size_t>(t.peer), partner_of(r, t)));
                    end += std::llround(m.alpha + m.beta * size);
                }
                if (t.kind == step_kind::combine) end += std::llround(m.gamma * size);
                changed |= end != ends[r][i];
                ends[r][i] = end;
            }
        }
    }
    times result = arrivals;
    for (std::size_t r = 0; r < all.size(); ++r)
        for (const std::int64_t end : ends[r]) result[r] = std::max(result[r], time_ns(end));
    return result;
}

TEST(simulate_hockney, agrees_with_the_definition) {
    const hockney m{2660, 0.48179, 0.16654};
    std::vector<std::vector<schedule>> cases{hand_made::chain_reduce(5, 4), hand_made::binomial_scatter(16),
                                             hand_made::flat_gather(6), hand_made::kary_bcast(11, 3)};
    for (const std::int32_t ranks : {1, 2, 6, 11, 13}) {
        cases.push_back(testing::registered("reduce/binomial", ranks));
        cases.push_back(testing::registered("bcast/binomial", ranks));
    }
    for (const auto& all : cases) {
        for (std::int64_t k = 0; k < 5; ++k) {
            const times arrivals = parse_arrivals("uniform:max=20us,seed=1", static_cast<std::int32_t>(all.size()), k);
            EXPECT_EQ(exits({m}, all, bytes(1001), arrivals), reference(m, all, bytes(1001)[0], arrivals));
        }
    }
}

// Hoefler 2008, Eqs II.5 to II.9: n messages to rank 1, with a delay between, and one back.
TEST(simulate_loggp, parametrised_round_trip_time) {
    for (const loggp m : {loggp{1000, 100, 150, 2, 1}, loggp{1000, 300, 150, 2, 1}, loggp{0, 100, 0, 0, 1}}) {
        for (const int n : {1, 2, 3, 16}) {
            for (const std::int64_t d : {0, 20, 77, 5000}) {
                for (const std::int64_t s : {1, 2, 64}) {
                    const auto all = hand_made::all_ranks(collective::alltoall, 2, 1, [n](builder& b, std::int32_t r) {
                        if (r == 0) b.send(rank(1), b.input(0));
                        for (int i = 1; r == 0 && i < n; ++i) {
                            const builder::step_id wait = b.combine(b.input(1), b.output(1));
                            b.send(rank(1), b.input(0), {wait});
                        }
                        for (int i = 0; r == 1 && i < n; ++i) b.recv(rank(0), b.output(0));
                        r == 0 ? b.recv(rank(1), b.output(0)) : b.send(rank(0), b.output(0));
                    });
                    const chunk_table chunks = chunk_table::packed({s, d});
                    const double all_gaps = m.g + static_cast<double>(s - 1) * m.G;
                    const double want = 2 * (m.L + 2 * m.o + static_cast<double>(s - 1) * m.G) +
                                        (n - 1) * std::max(m.o + static_cast<double>(d), all_gaps);
                    EXPECT_EQ(static_cast<double>(exits({m}, all, {{chunks, chunks}})[0].count()), want)
                        << "n " << n << " d " << d << " s " << s;
                }
            }
        }
    }
}

TEST(simulate_loggp, one_message) {
    const model m{loggp{1000, 100, 150, 2}};
    EXPECT_EQ(exits(m, hand_made::flat_bcast(2), bytes(11)), (times{120ns, 1220ns}));
    EXPECT_EQ(exits(m, hand_made::flat_bcast(2), bytes(1)), (times{100ns, 1200ns}));
    EXPECT_EQ(exits(m, hand_made::flat_bcast(2), bytes(0)), (times{100ns, 1200ns}));  // counts as one byte
    EXPECT_EQ(exits(m, hand_made::flat_bcast(2), bytes(11), {5ns, 0ns}), (times{125ns, 1225ns}));
    EXPECT_EQ(exits(m, hand_made::flat_bcast(2), bytes(11), {0ns, 1100ns}), (times{120ns, 1220ns}));
    EXPECT_EQ(exits(m, hand_made::flat_bcast(2), bytes(11), {0ns, 5000ns}), (times{120ns, 5100ns}));
}

TEST(simulate_loggp, bytes_are_rounded_once_per_message) {
    EXPECT_EQ(exits({loggp{1000, 100, 0, 0.3}}, hand_made::flat_bcast(2), bytes(6)), (times{102ns, 1202ns}));
    EXPECT_EQ(exits({loggp{1000, 100, 0, 0.3}}, hand_made::flat_bcast(2), bytes(5)), (times{101ns, 1201ns}));
}

TEST(simulate_loggp, interfaces_serialise_messages) {
    const model m{loggp{1000, 100, 150, 2}};
    // Sending: one every g + x = 170 ns.
    EXPECT_EQ(exits(m, hand_made::flat_bcast(4), bytes(11)), (times{460ns, 1220ns, 1390ns, 1560ns}));
    // Receiving: three come in at once, and are taken in one every 170 ns.
    EXPECT_EQ(exits(m, hand_made::flat_gather(4), bytes(11)), (times{1560ns, 120ns, 120ns, 120ns}));
    // The one that comes in first is taken first, whatever the schedule says.
    const simulation result =
        rubato::simulate(m, hand_made::flat_gather(4), bytes(11), times{0ns, 50ns, 0ns, 20ns}, {.record_steps = true});
    EXPECT_EQ(result.steps[0][1].end, 1220ns);
    EXPECT_EQ(result.steps[0][2].end, 1390ns);
    EXPECT_EQ(result.steps[0][0].end, 1560ns);
}

TEST(simulate_loggp, the_cpu_is_one_resource) {
    // Overheads larger than gaps: the CPU is what serialises.
    const model m{loggp{1000, 100, 0, 0, 3}};
    EXPECT_EQ(exits(m, hand_made::flat_bcast(4), bytes(11)), (times{300ns, 1200ns, 1300ns, 1400ns}));
    EXPECT_EQ(exits(m, hand_made::flat_gather(4), bytes(11)), (times{1400ns, 100ns, 100ns, 100ns}));
    // A combination of 10 bytes takes 30 and delays the send that is listed after it.
    const auto all = hand_made::all_ranks(collective::allreduce, 2, 1, [](builder& b, std::int32_t r) {
        if (r == 1) return void(b.recv(rank(0), b.output()));
        b.combine(b.input(), b.output());
        b.send(rank(1), b.input());
    });
    EXPECT_EQ(exits(m, all, bytes(10)), (times{130ns, 1230ns}));
}

TEST(simulate_loggp, the_cpu_serves_steps_in_the_order_they_become_ready) {
    // Rank 0 waits for rank 1 before it combines, but sends to rank 2 meanwhile.
    const auto all = hand_made::all_ranks(collective::allreduce, 3, 1, [](builder& b, std::int32_t r) {
        if (r == 1) b.send(rank(0), b.input());
        if (r == 2) b.recv(rank(0), b.output());
        if (r != 0) return;
        b.recv(rank(1), b.output());
        b.combine(b.input(), b.output());
        b.send(rank(2), b.input());
    });
    EXPECT_EQ(exits({loggp{1000, 100, 0, 0, 1}}, all, bytes(10)), (times{1210ns, 100ns, 1200ns}));
    // Of steps that are ready together, the first in the schedule: here both sends.
    const auto ties = hand_made::all_ranks(collective::allreduce, 3, 1, [](builder& b, std::int32_t r) {
        if (r != 0) return void(b.recv(rank(0), b.output()));
        b.send(rank(1), b.input());
        b.send(rank(2), b.input());
        b.combine(b.input(), b.output());
    });
    EXPECT_EQ(exits({loggp{1000, 100, 0, 0, 1}}, ties, bytes(10)), (times{210ns, 1200ns, 1300ns}));
}

TEST(simulate_loggp, sends_are_issued_in_the_schedules_order) {
    // The second send could go at once, but the first waits for a message.
    const auto all = hand_made::all_ranks(collective::bcast, 4, 1, [](builder& b, std::int32_t r) {
        if (r == 1) {
            b.recv(rank(0), b.output());
            b.send(rank(2), b.output());
            b.send(rank(3), b.input());
        } else if (r == 0) {
            b.send(rank(1), b.input());
        } else {
            b.recv(rank(1), b.output());
        }
    });
    EXPECT_EQ(exits({loggp{1000, 100, 0, 0}}, all, bytes(1)), (times{100ns, 1400ns, 2400ns, 2500ns}));
}

TEST(simulate_loggp, rendezvous_waits_for_the_receiver) {
    const model m{loggp{1000, 100, 150, 2, 0, 11}};
    const auto all = hand_made::flat_bcast(3);
    EXPECT_EQ(exits(m, all, bytes(10), {0ns, 5000ns, 0ns}), (times{286ns, 5100ns, 1386ns}));  // too small for it
    EXPECT_EQ(exits(m, all, bytes(11), {0ns, 5000ns, 0ns}), (times{5290ns, 6220ns, 6390ns}));
    EXPECT_EQ(exits(m, all, bytes(11), {7000ns, 5000ns, 0ns}), (times{7290ns, 8220ns, 8390ns}));
    // A receive that waits for another step of its rank is not there either.
    const auto waits = hand_made::all_ranks(collective::allreduce, 2, 1, [](builder& b, std::int32_t r) {
        if (r == 0) return void(b.send(rank(1), b.input()));
        b.combine(b.input(), b.output());
        b.recv(rank(0), b.output());
    });
    EXPECT_EQ(exits({loggp{1000, 100, 150, 2, 50, 11}}, waits, bytes(11)), (times{670ns, 1770ns}));
}

TEST(simulate_loggp, early_steps_do_not_wait_for_their_rank) {
    const model m{loggp{1000, 100, 0, 0, 1}};
    const auto all = testing::registered("reduce/binomial", 2);
    EXPECT_EQ(exits(m, all, bytes(10), {9000ns, 0ns}), (times{9110ns, 100ns}));
    EXPECT_EQ(exits(m, all, bytes(10), {9000ns, 0ns}, true), (times{9110ns, 100ns}));  // straight into its output
    // The chain's middle rank receives into scratch: that is done when it comes.
    const auto chain = hand_made::chain_reduce(3, 1);
    EXPECT_EQ(exits(m, chain, bytes(10), {0ns, 9000ns, 0ns})[1], 9000ns + 100ns + 10ns + 100ns);
    EXPECT_EQ(exits(m, chain, bytes(10), {0ns, 9000ns, 0ns}, true)[1], 9000ns + 10ns + 100ns);
}

// Hoefler & Moor 2014, 3.1.
constexpr loggp5 moor{6000, 4700, 3};
constexpr std::int64_t s = 100;
constexpr time_ns L{6000}, o{4700}, sG{300};

TEST(simulate_loggp5, flat_tree) {
    for (const std::int32_t ranks : {2, 3, 8, 17})
        EXPECT_EQ(duration({moor}, hand_made::flat_bcast(ranks), bytes(s)), L + o * ranks + sG * (ranks - 1)) << ranks;
}

TEST(simulate_loggp5, binomial_tree) {
    for (int n = 0; n <= 8; ++n)
        EXPECT_EQ(duration({moor}, testing::registered("bcast/binomial", 1 << n), bytes(s)), (L + 2 * o + sG) * n) << n;
}

TEST(simulate_loggp5, personalised_binomial_tree) {
    for (int n = 1; n <= 7; ++n)
        EXPECT_EQ(duration({moor}, hand_made::binomial_scatter(1 << n), bytes(s)),
                  (2 * o + L) * n + sG * ((1 << n) - 1))
            << n;
}

TEST(simulate_loggp5, complete_kary_tree) {
    for (const std::int32_t k : {2, 3, 4}) {
        std::int32_t ranks = 1, level = 1;
        for (int depth = 1; depth <= 4; ++depth) {
            ranks += level *= k;
            EXPECT_EQ(duration({moor}, hand_made::kary_bcast(ranks, k), bytes(s)), (L + k * (o + sG) + o) * depth)
                << k << " " << depth;
        }
    }
}

TEST(simulate_loggp5, computing_is_free) {
    for (int n = 1; n <= 6; ++n)
        EXPECT_EQ(duration({moor}, testing::registered("reduce/binomial", 1 << n), bytes(s)), (L + 2 * o + sG) * n)
            << n;
}

std::vector<model> some_models() {
    std::vector<model> all;
    for (const preset& p : presets()) all.push_back(parse_model(p.name));
    all.push_back({loggp{1000, 100, 150, 2, 1, 0}});  // always rendezvous
    all.push_back({loggp{}});
    all.push_back({hockney{}});
    return all;
}

TEST(simulate, every_registered_algorithm_under_every_model) {
    for (const algorithm& a : algorithms()) {
        for (const std::int32_t ranks : {1, 2, 3, 4, 7, 8, 12, 16}) {
            problem p;
            p.what = a.what;
            p.ranks = ranks;
            p.segments = 3;
            add_neighbours(p);
            if (unmet_need(a, p)) continue;
            const auto all = build_all(a, p);
            const times arrivals = parse_arrivals("uniform:max=50us,seed=1", ranks);
            times later = arrivals;
            for (time_ns& t : later) t += 12345ns;
            for (const model& m : some_models()) {
                for (const bool early : {false, true}) {
                    const times out = exits(m, all, bytes(20000), arrivals, early);
                    times shifted = exits(m, all, bytes(20000), later, early);
                    for (time_ns& t : shifted) t -= 12345ns;
                    EXPECT_EQ(out, shifted) << a.id << " " << ranks << " " << to_string(m);
                    for (std::size_t r = 0; r < out.size(); ++r) EXPECT_GE(out[r], arrivals[r]) << a.id;
                }
            }
        }
    }
}

TEST(simulate, times_may_be_before_zero) {
    for (const model& m : some_models()) {
        const auto all = testing::registered("reduce/binomial", 8);
        const times arrivals = parse_arrivals("uniform:max=50us,seed=1", 8);
        times earlier = arrivals;
        for (time_ns& t : earlier) t -= 30000ns;
        times out = exits(m, all, bytes(100), earlier);
        for (time_ns& t : out) t += 30000ns;
        EXPECT_EQ(out, exits(m, all, bytes(100), arrivals)) << to_string(m);
    }
}

TEST(simulate, message_numbers_need_not_be_in_order) {
    // As if each pair's messages were numbered backwards.
    auto all = hand_made::chain_reduce(3, 4);
    const times want = exits({hockney{10, 1, 1}}, all, bytes(40));
    for (schedule& one : all)
        for (step& t : one.steps)
            if (t.is_message()) t.message = 3 - t.message;
    EXPECT_EQ(exits({hockney{10, 1, 1}}, all, bytes(40)), want);
}

TEST(simulate, sizes_may_differ_per_rank) {
    // A gatherv: rank 1 sends 10 bytes, rank 2 sends 30.
    const auto all = hand_made::flat_gather(3);
    const chunk_table at_root = chunk_table::packed({0, 10, 30});
    const std::vector<layout> sizes{{{}, at_root}, {chunk_table::uniform(10), {}}, {chunk_table::uniform(30), {}}};
    EXPECT_EQ(exits({hockney{100, 1, 0}}, all, sizes), (times{240ns, 110ns, 240ns}));
}

TEST(simulate, a_rank_without_steps_leaves_when_it_arrives) {
    EXPECT_EQ(exits({hockney{1, 1, 1}}, std::vector<schedule>(2), bytes(1), {5ns, 0ns}), (times{5ns, 0ns}));
    EXPECT_TRUE(rubato::simulate({hockney{1, 1, 1}}, {}, {}, {}).exits.empty());
}

TEST(simulate, deadlock) {
    const auto circle = hand_made::all_ranks(collective::bcast, 3, 1, [](builder& b, std::int32_t r) {
        if (r == 0) return;
        b.recv(rank(3 - r), b.output());
        b.send(rank(3 - r), b.output());
    });
    auto lonely = hand_made::flat_bcast(3);
    lonely[0].steps.pop_back();
    lonely[0].first_dependency.pop_back();
    auto foreign = hand_made::flat_bcast(2);
    foreign[1].steps[0].peer = 7;
    auto twice = hand_made::flat_bcast(2);
    twice[1].steps.push_back(twice[1].steps[0]);
    twice[1].first_dependency.push_back(0);
    for (const model& m : some_models()) {
        const auto refusal = [&m](const std::vector<schedule>& all) {
            return error_text([&] { exits(m, all, bytes(1)); });
        };
        EXPECT_EQ(
            refusal(circle),
            "rank 1 never runs step 0 (recv from 2 (message 0)): the schedules deadlock or do not match; see what "
            "verify says of them");
        EXPECT_EQ(refusal(lonely).find("rank 2 never runs step 0"), 0U);
        EXPECT_EQ(refusal(foreign).find("rank "), 0U);
        EXPECT_EQ(refusal(twice).find("rank 1 never runs step 1"), 0U);
    }
}

TEST(simulate, errors) {
    const auto all = hand_made::flat_bcast(3);
    EXPECT_EQ(error_text([&] { rubato::simulate({hockney{}}, all, bytes(1), times(2)); }),
              "2 arrival times for 3 ranks: each rank has one arrival time; give as many times as ranks");
    EXPECT_EQ(error_text([&] { rubato::simulate({hockney{}}, all, std::vector<layout>(2), times(3)); }),
              "2 layouts for 3 ranks: there is one layout for all ranks, or one for each; give 1 or as many as ranks");
    for (const model& m : {model{hockney{1e13, 0, 0}}, model{loggp{0, 0, 0, 1e13}}, model{loggp5{1e300, 0, 0}}})
        EXPECT_NE(error_text([&] {
                      rubato::simulate(m, all, bytes(2), times(3));
                  }).find("simulated steps take less than three hours; check the model and the size"),
                  std::string::npos);
}

}  // namespace
}  // namespace rubato::simulator
