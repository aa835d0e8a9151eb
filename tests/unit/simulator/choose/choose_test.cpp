#include "rubato/choose.hpp"

#include "rubato/arrival.hpp"
#include "rubato/simulate.hpp"

#include "support/problems.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace rubato::simulator {
namespace {

constexpr std::int64_t kib = 1024;

model slow_network() { return parse_model("loggp:L=4us,o=6us,g=3us,G=160ns,combine=0.1ns,rendezvous=65481"); }

problem problem_of(collective what, std::int32_t ranks, std::string_view arrivals = "balanced") {
    problem p;
    p.what = what;
    p.ranks = ranks;
    add_neighbours(p);
    p.arrivals = parse_arrivals(arrivals, ranks);
    return p;
}

std::vector<candidate> chosen(const problem& p, std::int64_t chunk, bool early = false) {
    return choose(p, chunk, slow_network(), candidates_for(p, chunk, slow_network(), early));
}

time_ns simulated_end(const candidate& c, problem p, std::int64_t chunk) {
    p.segments = c.segments;
    p.round_time = c.round_time;
    const layout sizes = layout::uniform(chunk);
    return std::ranges::max(
        rubato::simulate(slow_network(), build_all(*c.use, p), std::span(&sizes, 1), p.arrivals, {false, c.use->early})
            .exits);
}

TEST(choose, every_collective_has_candidates_that_can_solve_it) {
    for (const collective_traits& t : collectives())
        for (const std::int32_t ranks : {1, 2, 7, 8}) {
            problem p = problem_of(t.what, ranks, "single:rank=0,delay=1ms");
            p.commutative = false;
            const std::vector<candidate> all = chosen(p, 20 * kib);
            ASSERT_FALSE(all.empty()) << t.name;
            for (const candidate& c : all) {
                EXPECT_EQ(c.use->what, t.what);
                EXPECT_FALSE(c.use->early || c.use->dynamic || c.use->has(need::commutative)) << c.name;
                EXPECT_EQ(c.segments, c.use->segmented ? (20 * kib + c.segment - 1) / c.segment : 1) << c.name;
            }
        }
}

TEST(choose, all_ranks_get_the_same_bits) {
    for (const std::int32_t ranks : {3, 4, 9, 16}) {
        problem p = problem_of(collective::allreduce, ranks);
        p.idempotent = true;
        for (const candidate& c : candidates_for(p, 8, slow_network(), true, std::nullopt, true))
            EXPECT_TRUE(c.use->same_bits) << c.name;
        chooser by(slow_network(), true);
        EXPECT_TRUE(by.best(p, 8)->same_bits);
    }
}

TEST(choose, an_algorithm_that_is_named_may_be_any) {
    const problem p = problem_of(collective::allreduce, 4);
    for (const char* id : {"allreduce/dissemination", "allreduce/bine", "allreduce/two_level"}) {
        const std::vector<candidate> found = candidates_of(find_algorithm(id), p, 8, slow_network());
        ASSERT_EQ(found.size(), 1U) << id;
        EXPECT_TRUE(found.front().name.starts_with(id)) << found.front().name;
    }
    EXPECT_TRUE(candidates_of(find_algorithm("allreduce/n_way_dissemination"), p, 8, slow_network()).empty());
}

TEST(choose, cuts_in_as_many_segments_as_are_asked_for) {
    problem p = problem_of(collective::reduce, 4);
    for (const std::uint32_t segments : {2U, 7U, 30U, 200U}) {
        p.segments = segments;
        for (const candidate& c : candidates_for(p, 100, slow_network(), false))
            EXPECT_EQ(c.segments, c.use->segmented ? segments : 1) << c.name;
    }
    p.segments = 1;
    for (const candidate& c : candidates_for(p, 100 * kib, slow_network(), false, 1))
        EXPECT_EQ(c.segments, 1U) << c.name;
}

// Hoefler 2008, II.3.1.2: the ways of the barrier are as many as messages leave at once.
TEST(choose, the_ways_of_a_dissemination_follow_from_logfgp) {
    const auto best = [](std::string_view f) {
        const model m = parse_model(fmt::format("logfgp:L=3us,omin=0.2us,omax=1.6us,g=3us,G=1ns,f={}", f));
        problem p = problem_of(collective::barrier, 64);
        const std::vector<candidate> ranked = choose(p, 0, m, candidates_for(p, 0, m, false));
        // What a communicator would run.
        EXPECT_EQ(chooser(m, false).best(p, 0), ranked.front().use);
        EXPECT_EQ(p.radix, ranked.front().radix > 0 ? std::vector{ranked.front().radix} : std::vector<std::int32_t>{});
        return ranked.front().name;
    };
    EXPECT_EQ(best("8"), "barrier/n_way_dissemination:8");  // two rounds
    EXPECT_EQ(best("3"), "barrier/n_way_dissemination:3");  // three rounds
    EXPECT_EQ(best("2"), "barrier/n_way_dissemination");    // its own two ways
    EXPECT_EQ(best("1"), "barrier/dissemination");
}

TEST(choose, a_given_radix_is_kept) {
    const model m = parse_model("logfgp:L=3us,omin=0.2us,omax=1.6us,g=3us,G=1ns,f=8");
    problem p = problem_of(collective::barrier, 64);
    p.radix = {5};
    for (const candidate& c : candidates_for(p, 0, m, false)) EXPECT_EQ(c.radix, 0) << c.name;
}

TEST(choose, ends_are_those_of_the_simulation) {
    const problem p = problem_of(collective::reduce, 6, "uniform:max=20ms,seed=3");
    std::size_t early = 0;
    for (const candidate& c : chosen(p, 64 * kib, true)) {
        EXPECT_EQ(c.end, simulated_end(c, p, 64 * kib)) << c.name;
        EXPECT_FALSE(c.extrapolated);
        early += c.use->early ? 1U : 0U;
    }
    EXPECT_GT(early, 0U);
}

TEST(choose, a_late_rank_is_planned_around) {
    const problem together = problem_of(collective::reduce, 16);
    const problem late = problem_of(collective::reduce, 16, "uniform:max=100ms,seed=1");
    const candidate usual = chosen(together, 512 * kib).front();
    const candidate aware = chosen(late, 512 * kib).front();
    EXPECT_TRUE(aware.use->arrival_aware) << aware.name;
    EXPECT_LT(aware.end, simulated_end(usual, late, 512 * kib));
}

TEST(choose, the_first_is_near_the_soonest_and_relies_least_on_the_model) {
    for (const char* arrivals : {"balanced", "single:rank=3,delay=5ms", "uniform:max=50ms,seed=1"}) {
        const problem p = problem_of(collective::allreduce, 16, arrivals);
        const std::vector<candidate> all = chosen(p, 256 * kib);
        const candidate& first = all.front();
        const time_ns soonest = std::ranges::min(all, {}, &candidate::end).end;
        const time_ns last = std::ranges::max(p.arrivals);
        EXPECT_LE((first.end - last).count() * 100, (soonest - last).count() * 105) << arrivals;
        EXPECT_TRUE(std::ranges::is_sorted(all.begin() + 1, all.end(), {}, &candidate::end));
        for (const candidate& c : all) {
            if ((c.end - last).count() * 100 > (soonest - last).count() * 105) continue;
            EXPECT_LE(std::tuple(first.waits, first.partner_class(), first.messages),
                      std::tuple(c.waits, c.partner_class(), c.messages))
                << c.name;
        }
    }
}

TEST(choose, somebody_elses_time_is_believed) {
    const problem p = problem_of(collective::gather, 8);
    const std::int64_t chunk = 8 * kib;
    const time_ns best = chosen(p, chunk).front().end;
    for (const bool faster : {true, false}) {
        std::vector<candidate> among = candidates_for(p, chunk, slow_network(), false);
        candidate native;
        native.name = "native";
        native.end = faster ? best / 2 : best * 2;
        among.push_back(native);
        EXPECT_EQ(choose(p, chunk, slow_network(), among).front().name == "native", faster);
    }
}

struct many {
    const char* id;
    std::int32_t ranks;
    std::uint32_t segments;
    const char* arrivals = "balanced";
};

candidate candidate_of(const many& m, std::int64_t chunk) {
    candidate c;
    c.use = &find_algorithm(m.id);
    c.segments = m.segments;
    if (c.use->uses_round_time()) c.round_time = cautious_round_time(slow_network(), chunk / m.segments);
    return c;
}

double relative_error(time_ns is, time_ns should_be) {
    return std::abs(static_cast<double>(is.count()) / static_cast<double>(should_be.count()) - 1);
}

// Nobody needs to know which algorithm has few messages for one late rank.
TEST(choose, finds_what_is_made_for_one_late_rank_and_few_bytes) {
    const model m = parse_model("ethernet100g");
    for (const std::string_view id : {"allreduce/straggler", "alltoall/straggler", "reduce_scatter_block/straggler"}) {
        const algorithm& a = find_algorithm(id);
        const problem p = problem_of(a.what, 16, "single:rank=5,delay=1s");
        EXPECT_EQ(choose(p, 2 * kib, m, candidates_for(p, 2 * kib, m, false)).front().name, id);
    }
}

// The cost of many ranks is extrapolated from fewer; here all ranks can still be simulated to compare.
TEST(choose, ends_of_many_ranks_are_extrapolated) {
    for (const many& m : {many{"bcast/chain", 700, 32}, many{"bcast/two_tree", 700, 32, "single:rank=699,delay=1s"},
                          many{"allreduce/recursive_doubling", 2048, 1}, many{"allgather/ring", 160, 1},
                          many{"reduce/clairvoyant_plus", 450, 32, "single:rank=3,delay=20ms"},
                          many{"alltoall/pairwise", 160, 1, "uniform:max=2ms,seed=1"}}) {
        const std::int64_t chunk = m.segments * kib;
        const candidate c = candidate_of(m, chunk);
        const problem p = problem_of(c.use->what, m.ranks, m.arrivals);
        const std::vector<candidate> found = choose(p, chunk, slow_network(), {c});
        ASSERT_EQ(found.size(), 1U) << m.id;
        EXPECT_TRUE(found.front().extrapolated) << m.id;
        EXPECT_LE(relative_error(found.front().end, simulated_end(c, p, chunk)), 0.1) << m.id;
    }
}

// With fewer ranks there is a segment for each rank, and the algorithm is a ring.
TEST(choose, ends_are_not_extrapolated_from_another_algorithm) {
    for (const many& m : {many{"allreduce/clairvoyant", 1000, 256}, many{"allreduce/clairvoyant", 1100, 64},
                          many{"allreduce/clairvoyant_tree", 1023, 64}}) {
        const std::int64_t chunk = m.segments * 4 * kib;
        const candidate c = candidate_of(m, chunk);
        const problem p = problem_of(collective::allreduce, m.ranks);
        const std::vector<candidate> found = choose(p, chunk, slow_network(), {c});
        ASSERT_EQ(found.size(), 1U);
        EXPECT_LE(relative_error(found.front().end, simulated_end(c, p, chunk)), 0.15) << m.id << ' ' << m.segments;
    }
}

TEST(choose, partners_and_messages_are_those_of_all_ranks) {
    for (const many& m : {many{"allgather/ring", 160, 1}, many{"allreduce/recursive_doubling", 2048, 1},
                          many{"bcast/chain", 700, 32}, many{"allreduce/n_way_dissemination", 2187, 1}}) {
        const candidate c = candidate_of(m, kib);
        const problem p = problem_of(c.use->what, m.ranks);
        const std::vector<candidate> found = choose(p, kib, slow_network(), {c});
        ASSERT_EQ(found.size(), 1U) << m.id;
        EXPECT_TRUE(found.front().extrapolated) << m.id;
        const double rounds = std::log2(m.ranks);
        const std::string_view name = c.use->name();
        const double messages = name == "ring"                 ? 2 * (m.ranks - 1)
                                : name == "recursive_doubling" ? 2 * rounds
                                : name == "chain"              ? 2 * m.segments
                                                               : 4 * rounds / std::log2(3);
        const double partners =
            name == "ring" || name == "chain" ? 2 : messages / (name == "recursive_doubling" ? 2 : 1);
        EXPECT_NEAR(found.front().messages, messages, 0.05 * messages) << m.id;
        EXPECT_NEAR(found.front().partners, partners, 0.1 * partners) << m.id;
    }
}

TEST(choose, even_a_million_ranks) {
    const problem p = problem_of(collective::allreduce, 1 << 20);
    std::vector<candidate> among;
    for (const char* id : {"allreduce/ring", "allreduce/recursive_doubling"}) {
        candidate c;
        c.use = &find_algorithm(id);
        c.name = id;
        among.push_back(c);
    }
    const std::vector<candidate> found = choose(p, kib, slow_network(), among);
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found.front().name, "allreduce/recursive_doubling");
}

