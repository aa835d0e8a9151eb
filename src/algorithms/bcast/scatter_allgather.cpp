// Scatter, then allgather in log2 P rounds. A binomial tree leaves each rank one piece of the data. Then the ranks
// double what they have: in the round of distance w, each gets the w pieces that follow its own ones from the rank w
// places on. No rank is sent pieces that it kept from the scatter, so the root receives nothing.
//
// Cost: 2 n alpha + 2 (P - 1)/P s beta, n = ceil(log2 P). For data of medium length.
// Rank counts: any; the last round moves what is left. Pieces lie where they belong from the start, so those that
// follow each other around the end of the vector go in two messages rather than through a copy.
// Source: Thakur, Rabenseifner & Gropp 2005; the rounds: Bruck et al. 1997.
#include "algorithms/pattern/movement.hpp"

#include <algorithm>

namespace rubato {

schedule bcast_scatter_allgather(const problem& p, rank me) {
    builder b(p, me, static_cast<std::uint32_t>(p.ranks));
    const interval all{0, p.ranks};
    const tree t = knomial_tree(p.ranks, p.root, me, 2);
    const slice data = t.parent ? b.output() : b.input();
    scatter_down(b, t, pieces(data, all, t.covers));

    // What a rank has from the scatter begins with its own piece, so of what follows it can only lack the end.
    const auto lacking = [&p](interval has, rank first, std::int32_t n) {
        std::vector<interval> runs = ring_runs(first, n, p.ranks);
        for (interval& run : runs)
            if (has.has(run.low)) run.low = std::min(run.high, has.high);
        std::erase_if(runs, [](const interval& run) { return run.size() == 0; });
        return runs;
    };
    for (std::int32_t w = 1; w < p.ranks; w *= 2) {
        const std::int32_t n = std::min(w, p.ranks - w);
        const rank to = around(me, -w, p.ranks);
        const rank from = around(me, w, p.ranks);
        const interval theirs = knomial_tree(p.ranks, p.root, to, 2).covers;
        for (const interval run : lacking(theirs, me, n)) b.send(to, pieces(data, all, run));
        for (const interval run : lacking(t.covers, from, n)) b.recv(from, pieces(data, all, run));
    }
    return std::move(b).finish();
}

}  // namespace rubato
