// Dissemination. In round r every rank sends what it has to the one 2^r after it and gets as much from the one 2^r
// before it, around the end.
//
// Cost: n (L + 2o + (m-1) G + m gamma), n = ceil(log2 P).
// Rank counts: powers of two; any if the operator is idempotent, as the last round then counts some ranks twice. The
// operands of rank r begin after r, so the operator must commute. For the same reason ranks combine in different
// orders: their floating-point results may differ in the last bits, which breaks programs that branch on them.
// Source: Hoefler 2008, II.3.1 and III.5.
#include "algorithms/allreduce/dissemination.hpp"

namespace rubato {

schedule allreduce_dissemination(const problem& p, rank me) { return disseminating_allreduce(p, me, 1); }

}  // namespace rubato
