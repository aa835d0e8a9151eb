#include "reports/tune/library.hpp"

#include "reports/tune/problems.hpp"
#include "rubato/arrival.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace rubato::reports {
namespace {

using namespace std::chrono_literals;

std::string otherwise(const library& l, collective what, std::int32_t ranks, std::int64_t bytes) {
    const std::optional<way> w = l.otherwise(what, ranks, bytes);
    return w ? to_string(*w) : "none";
}

TEST(library, open_mpi_does_without_rules_what_its_tables_say) {
    const library& l = open_mpi();
    EXPECT_EQ(otherwise(l, collective::reduce, 16, 512 << 10), "reduce/binomial");
    EXPECT_EQ(otherwise(l, collective::reduce, 16, 4095), "reduce/binary");
    EXPECT_EQ(otherwise(l, collective::reduce, 4, 4096), "reduce/chain") << "a chain without a fan-out";
    EXPECT_EQ(otherwise(l, collective::bcast, 8, 512 << 10), "bcast/linear");
    EXPECT_EQ(otherwise(l, collective::bcast, 5000, 1 << 20), "bcast/scatter_allgather");
    EXPECT_EQ(otherwise(l, collective::allreduce, 16, 512 << 10), "allreduce/rabenseifner");
    EXPECT_EQ(otherwise(l, collective::allreduce, 200, 1000), "none") << "a reduce, then a bcast";
    EXPECT_EQ(otherwise(l, collective::allgather, 16, 16), "allgather/recursive_doubling");
    EXPECT_EQ(otherwise(l, collective::allgather, 12, 1 << 20), "allgather/bruck");
    EXPECT_EQ(otherwise(l, collective::allgather, 33, 33 << 20), "allgather/ring");
    EXPECT_EQ(otherwise(l, collective::alltoall, 16, 16 * 100), "alltoall/bruck");
    EXPECT_EQ(otherwise(l, collective::reduce_scatter, 16, 256 << 10), "reduce_scatter/ring");
}

TEST(library, mpich_does_without_rules_what_its_trees_say) {
    const library& l = mpich();
    EXPECT_EQ(otherwise(l, collective::bcast, 4, 1 << 20), "bcast/binomial");
    EXPECT_EQ(otherwise(l, collective::bcast, 16, 12288), "bcast/binomial");
    EXPECT_EQ(otherwise(l, collective::bcast, 16, 512 << 10), "bcast/scatter_allgather");
    EXPECT_EQ(otherwise(l, collective::bcast, 12, 512 << 10), "bcast/scatter_ring");
    EXPECT_EQ(otherwise(l, collective::reduce, 16, 2048), "reduce/binomial");
    EXPECT_EQ(otherwise(l, collective::reduce, 16, 1 << 20), "reduce/butterfly");
    EXPECT_EQ(otherwise(l, collective::allreduce, 16, 8), "allreduce/recursive_doubling");
    EXPECT_EQ(otherwise(l, collective::allgather, 16, 1 << 20), "allgather/ring");
    EXPECT_EQ(otherwise(l, collective::alltoall, 16, 16 * 256), "alltoall/bruck");
    EXPECT_EQ(otherwise(l, collective::gather, 16, 256), "none");
}

/// Chosen by hand: from 64 KiB on a choice, before that none.
struct by_hand {
    timed_problem large;
    timed_problem larger;
    std::vector<decided> all;

