#include "schedules/algorithms/pattern/butterfly.hpp"

#include "schedules/algorithms/pattern/partial.hpp"

namespace rubato::schedules {
namespace {

/// The bits of a number below `size`, a power of two, in reverse.
std::uint32_t reversed(std::uint32_t number, std::uint32_t size) {
    std::uint32_t result = 0;
    for (std::uint32_t low = 1, high = size / 2; high > 0; low *= 2, high /= 2)
        if ((number & low) != 0) result |= high;
    return result;
}

}  // namespace

folding::folding(std::int32_t ranks, rank stays_)
    : size(static_cast<std::uint32_t>(floor_power_of_two(ranks))),
      pairs(static_cast<std::uint32_t>(ranks) - size),
      stays(stays_) {}

std::optional<rank> folding::mate(rank r) const {
    if (static_cast<std::uint32_t>(r.value) >= 2 * pairs) return std::nullopt;
    return rank(r.value ^ 1);
}

std::uint32_t folding::number(rank r) const {
    const auto value = static_cast<std::uint32_t>(r.value);
    return value < 2 * pairs ? value / 2 : value - pairs;
}

rank folding::keeper(std::uint32_t number) const {
    if (number >= pairs) return rank(static_cast<std::int32_t>(number + pairs));
    const rank even(static_cast<std::int32_t>(2 * number));
    return mate(even) == stays ? stays : even;
}

// Bine: two even numbers have the same positions until their halves differ in the next bit, counted from the lowest. An
// odd one has the same positions as its partner of the last round until that round.
std::uint32_t halving::position(rank r) const {
    const std::uint32_t number = fold.number(r);
    if (by == pairing::far_first) return number;
    if (by == pairing::near_first) return reversed(number, fold.size);
    const bool odd = number % 2 != 0;
    const std::uint32_t even = odd ? bine_partner(number, ceil_log2(fold.size) - 1, fold.size) : number;
    return reversed(even / 2 + (odd ? fold.size / 2 : 0), fold.size);
}

rank halving::rank_at(std::uint32_t position) const {
    if (by == pairing::far_first) return fold.keeper(position);
    const std::uint32_t number = reversed(position, fold.size);
    if (by == pairing::near_first || fold.size == 1) return fold.keeper(number);
    const std::uint32_t half = fold.size / 2;
    const std::uint32_t even = 2 * (number % half);
    return fold.keeper(number < half ? even : bine_partner(even, ceil_log2(fold.size) - 1, fold.size));
}

rank halving::peer(std::uint32_t n) const {
    if (by != pairing::bine) return rank_at(position(me) ^ n);
    return fold.keeper(bine_partner(fold.number(me), ceil_log2(fold.size / n) - 1, fold.size));
}

slice halving::at(slice whole, std::uint32_t position, std::uint32_t n) const {
    return blocks_in(whole, start(position), start(position + n) - start(position));
}

slice halving::make_home(builder& b) const {
    const block end = start(fold.size);
    if (fold.gives(me)) return b.scratch(end / 2, end - end / 2);
    if (fold.mate(me)) return b.scratch(0, end);
    const std::uint32_t half = fold.size / 2;
    const block first = start(position(me) & half);
    return b.scratch(first, start((position(me) & half) + half) - first);
}

std::optional<slice> halving::reduce_scatter(builder& b, slice input, slice home, std::optional<slice> last) const {
    if (const auto mate = fold.mate(me)) {
        fold_halves(b, *mate, input, home);
        if (fold.gives(me)) return std::nullopt;
        input = home;
    }
    partial sum(b, p.commutative, input, home);
    const std::uint32_t mine = position(me);
    for (std::uint32_t n = fold.size / 2; n > 0; n /= 2) {
        const std::uint32_t kept = mine & ~(n - 1);
        const rank other = peer(n);
        b.send(other, at(sum.value(), kept ^ n, n));
        sum.narrow(start(kept), start(kept + n) - start(kept));
        if (n == 1 && last) {
            b.recv(other, *last);
            b.combine(sum.value(), *last);
            return last;
        }
        sum.absorb(other, other > me);
    }
    return sum.value();
}

void halving::allgather(builder& b, slice home) const {
    const std::uint32_t mine = position(me);
    for (std::uint32_t n = 1; n < fold.size; n *= 2) {
        const std::uint32_t held = mine & ~(n - 1);
        const rank other = peer(n);
        b.send(other, at(home, held, n));
        b.recv(other, at(home, held ^ n, n));
    }
}

void halving::fold_halves(builder& b, rank mate, slice input, slice home) const {
    const slice lower = input.sub(0, input.count / 2);
    const slice upper = input.sub(input.count / 2, input.count - input.count / 2);
    const bool gives = fold.gives(me);
    b.send(mate, gives ? lower : upper);
    partial sum(b, p.commutative, gives ? upper : lower, home);
    sum.absorb(mate, mate > me);
    if (gives)
        b.send(mate, sum.value());
    else
        b.recv(mate, blocks_in(home, upper.shape, upper.count));
}

schedule halved_and_gathered(const problem& p, rank me, pairing by) {
    const folding fold(p.ranks);
    const halving parts{p, fold, me, by};
    builder b(p, me, fold.size);
    const auto mate = fold.mate(me);
    if (const auto result = parts.reduce_scatter(b, b.input(), b.output())) {
        b.copy(*result, parts.at(b.output(), parts.position(me)));
        parts.allgather(b, b.output());
        if (mate) b.send(*mate, b.output());
    } else {
        b.recv(*mate, b.output());
    }
    return std::move(b).finish();
}

schedule doubled(const problem& p, rank me, pairing by) {
    builder b(p, me, 1);
    const folding fold(p.ranks);
    const auto mate = fold.mate(me);
    if (fold.gives(me)) {
        b.send(*mate, b.input());
        b.recv(*mate, b.output());
        return std::move(b).finish();
    }
    const halving parts{p, fold, me, by};
    const std::uint32_t position = parts.position(me);
    int moves = 0;
    for (std::uint32_t n = mate ? 1 : 2; n < fold.size; n *= 2)
        if ((position & n) == 0) ++moves;
    partial sum = partial_vector(b, false, moves);
    if (mate) sum.absorb(*mate, true);
    for (std::uint32_t n = 1; n < fold.size; n *= 2) {
        const rank peer = parts.peer(n);
        b.send(peer, sum.value());
        sum.absorb(peer, (position & n) == 0);
    }
    b.copy(sum.value(), b.output());
    if (mate) b.send(*mate, b.output());
    return std::move(b).finish();
}

schedule halved_to_owners(const problem& p, rank me, pairing by) {
    const folding fold(p.ranks);
    const halving parts{p, fold, me, by, fold.pairs};
    builder b(p, me, 1);
    const slice input = b.input(0, static_cast<std::uint32_t>(p.ranks));
    const rank holder = parts.rank_at(fold.number(me));
    std::optional<slice> last;
    if (p.commutative && holder == me && !fold.mate(me)) last = b.output().holding(static_cast<block>(me.value), 1);
    const slice home = p.ranks == 2 && last ? *last : parts.make_home(b);
    if (const auto result = parts.reduce_scatter(b, input, home, last)) {
        for (std::uint32_t i = 0; i < result->count; ++i) {
            const rank owner(static_cast<std::int32_t>(result->shape + i));
            if (owner == me)
                b.copy(result->sub(i), b.output());
            else
                b.send(owner, result->sub(i));
        }
    }
    if (holder != me) b.recv(holder, b.output());
    return std::move(b).finish();
}

}  // namespace rubato::schedules
