// Sorted pairwise exchange. Ranks are lined up by arrival, and ranks that arrive together join as a group. The group
// exchanges chunks within itself and with all earlier ranks, as in the pairwise exchange; the earlier ranks have
// already exchanged all other chunks.
//
// A rank has a few exchanges under way, so that a link is not idle while one ends and the next begins, but no more: so
// chunks do not pile up anywhere, and few share a link.
//
// Cost: (P - 1)(alpha + m beta), m = one chunk, if all have arrived; as long after the last arrival. That is the bound:
// all that the last rank has to send passes its link then. The pairwise exchange reaches it, too, but there no rank
// leaves earlier. Without predicted arrivals it is the pairwise exchange, by distance.
//
// Rank counts: any. Source: ours, after Thakur, Rabenseifner & Gropp 2005.
#include "algorithms/pattern/arrival_order.hpp"
#include "algorithms/pattern/movement.hpp"

#include <algorithm>

namespace rubato {
namespace {

schedule join_in_turn(const problem& p, rank me, const std::vector<rank>& line, const std::vector<joining>& groups) {
    builder b(p, me, 1);
    const auto mine = static_cast<std::size_t>(std::ranges::find(line, me) - line.begin());
    constexpr std::size_t under_way = 4;
    std::vector<builder::step_id> received;
    for (const auto [old, end] : groups) {
        if (mine >= end) continue;
        for (std::size_t distance = 1; distance < end; ++distance) {
            const std::size_t to = (mine + distance) % end;
            const std::size_t from = (mine + end - distance) % end;
            if (mine >= old || to >= old) {
                if (received.size() >= under_way)
                    b.send(line[to], b.input(chunk_of(line[to])), {received[received.size() - under_way]});
                else
                    b.send(line[to], b.input(chunk_of(line[to])));
            }
            if (mine >= old || from >= old) received.push_back(b.recv(line[from], b.output(chunk_of(line[from]))));
        }
    }
    b.copy(b.input(chunk_of(me)), b.output(chunk_of(me)));
    return std::move(b).finish();
}

}  // namespace

std::vector<schedule> alltoall_sorted_pairwise(const problem& p, std::span<const rank> who) {
    const std::vector<rank> line = line_up(p);
    const auto rounds = [](std::size_t n) { return static_cast<std::int64_t>(n - 1); };
    const std::vector<joining> groups = joining_groups(p, line, rounds);
    return build_each(who, [&](rank me) { return join_in_turn(p, me, line, groups); });
}

}  // namespace rubato
