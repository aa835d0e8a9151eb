// Dissemination barrier. In the round of distance w, every rank tells the rank w places on that it and the w - 1 before
// it have arrived.
//
// Cost: n (L + 2o), n = ceil(log2 P).
// Rank counts: any.
// Source: Hensgen, Finkel & Manber 1988; Hoefler 2008, II.3.1.2.
#include "algorithms/pattern/movement.hpp"

namespace rubato {

schedule barrier_dissemination(const problem& p, rank me) {
    builder b(p, me, 1);
    disseminate(b, me, p.ranks, 1);
    return std::move(b).finish();
}

}  // namespace rubato
