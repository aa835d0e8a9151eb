// Sorted binomial gather (SBN; BSBN if begun early). As the binomial gather, but those who arrive first hand over
// first, and those who arrive last are nearest to the root and hand over last.
//
// A subtree's chunks travel in the order in which they were handed over, so only the root unpacks them, and only where
// they are not consecutive anyway.
//
// Cost: as binomial, n alpha + (P - 1) m beta, n = ceil(log2 P), m = one chunk, if all are there. A late rank adds what
// it is late, as it takes in half of the chunks only then; begun early, they wait for it, and if it comes T after the
// others, it takes the larger of that and T + alpha + P/2 m beta. A late root, begun early: the larger of that and T.
// Rank counts: any. If all but the root are predicted to arrive together, it is the binomial gather.
// Source: Proficz 2020, Figs 11 and 12.
#include "../arrival_order.hpp"
#include "../builders.hpp"

#include <algorithm>

namespace rubato {
namespace {

void gather_to_root(builder& b, rank me, slice output, const std::vector<lined_up_tree::branch>& branches) {
    struct packed {
        slice line;
        std::vector<slice> places;
    };
    std::vector<packed> later;
    for (auto from = branches.rbegin(); from != branches.rend(); ++from) {
        std::vector<slice> runs = chunk_runs(output, from->ranks);
        const bool straight = runs.size() == 1;
        const slice line = straight ? runs.front() : b.scratch_chunks(static_cast<std::uint32_t>(from->ranks.size()));
        b.recv(from->child, line);
        if (!straight) later.push_back({line, std::move(runs)});
    }
    for (const packed& one : later) unpack(b, one.line, one.places);
    b.copy(b.input(), output.sub(chunk_of(me)));
}

}  // namespace

schedule gather_sorted_binomial(const problem& p, rank me) {
    if (others_together(p)) return gather_binomial(p, me);
    builder b(p, me, 1);
    std::vector<rank> latest_first = by_arrival(p);
    std::ranges::reverse(latest_first);
    const lined_up_tree t(p, me, latest_first);
    const auto branches = t.branches();
    if (!t.parent()) {
        gather_to_root(b, me, b.output(0, static_cast<std::uint32_t>(p.ranks)), branches);
        return std::move(b).finish();
    }
    std::uint32_t chunks = 1;
    for (const auto& branch : branches) chunks += static_cast<std::uint32_t>(branch.ranks.size());
    const slice data = chunks == 1 ? b.input() : b.scratch_chunks(chunks);
    std::uint32_t end = chunks;
    for (auto from = branches.rbegin(); from != branches.rend(); ++from) {
        const auto n = static_cast<std::uint32_t>(from->ranks.size());
        end -= n;
        b.recv(from->child, data.sub(end, n));
    }
    b.copy(b.input(), data.sub(0));
    b.send(*t.parent(), data);
    return std::move(b).finish();
}

}  // namespace rubato
