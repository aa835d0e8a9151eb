// Clairvoyant allreduce. The first ranks to arrive form a ring, and some of them, the owners, each own a part of the
// vector. While other ranks are missing, parts are summed around the ring, each to its owner. A late rank sends each
// owner its part, one after the other. A complete part goes on around the ring and to the late ranks; the last rank
// passes nothing on. So after the last arrival every link carries about one vector, where a ring of all ranks needs
// two.
//
// It works in rounds: in each, one block of every part goes to its owner, and the complete blocks of the round before
// go out, as in the allgather around a ring; so all links have equal work at any time. Late ranks that arrive within
// the time of a vector count as together; each begins with a different owner, so that they do not share links. They
// send at most a few rounds ahead of the complete blocks that come back: if they sent everything at once, all blocks
// would be complete only at the end.
//
// Let M be the time of a vector on a link, N segments. If the last rank arrives alone there is one owner: its vector
// takes M to the owner, and the total P segments along all others, earlier late ranks included: tail M (1 + P/N). If g
// arrive together all e ranks of the ring are owners. In each of N/e rounds a link carries e blocks, g - 1 more from
// late ranks, and k - 1 more to k late ranks, not all at the same time; the first round only sends in, the last only
// out: M (1 + (g + k - 2)/e + (2 e + g - 1)/N). The size of the ring is the one with the earliest estimated end. If no
// rank is late enough, an algorithm for ranks that arrive together is used. The same if P N is above 2^18, where a plan
// would take long: with so many ranks P/N is too large for a gain, or segments are so small that fewer are enough.
//
// Rank counts: any. All ranks get the same bits: every part is combined once, or by everybody in the same order.
// Source: ours, after Marendic et al. 2016, 5.4, and the ring of Patarasuk, Yuan 2009.
#include "schedules/algorithms/builders.hpp"
#include "schedules/algorithms/pattern/arrival_order.hpp"
#include "schedules/algorithms/pattern/movement.hpp"
#include "schedules/algorithms/pattern/partial.hpp"
#include "schedules/algorithms/pattern/rank_ring.hpp"

#include <algorithm>
#include <functional>

namespace rubato::schedules {
namespace {

/// Limit of segments times ranks: a rank's search for its steps takes that long, and a single owner has that many steps
/// if all ranks arrive one by one.
constexpr std::uint64_t most_work = 1 << 18;

/// How many of the ranks with these arrivals arrive together with the last one.
std::size_t together(std::span<const double> arrivals, std::size_t ring, double vector) {
    std::size_t last = 1;
    while (last < arrivals.size() - ring && arrivals[arrivals.size() - last - 1] > arrivals.back() - vector) ++last;
    return last;
}

/// When it ends, in doubles: the same sums give the same bits everywhere.
double estimated_end(std::span<const double> arrivals, std::size_t ring, std::uint32_t segments, double segment) {
    const double vector = segment * segments;
    double ready = arrivals[ring - 1] + vector;
    if (ring == arrivals.size()) return ready + vector * static_cast<double>(ring - 2) / static_cast<double>(ring);
    const std::size_t last = together(arrivals, ring, vector);
    const auto e = static_cast<double>(ring);
    const auto in = static_cast<double>(last - 1);
    const auto out = last > 1 ? static_cast<double>(arrivals.size() - ring - 1) : 0;
    for (std::size_t j = ring; j + last < arrivals.size(); ++j)
        ready = std::max(ready + (last > 1 ? vector / e : vector), arrivals[j] + vector);
    const double fill = last > 1 ? 2 * e + in : static_cast<double>(arrivals.size());
    return std::max(ready, arrivals.back()) + vector * (1 + (in + out) / e) + fill * segment;
}

/// How many ranks should count as not late for the earliest end.
std::size_t count_early(std::span<const double> arrivals, std::uint32_t segments, double segment) {
    constexpr std::size_t most = 32;  // only the widest gaps are tried
    std::vector<std::size_t> cuts;
    for (std::size_t i = 2; i < arrivals.size(); ++i)
        if (arrivals[i] > arrivals[i - 1]) cuts.push_back(i);
    std::ranges::stable_sort(cuts, std::greater<>(), [&](std::size_t i) { return arrivals[i] - arrivals[i - 1]; });
    cuts.resize(std::min(cuts.size(), most));
    cuts.insert(cuts.begin(), arrivals.size());
    return *std::ranges::min_element(cuts, {},
                                     [&](std::size_t i) { return estimated_end(arrivals, i, segments, segment); });
}

/// One rank's side when some ranks are late. Ranks are places in the line: first the ring, then the late ranks.
class spread_sum {
public:
    spread_sum(const problem& p, rank me, const std::vector<rank>& line, std::size_t ring, std::size_t last)
        : line_(line),
          ring_(static_cast<std::int32_t>(ring)),
          owners_(last > 1 ? ring_ : 1),
          ranks_(p.ranks),
          last_(p.ranks - static_cast<std::int32_t>(last)),
          passing_(owners_ > 1 ? ring_ : last_),
          blocks_((p.segments + static_cast<std::uint32_t>(owners_) - 1) / static_cast<std::uint32_t>(owners_)),
          mine_(static_cast<std::int32_t>(std::ranges::find(line, me) - line.begin())),
          b_(p, me, blocks_ * static_cast<std::uint32_t>(owners_)),
          rooms_(b_, 2) {}

