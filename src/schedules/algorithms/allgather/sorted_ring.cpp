// Sorted ring. Ranks are lined up by arrival, and ranks that arrive together join as a group. When a group joins,
// chunks go around the ring of all ranks that have arrived: the new ranks get all chunks, the others only the new
// chunks. So no chunk waits for a rank that arrives later than its owner.
//
// Begun early, chunks are also sent to ranks that have not arrived: each by its owner to the first later rank, so that
// no link carries all of them, and from there down the line. Only a group's own chunks go from its last rank to the
// first rank of the line and around. Chunks of late ranks are cut into segments, so that they reach all ranks soon; the
// chunks of a group are together cut into as many.
//
// Cost: (P - 1)(alpha + m beta), m = one chunk, if all have arrived. The same after a last arrival, as that rank lacks
// all other chunks: this is the bound. A ring reaches it, too, so segments would not help. Begun early, those chunks
// have already been received, and the tail is (P - 2 + N)(alpha + m/N beta), N = segments; the bound is alpha + m beta,
// and a ring begun early needs as long as before. A rank receives only what its output has room for.
// Rank counts: any. Without predicted arrivals it is the ring.
// Source: ours, after Thakur, Rabenseifner & Gropp 2005.
#include "schedules/algorithms/builders.hpp"
#include "schedules/algorithms/pattern/arrival_order.hpp"
#include "schedules/algorithms/pattern/movement.hpp"

#include <algorithm>
#include <iterator>

namespace rubato::schedules {
namespace {

/// The line of ranks, and this rank's chunks in its order.
struct lined_up_chunks {
    lined_up_chunks(const problem& p, rank me, const std::vector<rank>& all)
        : b(p, me, p.segments), line(all), mine(static_cast<std::size_t>(std::ranges::find(line, me) - line.begin())) {}

    slice chunk(std::size_t at) const { return at == mine ? b.input() : b.output(chunk_of(line[at])); }
    schedule finish() && {
        b.copy(b.input(), b.output(chunk_of(line[mine])));
        return std::move(b).finish();
    }

    builder b;
    const std::vector<rank>& line;
    std::size_t mine;
};

/// A group's chunks in the order in which a rank has them: those of the ranks before it, and around.
std::vector<std::size_t> in_order(const joining& group, std::size_t mine) {
    const std::size_t n = group.end - group.old;
    const bool member = group.old <= mine && mine < group.end;
    const std::size_t first = member ? mine - group.old : n - 1;
    std::vector<std::size_t> all;
    for (std::size_t t = 0; t < n; ++t) all.push_back(group.old + (first + n - t) % n);
    return all;
}

/// Begun early, chunks go down the whole line, which takes a round for each rank, or less, as round times are cautious.
/// A rank that arrives so long after the one before begins a group. So does any rank that arrives alone, unless many
/// ranks arrive closely: a chunk that is sent on its own keeps links busy for about twice its time.
std::vector<joining> groups_begun_early(const problem& p, const std::vector<rank>& line) {
    const auto down_the_line =
        static_cast<std::int64_t>(std::max<std::size_t>(1, 2 * (line.size() - 1) * p.segments / 3));
    const std::vector<joining> alone = joining_groups(p, line, [](std::size_t) { return 1; });
    std::vector<joining> groups;
    for (const joining& group : joining_groups(p, line, [=](std::size_t) { return down_the_line; })) {
        const time_ns spread = arrival(p, line[group.end - 1]) - arrival(p, line[group.old]);
        const auto crowded = static_cast<std::int64_t>(4 * (group.end - group.old) * p.segments / 3);
        if (spread / std::max(p.round_time, time_ns{1}) < crowded)
            groups.push_back(group);
        else
            std::ranges::copy_if(alone, std::back_inserter(groups),
                                 [&group](const joining& g) { return group.old <= g.old && g.old < group.end; });
    }
    return groups;
}

schedule around_those_there(lined_up_chunks my, const std::vector<joining>& groups) {
    for (const auto [old, end] : groups) {
        if (my.mine >= end) continue;
        const std::size_t next = (my.mine + 1) % end;
        const std::size_t before = (my.mine + end - 1) % end;
        for (std::size_t t = 0; t + 1 < end; ++t) {
            const std::size_t sent = (my.mine + end - t) % end;
            const std::size_t received = (before + end - t) % end;
            if (next >= old || sent >= old) my.b.send(my.line[next], my.chunk(sent));
            if (my.mine >= old || received >= old) my.b.recv(my.line[before], my.chunk(received));
        }
    }
    return std::move(my).finish();
}

schedule down_the_line(lined_up_chunks my, const std::vector<joining>& groups) {
    const std::uint32_t segments = my.b.parts();
    for (const joining& group : groups) {
        const std::size_t last = group.end - 1;
        const std::size_t before = my.mine == 0 ? last : my.mine - 1;
        const auto together = static_cast<std::uint32_t>(group.end - group.old);
        const std::uint32_t pieces = group.old == 0 ? 1 : std::max(1U, segments / together);
        const auto for_each_piece = [&](auto f) {
            for (const std::size_t at : in_order(group, my.mine)) {
                for (std::uint32_t q = 0; q < pieces; ++q) {
                    const auto from = static_cast<std::uint32_t>(std::uint64_t{q} * segments / pieces);
                    const auto to = static_cast<std::uint32_t>((std::uint64_t{q} + 1) * segments / pieces);
                    f(at, my.chunk(at).sub(from, to - from));
                }
            }
        };
        if (group.old <= my.mine && my.mine < group.end && group.end < my.line.size())
            for_each_piece([&](std::size_t at, slice piece) {
                if (at == my.mine) my.b.send(my.line[group.end], piece);
            });
        for_each_piece([&](std::size_t at, slice piece) {
            if (at != my.mine) my.b.recv(my.line[my.mine == group.end ? at : before], piece);
            if (my.mine == last && my.mine > 0 && at > 0) my.b.send(my.line[0], piece);
            const std::size_t next = my.mine + 1;
            if (my.mine != last && next < my.line.size() && next != at) my.b.send(my.line[next], piece);
        });
    }
    return std::move(my).finish();
}

}  // namespace

std::vector<schedule> allgather_sorted_ring(const problem& p, std::span<const rank> who) {
    const std::vector<rank> line = line_up(p);
    const auto done = [&p](std::size_t n) { return static_cast<std::int64_t>((n - 1) * p.segments); };
    const std::vector<joining> groups = joining_groups(p, line, done);
    return build_each(who, [&](rank me) { return around_those_there({p, me, line}, groups); });
}

std::vector<schedule> allgather_sorted_ring_early(const problem& p, std::span<const rank> who) {
    const std::vector<rank> line = line_up(p);
    const std::vector<joining> groups = groups_begun_early(p, line);
    return build_each(who, [&](rank me) { return down_the_line({p, me, line}, groups); });
}

}  // namespace rubato::schedules
