// Chunks go along one dimension of a torus after the other. A chunk that is to go the same way for several neighbours
// goes there once, and all that go the same way travel in one message. So a rank with 26 neighbours around it sends 6
// messages with 26 chunks in all.
//
// Cost: n alpha + s m beta, n = directions (6 instead of 26), s = the different ways and beginnings of ways that chunks
// go (26), m = one chunk, and as many copies. Rank counts: any. Graphs: those that look the same from all ranks of a
// torus. Source: Traff et al. 2019 (message combining for Cartesian neighbourhoods).
#include "algorithms/pattern/neighbours.hpp"

#include <map>
#include <set>

namespace rubato {
namespace {

using way = std::vector<std::int32_t>;  // how far along each of the first dimensions

}  // namespace

schedule neighbor_allgather_combining(const problem& p, rank me) {
    const torus_view& t = *p.neighbours->torus();
    builder b(p, me, 1);
    std::map<way, slice> held{{{}, b.input()}};  // the chunk of the rank from which this way leads here
    for (std::size_t d = 0; d < t.sizes.size(); ++d) {
        std::map<std::int32_t, std::set<way>> messages;  // by how far they go: the ways before
        std::map<way, slice> next;
        for (const way& to : t.offsets) {
            const way before(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(d));
            if (to[d] != 0)
                messages[to[d]].insert(before);
            else
                next.insert_or_assign(way(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(d) + 1),
                                      held.at(before));
        }
        for (const auto& [by, chunks] : messages) {
            const auto n = static_cast<std::uint32_t>(chunks.size());
            slice outgoing = held.at(*chunks.begin());
            if (n > 1) {
                outgoing = b.scratch_chunks(n);
                std::uint32_t k = 0;
                for (const way& w : chunks) b.copy(held.at(w), outgoing.sub(k++));
            }
            b.send(t.shifted(me, d, by), outgoing);
            const slice incoming = b.scratch_chunks(n);
            b.recv(t.shifted(me, d, -by), incoming);
            std::uint32_t k = 0;
            for (way w : chunks) {
                w.push_back(by);
                next.insert_or_assign(std::move(w), incoming.sub(k++));
            }
        }
        held = std::move(next);
    }
    for (std::uint32_t i = 0; i < t.offsets.size(); ++i) b.copy(held.at(t.offsets[i]), b.output(t.targets[i]));
    return std::move(b).finish();
}

}  // namespace rubato
