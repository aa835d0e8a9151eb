#include "algorithms/pattern/butterfly.hpp"

#include "algorithms/pattern/partial.hpp"

namespace rubato {

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

std::uint32_t halving::exchange(std::uint32_t number_or_position) const {
    if (far_first) return number_or_position;
    std::uint32_t reversed = 0;
    for (std::uint32_t low = 1, high = fold.size / 2; high > 0; low *= 2, high /= 2)
        if ((number_or_position & low) != 0) reversed |= high;
    return reversed;
}

slice halving::at(slice whole, std::uint32_t position, std::uint32_t n) const {
    return part(whole, start(position), start(position + n) - start(position));
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
        const rank peer = rank_at(mine ^ n);
        b.send(peer, at(sum.value(), kept ^ n, n));
        sum.narrow(start(kept), start(kept + n) - start(kept));
        if (n == 1 && last) {
            b.recv(peer, *last);
            b.combine(sum.value(), *last);
            return last;
        }
        sum.absorb(peer, peer > me);
    }
    return sum.value();
}

void halving::allgather(builder& b, slice home) const {
    const std::uint32_t mine = position(me);
    for (std::uint32_t n = 1; n < fold.size; n *= 2) {
        const std::uint32_t held = mine & ~(n - 1);
        const rank peer = rank_at(mine ^ n);
        b.send(peer, at(home, held, n));
        b.recv(peer, at(home, held ^ n, n));
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
        b.recv(mate, part(home, upper.shape, upper.count));
}

}  // namespace rubato
