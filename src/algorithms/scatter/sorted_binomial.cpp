// Sorted binomial scatter (SBN; BSBN if begun early). As the binomial scatter, but the first ranks to arrive take part
// first, so that later ranks are leaves, and no rank waits for a later one to pass data on.
//
// A subtree's chunks are sent in the order in which they are passed on, so only the root packs them, and only if they
// are not consecutive already.
//
// Cost: as binomial, n alpha + (P - 1) m beta, n = ceil(log2 P), m = one chunk, if all have arrived. If one rank comes
// T after the others, the larger of that and T + alpha + m beta; begun early, the larger of that and T.
// Rank counts: any. If all but the root are predicted to arrive together, it is the binomial scatter.
// Source: Proficz 2020, Figs 7 and 8.
#include "algorithms/builders.hpp"
#include "algorithms/pattern/arrival_order.hpp"
#include "algorithms/pattern/in_order.hpp"
#include "algorithms/pattern/lined_up_tree.hpp"

namespace rubato {
namespace {

schedule down_the_line(const problem& p, rank me, const std::vector<rank>& line) {
    builder b(p, me, 1);
    const lined_up_tree t(p.root, me, line);
    const auto branches = t.branches();
    sends_in_turn in_turn(b);
    if (!t.parent()) {
        const slice input = b.input(0, static_cast<std::uint32_t>(p.ranks));
        for (const auto& [child, ranks] : branches) in_turn.send(child, in_line(b, input, ranks));
        b.copy(b.input(chunk_of(me)), b.output());
        return std::move(b).finish();
    }
    std::uint32_t chunks = 1;
    for (const auto& branch : branches) chunks += static_cast<std::uint32_t>(branch.ranks.size());
    const slice data = chunks == 1 ? b.output() : b.scratch_chunks(chunks);
    b.recv(*t.parent(), data);
    std::uint32_t passed = 1;
    for (const auto& [child, ranks] : branches) {
        const auto n = static_cast<std::uint32_t>(ranks.size());
        in_turn.send(child, data.sub(passed, n));
        passed += n;
    }
    b.copy(data.sub(0), b.output());
    return std::move(b).finish();
}

}  // namespace

std::vector<schedule> scatter_sorted_binomial(const problem& p, std::span<const rank> who) {
    if (others_together(p)) return build_each(who, [&p](rank me) { return scatter_binomial(p, me); });
    return build_each(who, [&p, line = by_arrival(p)](rank me) { return down_the_line(p, me, line); });
}

}  // namespace rubato
