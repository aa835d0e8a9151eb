// Long vectors in parts. A broadcast begins with parts of them on their own ways, and ends with an exchange of what
// ranks lack; a reduction begins with a reduce-scatter, and ends with a gather of the parts.
#include "schedules/algorithms/builders.hpp"
#include "schedules/algorithms/pattern/butterfly.hpp"
#include "schedules/algorithms/pattern/movement.hpp"
#include "schedules/algorithms/pattern/partial.hpp"
#include "schedules/algorithms/pattern/rank_ring.hpp"
#include "schedules/algorithms/pattern/tree.hpp"

#include <algorithm>
#include <array>

namespace rubato::schedules {
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

/// Parallel ring (bucket). The vector is cut into a part per rank; all parts travel along the ring at once, each rank
/// adding its own, until every rank has one part complete. A binomial tree gathers them at the root.
/// Cost: (P-1+n) alpha + (P-1)/P m (2 beta + gamma), n = ceil(log2 P). Each part is combined in an order of its own.
/// Rank counts: any.
/// Source: Marendic et al. 2016, 5.5.2 and Table 3.
schedule reduce_ring(const problem& p, rank me) {
    builder b(p, me, static_cast<std::uint32_t>(p.ranks));
    const tree t = knomial_tree(p.ranks, p.root, me, 2);
    const slice home = gather_room(b, t);
    std::array<slice, 2> passing{};  // only the root has room for parts that are not its own
    for (slice& s : passing)
        if (t.parent && p.ranks > 2) s = b.scratch(0, 1);
    ring_reduce_scatter(
        b, p.ranks, me, 1, [own = b.input()](block q) { return own.sub(q); },
        [&](block q, std::uint32_t turn) {
            return !t.parent || q == chunk_of(me) ? blocks_in(home, q, 1) : passing[turn % 2].holding(q, 1);
        });
    if (p.ranks == 1) b.copy(b.input(), home);
    gather_up(b, t, home, std::identity{});
    return std::move(b).finish();
}

/// Butterfly (Rabenseifner's reduce, binary swap). A reduce-scatter by recursive halving, then the parts are gathered
/// at the root by a binomial tree.
/// Cost: 2 n alpha + (P-1)/P m (2 beta + gamma), n = log2 P.
/// Rank counts: any. Beyond the largest power of two, pairs of neighbours first exchange halves and combine them, and
/// one hands its half to the other, which is the root if the root is one of them: 2 alpha + m beta + m/2 gamma more.
/// Source: Marendic et al. 2016, 5.5.3 and Table 3; Rabenseifner 2004.
schedule reduce_butterfly(const problem& p, rank me) {
    const folding fold(p.ranks, p.root);
    const halving parts{p, fold, me};
    builder b(p, me, fold.size);
    const slice home = me == p.root ? b.output() : parts.make_home(b);
    if (const auto result = parts.reduce_scatter(b, b.input(), home)) {
        const auto position = [&parts](rank r) { return rank(static_cast<std::int32_t>(parts.position(r))); };
        const tree t = knomial_tree(static_cast<std::int32_t>(fold.size), position(p.root), position(me), 2);
        b.copy(*result, parts.at(home, parts.position(me)));
        gather_up(b, t, parts.at(home, static_cast<block>(t.covers.low), static_cast<std::uint32_t>(t.covers.size())),
                  [&parts](rank at) { return parts.rank_at(chunk_of(at)); });
    }
    return std::move(b).finish();
}

/// Radix-k. A reduce-scatter in rounds, one per factor of the rank count: in the round of factor k, groups of k ranks
/// cut what they hold into k pieces, and each member collects one piece from all others. Groups are neighbours first,
/// then farther apart. A binomial tree gathers the parts at the root. With factors of two only it is the butterfly.
/// Cost: (sum (k_i - 1) + n) alpha + (P-1)/P m (2 beta + gamma), n = ceil(log2 P).
/// Rank counts: any; without a radix vector, prime factors are grouped to at most 8, larger ones stay.
/// Source: Marendic et al. 2016, 5.5.4 and Table 3.
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
        const slice right = round + 1 == radix.size() ? blocks_in(home, own.shape, own.count)
                                                      : nested_scratch(b, between[round % 2], own);
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

/// Scatter, then ring. A binomial tree leaves each rank one piece of the data, and the pieces then go around the ring.
/// Inner ranks of the tree keep the pieces that passed through them, and the root has all: no rank is sent what it has.
/// Cost: (n + P - 1) alpha + 2 (P - 1)/P s beta, n = ceil(log2 P). For long data; each rank sends to one neighbour
/// only. Rank counts: any. Source: Thakur, Rabenseifner & Gropp 2005; the messages left out: Zhou et al. 2015.
schedule bcast_scatter_ring(const problem& p, rank me) {
    builder b(p, me, static_cast<std::uint32_t>(p.ranks));
    const interval all{0, p.ranks};
    const tree t = knomial_tree(p.ranks, p.root, me, 2);
    const slice data = t.parent ? b.output() : b.input();
    scatter_down(b, t, pieces(data, all, t.covers));
    const interval theirs = knomial_tree(p.ranks, p.root, around(me, 1, p.ranks), 2).covers;
    pass_around(b, me, p.ranks, piece(data, all, me), data, t.covers, theirs);
    return std::move(b).finish();
}

/// Scatter, then allgather in log2 P rounds. A binomial tree leaves each rank one piece of the data. Then the ranks
/// double what they have: in the round of distance w, each gets the w pieces that follow its own ones from the rank w
/// places on. No rank is sent pieces that it kept from the scatter, so the root receives nothing.
/// Cost: 2 n alpha + 2 (P - 1)/P s beta, n = ceil(log2 P). For data of medium length.
/// Rank counts: any; the last round moves what is left. Pieces lie where they belong from the start, so those that
/// follow each other around the end of the vector go in two messages rather than through a copy.
/// Source: Thakur, Rabenseifner & Gropp 2005; the rounds: Bruck et al. 1997.
schedule bcast_scatter_allgather(const problem& p, rank me) {
    builder b(p, me, static_cast<std::uint32_t>(p.ranks));
    const interval all{0, p.ranks};
    const tree t = knomial_tree(p.ranks, p.root, me, 2);
    const slice data = t.parent ? b.output() : b.input();
    scatter_down(b, t, pieces(data, all, t.covers));

    // What a rank has from the scatter begins with its own piece, so of what follows it can only lack the end.
    const auto lacking = [&p](interval has, rank first, std::int32_t n) {
        std::vector<interval> runs = ring_runs(first, n, p.ranks);
        for (interval& run : runs)
            if (has.has(run.low)) run.low = std::min(run.high, has.high);
        std::erase_if(runs, [](const interval& run) { return run.size() == 0; });
        return runs;
    };
    for (std::int32_t w = 1; w < p.ranks; w *= 2) {
        const std::int32_t n = std::min(w, p.ranks - w);
        const rank to = around(me, -w, p.ranks);
        const rank from = around(me, w, p.ranks);
        const interval theirs = knomial_tree(p.ranks, p.root, to, 2).covers;
        for (const interval run : lacking(theirs, me, n)) b.send(to, pieces(data, all, run));
        for (const interval run : lacking(t.covers, from, n)) b.recv(from, pieces(data, all, run));
    }
    return std::move(b).finish();
}

/// Split binary tree. One half of the data goes down the left subtree of the root, the other half down the right one;
/// then each rank of the left exchanges halves with one of the right. A rank passes on half as much as in a binary
/// tree.
/// Cost: about (L + o + 2(o + s/2 G)) floor(log2 P) + L + 2o + s/2 G; the first term is pipelined with N =
/// segments per half. Rank counts: any. Ranks are counted from the root, so that the subtrees are equal or the right
/// one has one rank more; that one gets the left half from the root. Source: Pjesivac-Grbovic et al. 2007; Hoefler &
/// Moor 2014, 3.1.2.
schedule bcast_split_binary(const problem& p, rank me) {
    builder b(p, me, 2 * p.segments);
    const bool root = me == p.root;
    const slice data = root ? b.input() : b.output();
    const slice halves[2] = {data.sub(0, p.segments), data.sub(p.segments, p.segments)};
    const std::int32_t left = (p.ranks - 1) / 2;  // ranks root + 1 to root + left; then come those on the right
    const auto from_root = [&p](rank r) { return around(r, -p.root.value, p.ranks).value; };
    const auto is_right = [&](rank r) { return from_root(r) > left; };

    const tree t = rotated_kary_tree(p.ranks, p.root, me, 2);
    for (std::uint32_t s = 0; s < p.segments; ++s) {
        if (t.parent) b.recv(*t.parent, halves[is_right(me)].sub(s));
        for (const rank child : t.children) b.send(child, halves[is_right(child)].sub(s));
    }

    const rank last = around(p.root, -1, p.ranks);
    const bool unpaired = from_root(last) > 2 * left;
    if (root) {
        if (unpaired) b.send(last, halves[0]);
    } else if (unpaired && me == last) {
        b.recv(p.root, halves[0]);
    } else {
        const rank partner = around(me, is_right(me) ? -left : left, p.ranks);
        b.send(partner, halves[is_right(me)]);
        b.recv(partner, halves[is_right(partner)]);
    }
    return std::move(b).finish();
}

}  // namespace rubato::schedules
