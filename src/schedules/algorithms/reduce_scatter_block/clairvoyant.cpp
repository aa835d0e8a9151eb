// Clairvoyant reduce-scatter. The first ranks to arrive, the owners, sum their own chunks around a ring while others
// are missing, and the chunks of late ranks along chains that end at one of the owners. A late rank sends each other
// rank its part, one after the other, as in the pairwise exchange, and gets the owners' sum of its own chunk. If no
// rank is so late that the owners can finish before, the ring is used.
//
// Cost: after the last arrival, if the owners are done, (P - 1)(alpha + m beta) + m gamma, m = one chunk. Except for
// the last combination that is the bound, as all that the last rank has for others passes its link. A ring ends (P - 1)
// m gamma after the bound, and each of its messages waits for the one before. Scratch: two chunks to receive into, two
// for chunks that pass, and at most P / (owners) waiting sums. Where chunks differ in size, the chunks that pass are at
// most a vector.
// Rank counts: any. Source: ours, after Marendic et al. 2016, 5.4.
#include "schedules/algorithms/builders.hpp"
#include "schedules/algorithms/pattern/arrival_order.hpp"
#include "schedules/algorithms/pattern/in_order.hpp"
#include "schedules/algorithms/pattern/rank_ring.hpp"

#include <algorithm>
#include <array>

namespace rubato::schedules {
namespace {

class late_chunks {
public:
    late_chunks(const problem& p, rank me, const std::vector<rank>& line, std::int32_t owners)
        : ranks_(p.ranks),
          owners_(owners),
          line_(line),
          mine_(static_cast<std::int32_t>(std::ranges::find(line, me) - line.begin())),
          waiting_(line.size()),
          b_(p, me, 1),
          passing_(b_, p) {}

    schedule write() && {
        if (!late(mine_)) sum_up();
        for (std::int32_t distance = 1; distance < ranks_; ++distance) exchange(distance);
        return std::move(b_).finish();
    }

private:
    // All are places in the line.
    rank at(std::int32_t place) const { return line_[static_cast<std::size_t>(place)]; }
    std::uint32_t chunk(std::int32_t place) const { return chunk_of(at(place)); }
    bool late(std::int32_t place) const { return place >= owners_; }
    /// The owner that keeps the owners' sum for a late rank.
    std::int32_t keeper(std::int32_t place) const { return place % owners_; }

    void sum_up() {
        ring_reduce_scatter(
            b_, owners_, rank(mine_), 1, [this](block i) { return b_.input(chunk(static_cast<std::int32_t>(i))); },
            [this](block i, std::uint32_t turn) {
                const auto place = static_cast<std::int32_t>(i);
                return place == mine_ ? b_.output() : passing_.room(chunk(place), turn);
            },
            [this](rank r) { return at(r.value); });
        for (std::int32_t place = owners_; place < ranks_; ++place) sum_for(place);
    }

    /// The chunk of a late rank starts after the keeper, and goes around the ring to the keeper.
    void sum_for(std::int32_t place) {
        const std::int32_t passed = (mine_ - keeper(place) - 1 + owners_) % owners_;
        slice sum = b_.input(chunk(place));
        if (passed > 0) {
            const slice received = keeper(place) == mine_ ? b_.scratch_chunks(1, chunk(place))
                                                          : passing_.room(chunk(place), static_cast<block>(place));
            b_.recv(at((mine_ + owners_ - 1) % owners_), received);
            b_.combine(sum, received);
            sum = received;
        }
        if (keeper(place) == mine_)
            waiting_[static_cast<std::size_t>(place)] = sum;
        else
            b_.send(at((mine_ + 1) % owners_), sum);
    }

    void exchange(std::int32_t distance) {
        const std::int32_t to = (mine_ + distance) % ranks_;
        const std::int32_t from = (mine_ + ranks_ - distance) % ranks_;
        if (late(mine_))
            b_.send(at(to), b_.input(chunk(to)));
        else if (late(to) && keeper(to) == mine_)
            b_.send(at(to), waiting_[static_cast<std::size_t>(to)]);
        if (late(from) || (late(mine_) && keeper(mine_) == from)) add(at(from));
    }

    /// What an owner has of its chunk is in the output; a latecomer receives the first part there.
    void add(rank from) {
        const bool first = late(mine_) && added_ == 0;
        slice& room = rooms_[added_++ % 2];
        if (!first && room.count == 0) room = b_.scratch_chunks(1, chunk(mine_));
        b_.recv(from, first ? b_.output() : room);
        b_.combine(first ? b_.input(chunk(mine_)) : room, b_.output());
    }

    std::int32_t ranks_;
    std::int32_t owners_;
    const std::vector<rank>& line_;
    std::int32_t mine_;
    std::vector<slice> waiting_;  // the sums that this rank keeps
    std::array<slice, 2> rooms_{};
    std::size_t added_ = 0;
    builder b_;
    passing_chunks passing_;
};

/// The number of owners: as many of the line as can finish before the next rank arrives, or nearly. The time is one
/// chunk for each owner around the ring and, along the chains, one for each rank; of these 7/8, as in
/// reduce_scatter_block/straggler.
std::size_t count_owners(const problem& p, const std::vector<rank>& line) {
    if (p.arrivals.empty() || p.round_time == time_ns{}) return line.size();
    const auto when = [&](std::size_t i) { return p.arrivals[static_cast<std::size_t>(line[i].value)]; };
    for (std::size_t i = line.size(); i-- > 2;)
        if ((when(i) - when(i - 1)) / p.round_time >= static_cast<std::int64_t>((i + line.size()) * 7 / 8)) return i;
    return line.size();
}

}  // namespace

std::vector<schedule> reduce_scatter_block_clairvoyant(const problem& p, std::span<const rank> who) {
    const std::vector<rank> line = line_up(p);
    const std::size_t owners = count_owners(p, line);
    if (owners == line.size()) return build_each(who, [&p](rank me) { return reduce_scatter_block_ring(p, me); });
    return build_each(who,
                      [&](rank me) { return late_chunks(p, me, line, static_cast<std::int32_t>(owners)).write(); });
}

}  // namespace rubato::schedules
