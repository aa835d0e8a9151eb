// Radix-k. A reduce-scatter in rounds, one per factor of the rank count: in the round of factor k, groups of k ranks
// cut what they hold into k pieces, and each member collects one piece from all others. Groups are neighbours first,
// then farther apart. A binomial tree gathers the parts at the root. With factors of two only it is the butterfly.
//
// Cost: (sum (k_i - 1) + n) alpha + (P-1)/P m (2 beta + gamma), n = ceil(log2 P).
// Rank counts: any; without a radix vector, prime factors are grouped to at most 8, larger ones stay.
// Source: Marendic et al. 2016, 5.5.4 and Table 3.
#include "algorithms/pattern/movement.hpp"
#include "algorithms/pattern/partial.hpp"

#include <algorithm>
#include <array>

namespace rubato {
namespace {

std::vector<std::uint32_t> factors(const problem& p) {
    std::vector<std::uint32_t> result(p.radix.begin(), p.radix.end());
    auto rest = static_cast<std::uint32_t>(p.ranks);
    for (std::uint32_t f = 2; p.radix.empty() && rest > 1; ++f) {
        if (f * f > rest) f = rest;
        for (; rest % f == 0; rest /= f) {
            if (!result.empty() && result.back() * f <= 8)
                result.back() *= f;
            else
                result.push_back(f);
        }
    }
    std::erase(result, 1U);
    return result;
}

/// A number's digits in a mixed radix, lowest first, read as a number with that one highest. The rank so read is the
/// part it ends with; with the radix backwards, the part so read is its rank.
rank reversed(rank r, const std::vector<std::uint32_t>& radix) {
    std::uint32_t number = chunk_of(r);
    std::uint32_t result = 0;
    for (const std::uint32_t k : radix) {
        result = result * k + number % k;
        number /= k;
    }
    return rank(static_cast<std::int32_t>(result));
}

}  // namespace

schedule reduce_radix_k(const problem& p, rank me) {
    const std::vector<std::uint32_t> radix = factors(p);
    builder b(p, me, static_cast<std::uint32_t>(p.ranks));
    const tree t = knomial_tree(p.ranks, reversed(p.root, radix), reversed(me, radix), 2);
    const slice home = gather_room(b, t);

    slice value = b.input();
    std::array<std::optional<slice>, 2> between;  // results of rounds but the last, in turn
    std::optional<slice> left_side;
    std::array<std::optional<slice>, 2> operands;  // used in turn, so that three receives can be open at once
    std::uint32_t stride = 1;
    for (std::size_t round = 0; round < radix.size(); ++round) {
        const std::uint32_t k = radix[round];
        const std::uint32_t digit = chunk_of(me) / stride % k;
        const auto peer = [&](std::uint32_t d) {
            return rank(static_cast<std::int32_t>(chunk_of(me) - digit * stride + d * stride));
        };
        const auto piece = [&](std::uint32_t d) { return value.sub(value.count / k * d, value.count / k); };
        const slice own = piece(digit);
        const slice right =
            round + 1 == radix.size() ? part(home, own.shape, own.count) : nested_scratch(b, between[round % 2], own);
        // Operands come in falling order, first those on the left, then those on the right. Each side is combined
        // separately: then each new operand is a left operand of what is there already.
        const std::uint32_t lefts = p.commutative ? 0 : digit;
        for (std::uint32_t i = 1; i < k; ++i) {
            b.send(peer((digit + i) % k), piece((digit + i) % k));
            const slice side = i > lefts ? right : nested_scratch(b, left_side, own);
            const bool first = i == 1 || i == lefts + 1;
            const slice received = first ? side : nested_scratch(b, operands[i % 2], own);
            b.recv(peer((digit + k - i) % k), received);
            if (!first) b.combine(received, side);
        }
        if (lefts + 1 < k)
            b.combine(own, right);
        else
            b.copy(own, right);
        if (lefts > 0) b.combine(nested_scratch(b, left_side, own), right);
        value = right;
        stride *= k;
    }
    if (p.ranks == 1) b.copy(value, home);
    const std::vector<std::uint32_t> backwards(radix.rbegin(), radix.rend());
    gather_up(b, t, home, [&](rank position) { return reversed(position, backwards); });
    return std::move(b).finish();
}

}  // namespace rubato
