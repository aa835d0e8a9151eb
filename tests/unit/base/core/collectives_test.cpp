// What follows from the table of collectives, against what the MPI standard says of each.
#include "rubato/problem.hpp"

#include <gtest/gtest.h>

#include <string>

namespace rubato::base {
namespace {

template <class Property>
std::string those_that(Property has) {
    std::string names;
    for (const collective_traits& t : collectives())
        if (has(t)) names += (names.empty() ? "" : " ") + std::string(t.name);
    return names;
}

TEST(collectives, have_a_root) {
    EXPECT_EQ(those_that([](const auto& t) { return t.rooted; }), "bcast reduce scatter gather scatterv gatherv");
    EXPECT_EQ(those_that([](const auto& t) { return t.spreads(); }), "bcast scatter scatterv");
}

TEST(collectives, have_buffers) {
    EXPECT_EQ(those_that([](const auto& t) { return !t.moves_data(); }), "barrier");
    EXPECT_EQ(those_that([](const auto& t) { return t.one_buffer(); }), "bcast");
    EXPECT_EQ(those_that([](const auto& t) { return t.one_count(); }),
              "bcast reduce allreduce reduce_scatter_block scan exscan reduce_scatter neighbor_reduce");
    // Of ranks 0 to 2 with root 1, who has which.
    const auto input = [](std::int32_t r) { return [r](const auto& t) { return !t.has_input(r, 1); }; };
    const auto output = [](std::int32_t r) { return [r](const auto& t) { return !t.has_output(r, 1); }; };
    EXPECT_EQ(those_that(input(0)), "barrier bcast scatter scatterv");
    EXPECT_EQ(those_that(input(1)), "barrier");
    EXPECT_EQ(those_that(input(2)), "barrier bcast scatter scatterv");
    EXPECT_EQ(those_that(output(0)), "barrier reduce gather exscan gatherv");
    EXPECT_EQ(those_that(output(1)), "barrier bcast");
    EXPECT_EQ(those_that(output(2)), "barrier reduce gather gatherv");
}

TEST(collectives, tell_their_sizes) {
    EXPECT_EQ(those_that([](const auto& t) { return !t.sizes_known_to_all(); }),
              "scatterv gatherv alltoallv neighbor_allgather neighbor_alltoall neighbor_allgatherv neighbor_alltoallv "
              "neighbor_reduce");
    EXPECT_EQ(those_that([](const auto& t) { return t.skips_empty(); }), "alltoallv neighbor_alltoallv");
    EXPECT_EQ(those_that([](const auto& t) { return t.measured_by_input(); }), "reduce_scatter");
    EXPECT_EQ(those_that([](const auto& t) { return t.chunked(); }),
              "scatter gather allgather alltoall reduce_scatter_block scatterv gatherv allgatherv alltoallv "
              "reduce_scatter neighbor_allgather neighbor_alltoall neighbor_allgatherv neighbor_alltoallv");
    EXPECT_EQ(those_that([](const auto& t) { return t.chunked() && t.sized_chunks(5) == 1; }),
              "neighbor_allgather neighbor_alltoall neighbor_allgatherv neighbor_alltoallv");
}

TEST(collectives, are_known_at_compile_time) {
    static_assert(traits(collective::gatherv).rooted && collectives().size() == collective_count);
    for (const collective_traits& t : collectives()) EXPECT_EQ(parse_collective(t.name), t.what);
}

}  // namespace
}  // namespace rubato::base
