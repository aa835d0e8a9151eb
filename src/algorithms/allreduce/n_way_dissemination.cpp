// N-way dissemination. In round r every rank p sends what it has to p + i (n+1)^r, i = 1..n, and gets as much from
// p - i (n+1)^r, around the end. It pays where a rank can send several small messages at once.
//
// Cost: ceil(log_{n+1} P) ((n+1) o + L + n (m-1) G + n m gamma).
// Rank counts: powers of n + 1; any if the operator is idempotent, as the last round then counts some ranks twice.
// Peers P or more away would bring nothing new and are left out. The operator must commute, as in dissemination, and as
// there each rank combines in an order of its own: floating-point results of ranks may differ in the last bits.
// Source: Hoefler 2008, II.13, II.14 and III.6.
#include "algorithms/allreduce/dissemination.hpp"
#include "algorithms/pattern/tree.hpp"
#include "rubato/algorithm.hpp"

#include <algorithm>

namespace rubato {

schedule disseminating_allreduce(const problem& p, rank me, std::int32_t ways) {
    builder b(p, me, 1);
    const std::int64_t base = std::int64_t{ways} + 1;
    int rounds = 0;
    for (std::int64_t reach = 1; reach < p.ranks; reach *= base) ++rounds;
    const slice away = rounds > 1 ? b.scratch_chunks() : slice{};
    std::vector<slice> others;  // operands beyond the first of a round

    slice value = b.input();
    for (std::int64_t reach = 1; reach < p.ranks; reach *= base) {
        const slice sum = --rounds % 2 == 0 ? b.output() : away;
        std::size_t more = 0;
        for (std::int64_t distance = reach; distance < std::min<std::int64_t>(reach * base, p.ranks);
             distance += reach) {
            b.send(around(me, distance, p.ranks), value);
            if (distance > reach && more++ == others.size()) others.push_back(b.scratch_chunks());
            b.recv(around(me, -distance, p.ranks), distance == reach ? sum : others[more - 1]);
        }
        b.combine(value, sum);
        for (std::size_t i = 0; i < more; ++i) b.combine(others[i], sum);
        value = sum;
    }
    b.copy(value, b.output());
    return std::move(b).finish();
}

schedule allreduce_n_way_dissemination(const problem& p, rank me) {
    return disseminating_allreduce(p, me, p.radix_or(default_ways));
}

}  // namespace rubato
