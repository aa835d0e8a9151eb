// Closed forms of unrooted collectives: distributions, and trees up and down (Hoefler & Moor 2014, 3.1.6 and 3.1.7).
#include "simulator/formulas/formula.hpp"
#include "simulator/formulas/tree_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace rubato::simulator {
namespace {

using enum formula_fit;

/// `rounds` in which every rank sends one message of `bytes` and waits for one.
constexpr closed_form exchanges(terms t, double rounds, double bytes) {
    return {rounds * (t.L + 2 * t.o + bytes * t.G), t.P * rounds, t.P * rounds * bytes, rounds};
}

/// Messages of different sizes in the rounds: `bytes` in all.
constexpr closed_form growing(terms t, double rounds, double bytes) {
    return {rounds * (t.L + 2 * t.o) + bytes * t.G, t.P * rounds, t.P * bytes, rounds};
}

/// Every rank sends `ways` messages and waits for as many. It sends all of them before it turns to what has come.
constexpr double round_of(terms t, double ways) { return ways * (t.o + t.x) + std::max(ways * t.o, t.L + t.o); }

closed_form n_way(terms t) {
    closed_form sum;
    const auto ranks = static_cast<std::int64_t>(t.P);
    const auto degree = static_cast<std::int64_t>(t.k);
    for (std::int64_t reach = 1; reach < ranks; reach *= degree + 1) {
        const auto ways = static_cast<double>(std::min(degree, (ranks - 1) / reach));
        sum.time_ns += round_of(t, ways);
        sum.most_sent += ways;
    }
    sum.messages = t.P * sum.most_sent;
    sum.bytes = sum.messages * t.s;
    return sum;
}

closed_form direct(terms t) { return {round_of(t, t.P - 1), t.P * (t.P - 1), t.P * (t.P - 1) * t.s, t.P - 1}; }

/// Ranks beyond the largest power of two hand in their vector before and get the result afterwards.
closed_form folded_doubling(terms t) {
    const double rounds = std::floor(std::log2(t.P));
    const double extra = t.P - std::exp2(rounds);
    const double messages = (t.P - extra) * rounds + 2 * extra;
    return {(rounds + (extra > 0 ? 2 : 0)) * (t.L + 2 * t.o + t.x), messages, messages * t.s,
            rounds + (extra > 0 ? 1 : 0)};
}

/// In each round all segments of a part; the next round begins with the first one that has come.
closed_form segmented_ring(terms t) {
    const double rounds = 2 * (t.P - 1);
    const double message = 2 * t.o + t.x / (t.P * t.N);
    return {rounds * std::max(t.L + message, t.N * message), rounds * t.P * t.N, rounds * t.s, rounds * t.N};
}

/// Up a flat tree with `up` bytes, then down it with `down` bytes.
closed_form flat_both(terms t, double up, double down) {
    return {2 * (t.L + t.P * t.o) + up * t.G + (t.P - 1) * down * t.G, 2 * (t.P - 1), (t.P - 1) * (up + down), t.P - 1};
}

formula_terms with(formula_terms t, double x) {
    t.x = x;
    t.k = 2;
    return t;
}

/// Up a binomial tree and down it.
closed_form binomial_both(terms t) {
    const formula_terms whole = with(t, t.x);
    return {knomial_up(whole, t.P) + knomial_down(whole, t.P), 2 * (t.P - 1), 2 * (t.P - 1) * t.s, t.n};
}

/// Up a pipelined k-ary tree and down it. A rank does both with each segment.
closed_form kary_both(terms t) {
    const formula_terms one = segment_of(t);
    const most_children c(t);
    const double send = t.o + one.x;
    const double pace = std::max(c.of_root * (t.o + send), (c.inside + 1) * (t.o + send));
    return {kary_up(one, t.P) + kary_down(one, t.P) + (t.N - 1) * pace, 2 * (t.P - 1) * t.N, 2 * (t.P - 1) * t.s,
            std::max(c.of_root, c.inside + 1) * t.N};
}

/// The same with chunks on the way up and all of them on the way down.
closed_form kary_gather_and_down(terms t) {
    const formula_terms one = segment_of(t);
    formula_terms all = one;
    all.x *= t.P;
    const most_children c(t);
    const personalised_tree up = personalised_kary(one, t.P);
    const double send = t.o + all.x;
    const double pace =
        std::max(c.of_root * (t.o + send), (c.inside + 1) * t.o + c.below * one.x + t.o + c.inside * send);
    return {up.up + kary_down(all, t.P) + (t.N - 1) * pace, 2 * (t.P - 1) * t.N, (up.chunks + (t.P - 1) * t.P) * t.s,
            std::max(c.of_root, c.inside + 1) * t.N};
}

/// One of a flat and a binomial tree: the chunks of all on one of them, and one chunk on the other.
constexpr closed_form flat_and_binomial(terms t, double time, double most_sent) {
    return {time, 2 * (t.P - 1), (t.P - 1) * (t.P + 1) * t.s, most_sent};
}

/// The last round's data may be ready before that of the round before.
closed_form prefixes(terms t) {
    const double messages = t.n * t.P - (std::exp2(t.n) - 1);
    const double message = t.L + 2 * t.o + t.x;
    const double before = t.n - 1;
    const double waits = std::ceil(std::log2(t.P - std::exp2(before)));  // rounds until a sender has it
    const double comes = waits * message + (t.n - waits) * (t.o + t.x) + t.L;
    const double time = before > 0 ? served(t, 1, before * message - t.o, comes) : message;
    return {time, messages, messages * t.s, t.n};
}

/// In the last round of Bruck's algorithms, what a rank passes on may have come before the round before. Then both
/// messages leave at once.
closed_form overlapped(terms t, closed_form c) {
    const double half = std::exp2(t.n - 1);
    if (t.n > 1 && t.P - half <= half / 2) c.time_ns -= t.L + 2 * t.o - std::max(t.o, 2 * t.o - t.L);
    return c;
}

/// Chunks travel by the bits of their distance.
closed_form bruck_alltoall(terms t) {
    std::int64_t chunks = 0;
    const auto ranks = static_cast<std::int64_t>(t.P);
    for (std::int64_t bit = 1; bit < ranks; bit *= 2)
        chunks += ranks / (2 * bit) * bit + std::max<std::int64_t>(ranks % (2 * bit) - bit, 0);
    return overlapped(t, growing(t, t.n, static_cast<double>(chunks) * t.s));
}

constexpr std::array unrooted_rows{
    formula{"barrier/dissemination", "BF", "n (L + 2o)", "P n e", "n d", always, 0, 0,
            [](terms t) { return exchanges(t, t.n, 0); }},
    formula{"barrier/linear", "2xFT", "2 (L + P o)", "2 (P-1) e", "(P-1) d", always, 0, 0,
            [](terms t) { return flat_both(t, 0, 0); }},
    formula{"barrier/n_way_dissemination", "n-way BF", "log_{k+1} P (k o + max(k o, L + o))", "P k log_{k+1} P e",
            "k log_{k+1} P d", always, 0, default_ways, n_way},
    formula{"barrier/tree", "2xBT", "2 n (L + 2o)", "2 (P-1) e", "n d", always, 0, 0, binomial_both},
    formula{"allreduce/binary", "2xKT, 2xPBT", "2 h (L + (k+1) o) + (k+1) h x/N + (N-1)(k+1)(2o + x/N)",
            "2 (P-1)(N e + s E)", "(k+1) N d", whole_vectors, 0.22, 2, kary_both},
    formula{"allreduce/direct", "DS", "(P-1)(o + x) + max((P-1) o, L + o)", "P (P-1)(e + s E)", "(P-1) d", always, 0, 0,
            direct},
    formula{"allreduce/dissemination", "BF", "n (L + 2o + x)", "P n (e + s E)", "n d", always, 0, 0,
            [](terms t) { return exchanges(t, t.n, t.s); }},
    formula{"allreduce/linear", "2xFT", "2 (L + P o) + P x", "2 (P-1)(e + s E)", "(P-1) d", always, 0, 0,
            [](terms t) { return flat_both(t, t.s, t.s); }},
    formula{"allreduce/n_way_dissemination", "n-way BF", "log_{k+1} P (k (o + x) + max(k o, L + o))",
            "P k log_{k+1} P (e + s E)", "k log_{k+1} P d", always, 0, default_ways, n_way},
    formula{"allreduce/rabenseifner", "", "2 n (L + 2o) + 2 (P-1)/P x", "2 P n e + 2 (P-1) s E", "2 n d",
            only_powers_of_two, 0, 0, [](terms t) { return growing(t, 2 * t.n, 2 * (t.P - 1) / t.P * t.s); }},
    formula{"allreduce/recursive_doubling", "BF", "n (L + 2o + x)", "P n (e + s E)", "n d", powers_of_two, 0.47, 0,
            folded_doubling},
    formula{"allreduce/bine", "", "2 n (L + 2o) + 2 (P-1)/P x", "2 P n e + 2 (P-1) s E", "2 n d", only_powers_of_two, 0,
            0, [](terms t) { return growing(t, 2 * t.n, 2 * (t.P - 1) / t.P * t.s); }},
    formula{"allreduce/bine_doubling", "BF", "n (L + 2o + x)", "P n (e + s E)", "n d", powers_of_two, 0.47, 0,
            folded_doubling},
    formula{"allreduce/reduce_bcast", "2xBT", "2 n (L + 2o + x)", "2 (P-1)(e + s E)", "n d", always, 0, 0,
            binomial_both},
    formula{"allreduce/ring", "", "2 (P-1)(L + 2o + x/P)", "2 (P-1)(P e + s E)", "2 (P-1) d", always, 0, 0,
            [](terms t) { return exchanges(t, 2 * (t.P - 1), t.s / t.P); }},
    formula{"allreduce/segmented_ring", "", "2 (P-1) max(L + 2o + x/PN, N (2o + x/PN))", "2 (P-1)(P N e + s E)",
            "2 (P-1) N d", whole_vectors, 0.26, 0, segmented_ring},
    formula{"allgather/binary", "2xKTP, 2xPBTP",
            "2 h (L + (k+1) o) + (S + h k P) x/N + (N-1)(2 (k+1) o + (P/k + k P) x/N)",
            "2 (P-1) N e + (D + P (P-1)) s E", "(k+1) N d", whole_vectors, 0.31, 2, kary_gather_and_down},
    formula{"allgather/bruck", "BFP", "n (L + 2o) + (P-1) x", "P n e + P (P-1) s E", "n d", always, 0, 0,
            [](terms t) { return overlapped(t, growing(t, t.n, (t.P - 1) * t.s)); }},
    formula{"allgather/direct", "DS", "(P-1)(o + x) + max((P-1) o, L + o)", "P (P-1)(e + s E)", "(P-1) d", always, 0, 0,
            direct},
    formula{"allgather/gather_bcast", "FTP, BT", "L + P o + x + n (L + 2o + P x)", "2 (P-1) e + (P-1)(P+1) s E", "n d",
            always, 0, 0,
            [](terms t) {
                return flat_and_binomial(t, t.L + t.P * t.o + t.x + knomial_down(with(t, t.P * t.x), t.P), t.n);
            }},
    formula{"allgather/linear", "2xFTP", "2 (L + P o) + x + (P-1) P x", "2 (P-1) e + (P-1)(P+1) s E", "(P-1) d", always,
            0, 0, [](terms t) { return flat_both(t, t.s, t.P * t.s); }},
    formula{"allgather/neighbour_exchange", "", "P/2 (L + 2o) + (P-1) x", "P^2/2 e + P (P-1) s E", "P/2 d", always, 0,
            0, [](terms t) { return growing(t, t.P / 2, (t.P - 1) * t.s); }},
    formula{"allgather/recursive_doubling", "BFP", "n (L + 2o) + (P-1) x", "P n e + P (P-1) s E", "n d", always, 0, 0,
            [](terms t) { return growing(t, t.n, (t.P - 1) * t.s); }},
    formula{"allgather/ring", "", "(P-1)(L + 2o + x)", "P (P-1)(e + s E)", "(P-1) d", always, 0, 0,
            [](terms t) { return exchanges(t, t.P - 1, t.s); }},
    formula{"alltoall/bruck", "BFP", "n (L + 2o + P/2 x)", "P n (e + P/2 s E)", "n d", always, 0, 0, bruck_alltoall},
    formula{"alltoall/direct", "DS", "(P-1)(o + x) + max((P-1) o, L + o)", "P (P-1)(e + s E)", "(P-1) d", always, 0, 0,
            direct},
    formula{"alltoall/pairwise", "", "(P-1)(L + 2o + x)", "P (P-1)(e + s E)", "(P-1) d", always, 0, 0,
            [](terms t) { return exchanges(t, t.P - 1, t.s); }},
    formula{"reduce_scatter_block/binomial", "BT, FTP", "n (L + 2o + P x) + L + P o + (P-1) x",
            "2 (P-1) e + (P-1)(P+1) s E", "(P-1) d", powers_of_two, 0.1, 0,
            [](terms t) {
                return flat_and_binomial(t, knomial_up(with(t, t.P * t.x), t.P) + t.L + t.P * t.o + (t.P - 1) * t.x,
                                         t.P - 1);
            }},
    formula{"reduce_scatter_block/halving", "", "n (L + 2o) + (P-1) x", "P n e + P (P-1) s E", "n d",
            only_powers_of_two, 0, 0, [](terms t) { return growing(t, t.n, (t.P - 1) * t.s); }},
    formula{"reduce_scatter_block/linear", "2xFTP", "2 (L + P o) + P x + (P-1) x", "2 (P-1) e + (P-1)(P+1) s E",
            "(P-1) d", always, 0, 0, [](terms t) { return flat_both(t, t.P * t.s, t.s); }},
    formula{"reduce_scatter_block/ring", "", "(P-1)(L + 2o + x)", "P (P-1)(e + s E)", "(P-1) d", always, 0, 0,
            [](terms t) { return exchanges(t, t.P - 1, t.s); }},
    formula{"scan/recursive_doubling", "", "n (L + 2o + x)", "(n P - 2^n + 1)(e + s E)", "n d", powers_of_two, 0.47, 0,
            prefixes},
    formula{"exscan/recursive_doubling", "", "n (L + 2o + x)", "(n P - 2^n + 1)(e + s E)", "n d", powers_of_two, 0.47,
            0, prefixes},
    formula{"allgatherv/direct", "DS", "(P-1)(o + x) + max((P-1) o, L + o)", "P (P-1)(e + s E)", "(P-1) d", always, 0,
            0, direct},
    formula{"allgatherv/ring", "", "(P-1)(L + 2o + x)", "P (P-1)(e + s E)", "(P-1) d", always, 0, 0,
            [](terms t) { return exchanges(t, t.P - 1, t.s); }},
    formula{"alltoallv/direct", "DS", "(P-1)(o + x) + max((P-1) o, L + o)", "P (P-1)(e + s E)", "(P-1) d", always, 0, 0,
            direct},
    formula{"alltoallv/pairwise", "", "(P-1)(L + 2o + x)", "P (P-1)(e + s E)", "(P-1) d", always, 0, 0,
            [](terms t) { return exchanges(t, t.P - 1, t.s); }},
    formula{"reduce_scatter/halving", "", "n (L + 2o) + (P-1) x", "P n e + P (P-1) s E", "n d", only_powers_of_two, 0,
            0, [](terms t) { return growing(t, t.n, (t.P - 1) * t.s); }},
    formula{"reduce_scatter/ring", "", "(P-1)(L + 2o + x)", "P (P-1)(e + s E)", "(P-1) d", always, 0, 0,
            [](terms t) { return exchanges(t, t.P - 1, t.s); }},
};

}  // namespace

std::span<const formula> unrooted_formulas() { return unrooted_rows; }

}  // namespace rubato::simulator