TEST(chooser, makes_one_choice_for_similar_problems) {
    chooser c(slow_network(), false);
    problem p = problem_of(collective::reduce, 8, "single:rank=7,delay=100ms");
    const algorithm* first = c.best(p, 300 * kib);
    ASSERT_NE(first, nullptr);
    EXPECT_EQ(c.choices(), 1U);
    EXPECT_EQ(p.segments > 1, first->segmented);
    EXPECT_EQ(p.round_time > time_ns{}, first->uses_round_time());

    problem q = problem_of(collective::reduce, 8, "single:rank=7,delay=101ms");
    for (time_ns& t : q.arrivals) t += std::chrono::hours(1);
    EXPECT_EQ(c.best(q, 310 * kib), first);
    EXPECT_EQ(c.choices(), 1U);
    q.arrivals[2] += std::chrono::milliseconds(200);
    (void)c.best(q, 310 * kib);
    EXPECT_EQ(c.choices(), 2U);
    q.commutative = false;
    (void)c.best(q, 310 * kib);
    EXPECT_EQ(c.choices(), 3U);
}

TEST(chooser, is_not_asked_anew_by_every_jitter) {
    chooser once(slow_network(), false);
    chooser twice(slow_network(), false);
    for (int i = 1; i <= 100; ++i) {
        problem p = problem_of(collective::allreduce, 8, fmt::format("uniform:max=20ms,seed={}", i));
        problem q = p;
        const algorithm* use = once.best(p, 64 * kib);
        (void)twice.best(q, 64 * kib);
        EXPECT_EQ(twice.best(q, 64 * kib), use) << "giving a problem twice changes nothing";
    }
    EXPECT_LT(once.choices(), 30U);
    EXPECT_EQ(once.choices(), twice.choices());
}

