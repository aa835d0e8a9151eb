// Recursive doubling. In the round of distance w, ranks that differ in that bit exchange the w chunks they have.
//
// Cost: log2 P alpha + (P - 1) m beta, m = one chunk.
// Rank counts: powers of two.
// Source: Thakur, Rabenseifner & Gropp 2005; Hoefler & Moor 2014, 3.1.7.
#include "algorithms/pattern/movement.hpp"

namespace rubato {

schedule allgather_recursive_doubling(const problem& p, rank me) {
    builder b(p, me, 1);
    const std::uint32_t own = chunk_of(me);
    const auto ranks = static_cast<std::uint32_t>(p.ranks);
    const auto exchange = [&](std::uint32_t w, slice have) {
        const rank peer(static_cast<std::int32_t>(own ^ w));
        b.send(peer, have);
        b.recv(peer, b.output((own ^ w) & ~(w - 1), w));
    };
    if (ranks > 1) exchange(1, b.input());  // from the input, so as not to wait for the copy
    b.copy(b.input(), b.output(own));
    for (std::uint32_t w = 2; w < ranks; w *= 2) exchange(w, b.output(own & ~(w - 1), w));
    return std::move(b).finish();
}

}  // namespace rubato
