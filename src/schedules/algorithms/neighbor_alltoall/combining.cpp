#include "schedules/algorithms/builders.hpp"
#include "schedules/algorithms/pattern/neighbours.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace rubato::schedules {

// Chunks go along one dimension of a torus after the other. A chunk that is to go the same way for several neighbours
// goes there once, and all that go the same way travel in one message. So a rank with 26 neighbours around it sends 6
// messages with 26 chunks in all.
//
// Cost: n alpha + s m beta, n = directions (6 instead of 26), s = the different ways and beginnings of ways that chunks
// go (26), m = one chunk, and as many copies. Rank counts: any. Graphs: those that look the same from all ranks of a
// torus. Source: Traff et al. 2019 (message combining for Cartesian neighbourhoods).

namespace {

using partial_offset = std::vector<std::int32_t>;  // how far along each of the first dimensions

}  // namespace

schedule neighbor_allgather_combining(const problem& p, rank me) {
    const torus_view& t = *p.neighbours->torus();
    builder b(p, me, 1);
    std::map<partial_offset, slice> held{{{}, b.input()}};  // the chunk of the rank from which that leads here
    for (std::size_t d = 0; d < t.sizes.size(); ++d) {
        std::map<std::int32_t, std::set<partial_offset>> messages;  // by how far they go: what comes before
        std::map<partial_offset, slice> next;
        for (const partial_offset& to : t.offsets) {
            const partial_offset before(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(d));
            if (to[d] != 0)
                messages[to[d]].insert(before);
            else
                next.insert_or_assign(partial_offset(to.begin(), to.begin() + static_cast<std::ptrdiff_t>(d) + 1),
                                      held.at(before));
        }
        for (const auto& [by, chunks] : messages) {
            const auto n = static_cast<std::uint32_t>(chunks.size());
            slice outgoing = held.at(*chunks.begin());
            if (n > 1) {
                outgoing = b.scratch_chunks(n);
                std::uint32_t k = 0;
                for (const partial_offset& w : chunks) b.copy(held.at(w), outgoing.sub(k++));
            }
            b.send(t.shifted(me, d, by), outgoing);
            const slice incoming = b.scratch_chunks(n);
            b.recv(t.shifted(me, d, -by), incoming);
            std::uint32_t k = 0;
            for (partial_offset w : chunks) {
                w.push_back(by);
                next.insert_or_assign(std::move(w), incoming.sub(k++));
            }
        }
        held = std::move(next);
    }
    for (std::uint32_t i = 0; i < t.offsets.size(); ++i) b.copy(held.at(t.offsets[i]), b.output(t.targets[i]));
    return std::move(b).finish();
}

/// Chunks go along one dimension of a torus after the other, and those that go the same way travel in one message. So a
/// rank with 26 neighbours around it sends 6 messages, though most chunks travel two or three times.
/// Cost: n alpha + s m beta, n = directions (6 instead of 26), s = the sum of dimensions that chunks go along (54
/// instead of 26), m = one chunk, and as many copies. For small chunks. Rank counts: any. Graphs: those that look the
/// same from all ranks of a torus. Source: Traff et al. 2019 (message combining for Cartesian neighbourhoods).
schedule neighbor_alltoall_combining(const problem& p, rank me) {
    const torus_view& t = *p.neighbours->torus();
    builder b(p, me, 1);
    std::vector<slice> at;          // where each chunk lies that this rank holds,
    std::vector<std::size_t> left;  // and how many dimensions are left for it
    for (std::uint32_t i = 0; i < t.offsets.size(); ++i) {
        at.push_back(b.input(i));
        left.push_back(static_cast<std::size_t>(std::ranges::count_if(t.offsets[i], [](auto o) { return o != 0; })));
        if (left[i] == 0) b.copy(at[i], b.output(t.targets[i]));
    }
    for (std::size_t d = 0; d < t.sizes.size(); ++d) {
        std::map<std::int32_t, std::vector<std::uint32_t>> ways;
        for (std::uint32_t i = 0; i < t.offsets.size(); ++i)
            if (t.offsets[i][d] != 0) ways[t.offsets[i][d]].push_back(i);
        for (const auto& [by, chunks] : ways) {
            const auto n = static_cast<std::uint32_t>(chunks.size());
            slice outgoing = at[chunks.front()];
            if (n > 1) {
                outgoing = b.scratch_chunks(n);
                for (std::uint32_t k = 0; k < n; ++k) b.copy(at[chunks[k]], outgoing.sub(k));
            }
            b.send(t.shifted(me, d, by), outgoing);
            for (const std::uint32_t i : chunks) --left[i];
            const bool ends_here = n == 1 && left[chunks.front()] == 0;
            const slice incoming = ends_here ? b.output(t.targets[chunks.front()]) : b.scratch_chunks(n);
            b.recv(t.shifted(me, d, -by), incoming);
            for (std::uint32_t k = 0; k < n; ++k) {
                const std::uint32_t i = chunks[k];
                at[i] = incoming.sub(k);
                if (left[i] == 0) b.copy(at[i], b.output(t.targets[i]));
            }
        }
    }
    return std::move(b).finish();
}

}  // namespace rubato::schedules