TEST(chooser, notices_at_once_that_a_rank_is_late) {
    chooser c(slow_network(), false);
    const algorithm* use = nullptr;
    for (int i = 1; i <= 50; ++i) {
        problem p = problem_of(collective::allreduce, 8, fmt::format("uniform:max=1ms,seed={}", i));
        use = c.best(p, 64 * kib);
    }
    EXPECT_EQ(c.choices(), 1U);
    EXPECT_FALSE(use->arrival_aware) << use->id;
    for (const char* delay : {"500ms", "505ms", "495ms", "501ms"}) {
        problem p = problem_of(collective::allreduce, 8, fmt::format("single:rank=5,delay={}", delay));
        use = c.best(p, 64 * kib);
        EXPECT_TRUE(use->arrival_aware) << use->id;
    }
    EXPECT_EQ(c.choices(), 2U);
    problem p = problem_of(collective::allreduce, 8);
    use = c.best(p, 64 * kib);
    EXPECT_FALSE(use->arrival_aware) << use->id;
    EXPECT_EQ(c.choices(), 2U) << "that was chosen before";
}

// Two hosts of four ranks, in which messages cost nearly nothing. No tree of ranks is one of hosts.
TEST(chooser, hosts_count_if_it_is_known_what_they_save) {
    const model inside = parse_model("loggp:L=100ns,o=50ns,g=50ns,G=0.1ns,combine=0.1ns");
    chooser with(slow_network(), false, inside);
    chooser without(slow_network(), false);
    problem p = problem_of(collective::gather, 8);
    p.hosts = {0, 0, 1, 0, 1, 1, 0, 1};
    problem q = p;
    EXPECT_TRUE(with.best(p, 1)->host_aware);
    EXPECT_FALSE(without.best(q, 1)->host_aware);
    EXPECT_THROW(chooser(slow_network(), false, parse_model("curie")), error);
}

TEST(chooser, does_not_depend_on_what_came_before) {
    chooser one(slow_network(), true);
    chooser other(slow_network(), true);
    const auto ask = [](chooser& c, std::int64_t bytes) {
        problem p = problem_of(collective::bcast, 8);
        return c.best(p, bytes);
    };
    std::vector<std::int64_t> sizes{64 * kib, 70 * kib, 79 * kib, 95 * kib, 0, 1, 100};
    std::vector<const algorithm*> forwards;
    std::vector<const algorithm*> backwards;
    for (const std::int64_t s : sizes) forwards.push_back(ask(one, s));
    std::ranges::reverse(sizes);
    for (const std::int64_t s : sizes) backwards.push_back(ask(other, s));
    std::ranges::reverse(backwards);
    EXPECT_EQ(forwards, backwards);
}

}  // namespace
}  // namespace rubato::simulator