    by_hand(const way& first, const way& then)
        : large{first.use->what, 4, 64 << 10}, larger{first.use->what, 4, 1 << 20}, all{{&large}, {&larger}} {
        all[0].any = pick{first};
        all[1].any = pick{then};
    }
};

TEST(library, open_mpi_reads_numbers) {
    const by_hand reduce({&find_algorithm("reduce/chain"), 8 << 10}, {&find_algorithm("reduce/butterfly")});
    EXPECT_EQ(open_mpi().file(reduce.all, "made by hand"),
              "1 # collectives; made by hand\n"
              "11 # reduce\n"
              "3 # communicator sizes\n"
              "0 # ranks\n1 # message size: Open MPI's own choice\n0 0 0 0\n"
              "4 # ranks\n3 # message sizes\n0 0 0 0\n65536 3 0 8192 # pipeline\n262144 7 0 0 # rabenseifner\n"
              "8 # ranks\n1 # message size: Open MPI's own choice\n0 0 0 0\n");
    const by_hand bcast({&find_algorithm("bcast/split_binary"), 16 << 10},
                        {&find_algorithm("bcast/split_binary"), 8 << 10});
    const std::string text = open_mpi().file(bcast.all, "");
    EXPECT_NE(text.find("\n65536 4 0 8192 # split"), std::string::npos) << "each half is cut";
    EXPECT_NE(text.find("\n262144 4 0 4096 # split"), std::string::npos);
}

TEST(library, mpich_reads_a_tree_that_covers_everything) {
    const by_hand reduce({&find_algorithm("reduce/binomial")}, {&find_algorithm("reduce/butterfly")});
    const auto tree = nlohmann::ordered_json::parse(mpich().file(reduce.all, ""));
    const auto& intra = tree.at("collective=reduce").at("comm_type=intra");
    const auto& tuned = intra.at("comm_size<8");
    EXPECT_EQ(tuned.begin().key(), "avg_msg_size<65536");
    EXPECT_EQ(tuned.at("avg_msg_size<65536"), intra.at("comm_size=any")) << "left alone";
    EXPECT_TRUE(tuned.at("avg_msg_size<262144").contains("algorithm=MPIR_Reduce_intra_binomial"));
    EXPECT_TRUE(tuned.at("avg_msg_size=any").at("is_op_built_in=no").contains("algorithm=MPIR_Reduce_intra_binomial"));
    EXPECT_EQ(intra.at("comm_size<4"), intra.at("comm_size=any"));
    EXPECT_EQ(tree.size(), 44U) << "a collective that is missing ends the program";
}

constexpr const char* slow = "loggp:L=50us,o=20us,g=20us,G=160ns,combine=1ns";

/// Open MPI's binomial tree sends whole vectors; cut ones overlap.
TEST(library, a_way_is_found_that_beats_what_the_library_does) {
    asked_problem p{collective::reduce, 16, 512 << 10};
    for (const std::string& pattern : usual_patterns(16, p.bytes, parse_model(slow), 1))
        p.patterns.push_back(parse_arrivals(pattern, 16));
    const timed_problem timed = simulate_ways(p, parse_model(slow), {.of = &open_mpi()});
    ASSERT_TRUE(timed.otherwise);
    const std::optional<pick> chosen = decide(timed, {.keeps_unknown = true}).any;
    ASSERT_TRUE(chosen);
    EXPECT_GT(chosen->use.segment, 0) << to_string(chosen->use);
    const timed_way& w = *timed.find(chosen->use);
    const timed_way& own = *timed.find(*timed.otherwise);
    for (std::size_t j = 0; j < w.run_times.size(); ++j) EXPECT_LE(w.run_times[j], own.run_times[j] * 101 / 100);
    EXPECT_LT(2 * w.run_times[0], own.run_times[0]);
}

TEST(library, an_order_of_operands_is_kept_where_it_matters) {
    asked_problem p{collective::allreduce, 4, 4096, 0, {std::vector<time_ns>(4)}};
    const auto has_ring = [](const timed_problem& t) {
        return std::ranges::any_of(t.ways, [](const timed_way& w) { return w.how.use->id == "allreduce/ring"; });
    };
    EXPECT_TRUE(has_ring(simulate_ways(p, parse_model(slow), {.of = &open_mpi()})));
    EXPECT_FALSE(has_ring(simulate_ways(p, parse_model(slow), {.of = &open_mpi(), .commutative = false})));
}

TEST(library, measured_algorithms_are_ways_if_they_are_ours) {
    const library& l = open_mpi();
    EXPECT_EQ(to_string(*l.named(collective::reduce, 8, "pipeline", 8 << 10)), "reduce/chain@8KiB");
    EXPECT_EQ(to_string(*l.named(collective::bcast, 8, "split_binary_tree", 8 << 10)), "bcast/split_binary@16KiB");
    EXPECT_FALSE(l.named(collective::bcast, 8, "binomial", 8 << 10)) << "ours is not cut";
    EXPECT_TRUE(l.named(collective::bcast, 8, "binomial", 0));
    EXPECT_FALSE(l.named(collective::barrier, 8, "double_ring", 0));
}

}  // namespace
}  // namespace rubato::reports
