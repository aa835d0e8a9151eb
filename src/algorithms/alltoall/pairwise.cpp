// Pairwise exchange. In step i every rank exchanges chunks with one other, or sends to the rank i places on and
// receives from the one i places before; the next step waits for that. So each rank has one message in and one out at
// any time.
//
// Cost: (P - 1)(alpha + m beta), m = one chunk.
// Rank counts: any; partners differ by XOR with i for powers of two.
// Source: Thakur, Rabenseifner & Gropp 2005.
#include "algorithms/pattern/movement.hpp"

namespace rubato {

schedule alltoall_pairwise(const problem& p, rank me) {
    builder b(p, me, 1);
    for (std::int32_t i = 1; i < p.ranks; ++i) {
        const bool pairs = is_power_of_two(p.ranks);
        const rank to = pairs ? rank(me.value ^ i) : around(me, i, p.ranks);
        const rank from = pairs ? to : around(me, -i, p.ranks);
        b.fence();
        b.send(to, b.input(chunk_of(to)));
        b.recv(from, b.output(chunk_of(from)));
    }
    b.copy(b.input(chunk_of(me)), b.output(chunk_of(me)));
    return std::move(b).finish();
}

}  // namespace rubato
