// N-way dissemination barrier. As the dissemination barrier, with several messages in each round, which go out together
// where the network can have them under way at the same time.
//
// Cost: n (L + 2o + (w - 1) g), n = ceil(log_{w+1} P), w = ways = radix, or 2; at most w n messages per rank.
// Rank counts: any; messages of the last round that would tell nothing new are left out.
// Source: Hoefler 2008, II.3.1.2, Eqs II.13 and II.14.
#include "algorithms/pattern/movement.hpp"
#include "rubato/algorithm.hpp"

namespace rubato {

schedule barrier_n_way_dissemination(const problem& p, rank me) {
    builder b(p, me, 1);
    disseminate(b, me, p.ranks, p.radix_or(default_ways));
    return std::move(b).finish();
}

}  // namespace rubato