    schedule write() && {
        sum_up();
        for (std::int32_t late = ring_; late < last_; ++late)
            for (std::uint32_t round = 0; round < blocks_; ++round)
                for (std::int32_t turn = 0; turn < owners_; ++turn) go_in(late, turn, round);
        for (std::uint32_t round = 0; round <= blocks_; ++round) {
            for (std::int32_t turn = 0; turn < passing_; ++turn) {
                for (std::int32_t late = last_; late < ranks_ && turn < owners_ && round < blocks_; ++late)
                    go_in(late, turn, round);
                if (round > 0) go_out(turn, round - 1);
            }
        }
        return std::move(b_).finish();
    }

private:
    rank who(std::int32_t place) const { return line_[static_cast<std::size_t>(place)]; }
    std::int32_t around(std::int32_t place) const { return (place % ring_ + ring_) % ring_; }
    slice piece(slice all, std::int32_t part, std::uint32_t q) const {
        return all.sub(static_cast<std::uint32_t>(part) * blocks_ + q);
    }

    /// Around the ring to the owners, or along it to the only one.
    void sum_up() {
        const slice own = b_.input();
        const slice sum = b_.output();
        if (mine_ >= ring_) return;
        if (owners_ > 1) {
            ring_reduce_scatter(
                b_, ring_, rank(mine_), blocks_, [own](block q) { return own.sub(q); },
                [sum](block q, std::uint32_t) { return sum.sub(q); }, [this](rank r) { return who(r.value); });
        } else {
            for (std::uint32_t q = 0; q < blocks_; ++q) {
                if (mine_ != 1) {
                    b_.recv(who(around(mine_ - 1)), sum.sub(q));
                    b_.combine(own.sub(q), sum.sub(q));
                }
                if (mine_ != 0) b_.send(who(around(mine_ + 1)), mine_ == 1 ? own.sub(q) : sum.sub(q));
            }
        }
    }

    void go_in(std::int32_t late, std::int32_t turn, std::uint32_t q) {
        const std::int32_t part = owners_ > 1 ? around(turn + ranks_ - 1 - late) : 0;
        if (mine_ == late) {
            const slice sent = piece(b_.input(), part, q);
            const auto ahead = static_cast<std::uint32_t>(3 + passing_ / owners_);
            if (q >= ahead && q - ahead < came_.size())
                b_.send(who(part), sent, {came_[q - ahead]});
            else
                b_.send(who(part), sent);
        }
        if (mine_ == part) {
            const slice sum = piece(b_.output(), part, q);
            // Ranks that arrive together with the last one must not wait for each other.
            const slice received = late < last_ ? rooms_.take(sum.shape, sum) : b_.scratch(sum.shape, 1);
            b_.recv(who(late), received);
            b_.combine(received, sum);
        }
    }

    /// In turn t a block is t places from its owner, and goes on.
    void go_out(std::int32_t turn, std::uint32_t q) {
        const auto around_all = [this](std::int32_t place) { return (place + passing_) % passing_; };
        const auto part_at = [&](std::int32_t place) { return around_all(place - turn); };
        if (mine_ < passing_ && turn + 1 < passing_) {
            const std::int32_t before = around_all(mine_ - 1);
            if (part_at(mine_) < owners_) b_.send(who(around_all(mine_ + 1)), piece(b_.output(), part_at(mine_), q));
            if (part_at(before) < owners_) b_.recv(who(before), piece(b_.output(), part_at(before), q));
        }
        // Owners send their own part to late ranks, each in a different turn. A single owner has no time for that: the
        // last rank gets the total from the end of the line.
        if (owners_ > 1)
            for (std::int32_t late = ring_; late < ranks_; ++late) serve(late, around(turn + ranks_ - 1 - late), q);
        else if (turn + 1 == passing_)
            serve(last_, turn, q);
    }

    void serve(std::int32_t late, std::int32_t place, std::uint32_t q) {
        const slice data = piece(b_.output(), owners_ > 1 ? place : 0, q);
        if (mine_ == place) b_.send(who(late), data);
        if (mine_ == late) {
            const auto came = b_.recv(who(place), data);
            came_.resize(q + 1);
            came_[q] = came;
        }
    }

    const std::vector<rank>& line_;
    std::int32_t ring_;
    std::int32_t owners_;
    std::int32_t ranks_;
    std::int32_t last_;     // ranks from this place on arrive together
    std::int32_t passing_;  // ranks that pass on complete blocks: the ring, or with one owner all but the last
    std::uint32_t blocks_;  // of a part
    std::int32_t mine_;
    builder b_;
    slot_ring rooms_;
    std::vector<builder::step_id> came_{};  // the last block of each round that has come back
};

}  // namespace

std::vector<schedule> allreduce_clairvoyant(const problem& p, std::span<const rank> who) {
    const std::vector<rank> line = line_up(p);
    const auto segment = static_cast<double>(p.round_time.count());
    const std::vector<double> arrivals = since_first(p, line);
    const bool fits = std::uint64_t{p.segments} * line.size() <= most_work;
    const std::size_t ring = fits ? count_early(arrivals, p.segments, segment) : line.size();
    if (ring == line.size()) return build_each(who, [&p](rank me) { return allreduce_together(p, me); });
    const std::size_t last = together(arrivals, ring, segment * p.segments);
    return build_each(who, [&](rank me) { return spread_sum(p, me, line, ring, last).write(); });
}

}  // namespace rubato::schedules
