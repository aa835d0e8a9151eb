// The figures of docs/scale.md: arrival-aware algorithms beside the classic ones with 2^7 to 2^14 ranks, and plans of
// groups up to 2^20, simulated.
//
//   scale [--full | --groups] [--page FILE] [--most-ranks P]
//
// A summary, and with --full the tables of all collectives, sizes and rank counts. Everything is computed or simulated,
// nothing is timed, so it is the same on every machine. With --page it prints only those lines that the page lacks, and
// fails if there are any.
#include "../page_check.hpp"
#include "command/cli/parallel.hpp"
#include "groups.hpp"
#include "rivalry.hpp"
#include "tables.hpp"

#include <CLI/CLI.hpp>

namespace {

using namespace rubato;

const std::vector<scale::entrants> collectives{
    {collective::allreduce,
     {"recursive_doubling", "rabenseifner", "ring", "reduce_bcast"},
     {"straggler", "clairvoyant", "clairvoyant_tree"},
     {}},
    {collective::reduce,
     {"binomial", "knomial", "binary", "butterfly", "ring", "chain", "two_tree"},
     {"clairvoyant", "clairvoyant_plus"},
     {}},
    {collective::reduce_scatter_block, {"halving", "ring"}, {"straggler", "clairvoyant"}, {}, 2048},
    {collective::scan, {"recursive_doubling"}, {"clairvoyant"}, {}},
    {collective::bcast,
     {"binomial", "knomial", "binary", "chain", "two_tree", "split_binary", "scatter_allgather", "scatter_ring"},
     {"sorted_binomial", "sorted_chain", "sorted_two_tree"},
     {"sorted_binomial+early", "sorted_chain+early", "sorted_two_tree+early"}},
    {collective::allgather,
     {"bruck", "recursive_doubling", "ring", "neighbour_exchange"},
     {"sorted_ring", "sorted_tree"},
     {"sorted_ring+early", "sorted_tree+early"},
     2048},  // for more ranks each rank's list of chunks takes too much memory
    {collective::alltoall, {"bruck", "pairwise", "direct"}, {"straggler", "sorted_pairwise"}, {}},
    {collective::barrier, {"dissemination", "n_way_dissemination", "tree"}, {"sorted_tree"}, {}},
};

constexpr std::array<std::int32_t, 4> rank_counts{128, 512, 2048, 16384};

std::vector<scale::contested> play_all(std::int32_t most_ranks) {
    std::vector<scale::contested> all;
    for (const scale::entrants& e : collectives)
        for (const std::int32_t ranks : rank_counts)
            if (ranks <= std::min(most_ranks, e.most_ranks)) all.push_back({&e, ranks, {}});
    // The longest first, so that all cores finish at about the same time.
    std::vector<scale::contested*> order;
    for (scale::contested& c : all) order.push_back(&c);
    std::ranges::stable_sort(order, std::greater<>(), &scale::contested::ranks);
    command::for_each_in_parallel(order.size(), "simulated",
                                  [&](std::size_t i) { order[i]->results = contest(*order[i]->who, order[i]->ranks); });
    return all;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app("Prints the figures of docs/scale.md: nothing is timed, so they are the same on every machine.");
    std::string page;
    std::int32_t most_ranks = 1 << 20;
    bool full = false;
    bool groups = false;
    app.add_flag("--full", full, "print the tables of all collectives, sizes and rank counts, too");
    app.add_flag("--groups", groups, "print only the table of groups")->excludes("--full");
    app.add_option("--page", page, "print only the lines that this file lacks; fails if there are any");
    app.add_option("--most-ranks", most_ranks, "leave out larger numbers of ranks");
    CLI11_PARSE(app, argc, argv);
    std::string output;
    try {
        const std::vector<scale::contested> all = groups ? std::vector<scale::contested>{} : play_all(most_ranks);
        for (const std::int32_t ranks : {rank_counts.front(), rank_counts.back()})
            if (ranks <= most_ranks && !groups) output += scale::summary(all, ranks);
        output += scale::groups_table(most_ranks);
        if (full) output += scale::tables(all);
        if (!page.empty()) output = missing_in(page, aligned(lines_of(output)));
    } catch (const error& e) {
        fmt::print(stderr, "scale: {}\n", e.what());
        return 2;
    }
    fmt::print("{}", output);
    return !page.empty() && !output.empty() ? 1 : 0;
}
