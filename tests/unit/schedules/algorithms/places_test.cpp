// Schedules whose ranks stand in the order of a network (problem::places).
#include "base/core/splitmix.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/verify.hpp"
#include "support/problems.hpp"

#include <gtest/gtest.h>

#include <set>

namespace rubato::schedules {
namespace {

std::vector<std::int32_t> shuffled(std::int32_t ranks, std::uint64_t seed) {
    base::splitmix random(seed);
    std::vector<std::int32_t> places(static_cast<std::size_t>(ranks));
    std::iota(places.begin(), places.end(), 0);
    for (std::size_t i = places.size(); i > 1; --i) std::swap(places[i - 1], places[random.below(i)]);
    return places;
}

/// How far messages go, in places.
std::set<std::int32_t> distances(const problem& p, const std::vector<schedule>& all) {
    std::set<std::int32_t> found;
    const auto place = [&p](std::size_t r) { return p.places.empty() ? static_cast<std::int32_t>(r) : p.places[r]; };
    for (std::size_t r = 0; r < all.size(); ++r)
        for (const step& t : all[r].steps)
            if (t.kind == step_kind::send)
                found.insert((place(static_cast<std::size_t>(t.peer)) - place(r) + p.ranks) % p.ranks);
    return found;
}

TEST(places, every_algorithm_is_right_in_any_order) {
    for (const algorithm& a : algorithms()) {
        for (const std::int32_t ranks : {1, 2, 5, 8, 12}) {
            for (const std::int32_t root : {0, ranks - 1}) {
                problem p = problem_for(a, ranks, root);
                p.places = shuffled(ranks, 7);
                p.round_time = time_ns(100);
                for (const bool late : {false, true}) {
                    p.arrivals.assign(static_cast<std::size_t>(ranks), time_ns{});
                    if (late) p.arrivals[static_cast<std::size_t>(ranks / 2)] = time_ns(100'000);
                    for (const bool commutative : {true, false}) {
                        p.commutative = commutative;
                        if (unmet_need(a, p)) continue;
                        const auto findings = verify(p, build_all(a, p), false, a.same_bits);
                        EXPECT_TRUE(findings.empty()) << a.id << ", " << ranks << " ranks: " << findings.front();
                    }
                }
            }
        }
    }
}

TEST(places, decide_who_is_next_to_whom) {
    for (const std::string_view id : {"bcast/chain", "allreduce/ring", "allgather/sorted_ring", "allreduce/bine",
                                      "reduce/bine", "bcast/two_tree", "barrier/dissemination"}) {
        const algorithm& a = find_algorithm(id);
        problem p = problem_for(a, 16);
        const std::set<std::int32_t> in_order = distances(p, build_all(a, p));
        p.places = shuffled(16, 3);
        p.root = rank(static_cast<std::int32_t>(std::ranges::find(p.places, 0) - p.places.begin()));
        EXPECT_EQ(distances(p, build_all(a, p)), in_order) << id;
    }
}

TEST(places, leave_the_order_of_operands_and_chunks_alone) {
    for (const std::string_view id : {"reduce/chain", "allreduce/recursive_doubling", "scan/recursive_doubling",
                                      "gather/binomial", "alltoall/pairwise"}) {
        const algorithm& a = find_algorithm(id);
        problem p = problem_for(a, 12);
        p.commutative = false;
        const std::vector<schedule> before = build_all(a, p);
        p.places = shuffled(12, 3);
        EXPECT_EQ(build_all(a, p), before) << id;
    }
}

TEST(places, are_numbered_once_each) {
    problem p = problem_for(find_algorithm("bcast/chain"), 3);
    for (const std::vector<std::int32_t>& wrong :
         {std::vector{0, 1}, std::vector{0, 1, 1}, std::vector{0, 1, 3}, std::vector{-1, 0, 1}}) {
        p.places = wrong;
        EXPECT_THROW(rubato::check(p), error);
    }
    p.places = {2, 0, 1};
    EXPECT_NO_THROW(rubato::check(p));
}

}  // namespace
}  // namespace rubato::schedules
