// Closed forms of rooted collectives: trees (Hoefler & Moor 2014, 3.1.1 to 3.1.5).
//
// Data that goes up a tree does not cost what it costs on its way down, although the paper has one formula for both: a
// rank sends one message instead of many, and its children's messages travel at the same time. The texts of trees are
// those of complete ones; tree_time.hpp has the others.
#include "simulator/formulas/formula.hpp"
#include "simulator/formulas/tree_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace rubato::simulator {
namespace {

using enum formula_fit;

/// One message of the whole size to every rank.
constexpr closed_form tree(double time, terms t, double most_sent) {
    return {time, (t.P - 1) * t.N, (t.P - 1) * t.s, most_sent * t.N};
}

closed_form flat_down(terms t) { return tree(t.L + t.P * t.o + (t.P - 1) * t.x, t, t.P - 1); }
closed_form flat_up(terms t) { return tree(t.L + t.P * t.o + t.x, t, 1); }

/// The rank that has most to do with a segment sets the pace.
closed_form pipelined_down(terms t) {
    const formula_terms one = segment_of(t);
    const most_children children(t);
    const double send = one.o + one.x;
    const double pace = std::max(children.of_root * send, t.o + children.inside * send);
    return tree(kary_down(one, t.P) + (t.N - 1) * pace, t, children.of_root);
}

closed_form pipelined_up(terms t) {
    const formula_terms one = segment_of(t);
    const most_children children(t);
    const double send = one.o + one.x;
    const double pace = std::max(children.of_root * t.o, children.inside * t.o + send);
    return tree(kary_up(one, t.P) + (t.N - 1) * pace, t, 1);
}

closed_form whole_down(terms t) {
    const knomial_pieces p(t.P, t.k);
    return tree(knomial_down(t, t.P), t, p.others + (t.k - 1) * p.m);
}

closed_form whole_up(terms t) { return tree(knomial_up(t, t.P), t, 1); }

closed_form optimal_down(terms t) {
    const fibonacci_times f(t, t.P);
    return tree(f.down, t, f.children);
}
closed_form optimal_up(terms t) { return tree(fibonacci_times(t, t.P).up, t, 1); }

closed_form chunks_down(terms t) {
    const personalised_tree p = personalised_knomial(t, t.P);
    const knomial_pieces pieces(t.P, t.k);
    return {p.down, t.P - 1, p.chunks * t.s, pieces.others + (t.k - 1) * pieces.m};
}

closed_form chunks_up(terms t) {
    const personalised_tree p = personalised_knomial(t, t.P);
    return {p.up, t.P - 1, p.chunks * t.s, 1};
}

/// When the last rank of a k-ary tree has its chunk, if `segments` messages go to each child, or the other way round.
/// The root serves its children in turn. Other ranks serve them one after the other, so that the messages of the last
/// one's are all in the last part of the time in which a rank is busy.
double pipelined_chunks(terms t, double segments, bool up) {
    const double x = t.x / t.N;
    const auto work = [&](double size, double children, double parents) {
        return (children + parents) * t.o + (up ? parents * size : size - 1) * x;
    };
    double children = std::min<double>(t.k, t.P - 1);
    double end = segments * work(t.P, children, 0);
    double begin = 0;
    bool in_turn = true;
    for (double size = t.P; children > 0; in_turn = false) {
        size = std::ceil((size - 1) / children);
        if (!in_turn) begin = end - (end - begin) / children;
        children = std::min<double>(t.k, size - 1);
        const double each = work(size, children, 1);
        end = std::max(end + t.L + each, begin + t.L + segments * each);
    }
    return end;
}
/// Exact for one segment.
double more_segments(terms t, bool up) { return pipelined_chunks(t, t.N, up) - pipelined_chunks(t, 1, up); }

closed_form pipelined_chunks_down(terms t) {
    const personalised_tree p = personalised_kary(segment_of(t), t.P);
    return {p.down + more_segments(t, false), (t.P - 1) * t.N, p.chunks * t.s, most_children(t).of_root * t.N};
}

closed_form pipelined_chunks_up(terms t) {
    const personalised_tree p = personalised_kary(segment_of(t), t.P);
    return {p.up + more_segments(t, true), (t.P - 1) * t.N, p.chunks * t.s, t.N};
}

/// All ranks but the first and the last receive and send each segment.
closed_form chain(terms t) {
    const double segment = t.x / t.N;
    const double again = t.o + segment + (t.P > 2 ? t.o : 0);
    return tree((t.P - 1) * (t.L + 2 * t.o + segment) + (t.N - 1) * again, t, 1);
}

/// A binary tree of half of the data, then an exchange of halves.
closed_form split_binary(terms t) {
    if (t.P == 2) return {t.L + (t.N + 2) * t.o + t.x, t.N + 1, t.s, t.N + 1};
    formula_terms half = t;
    half.x /= 2;
    half.k = 2;
    const double down = pipelined_down(half).time_ns;
    const bool inner_rank_exchanges = t.P != 3 && t.P != 5;
    return {down + t.L + 2 * t.o + half.x, (t.P - 1) * (t.N + 1), (t.P - 1) * t.s,
            2 * t.N + (inner_rank_exchanges ? 1 : 0)};
}

closed_form on_two_trees(terms t, double N, double time) { return {time, (t.P - 1) * N, (t.P - 1) * t.s, N}; }

/// A rank receives every segment and passes on as many: half of them, to two children each; with three ranks, to one.
/// The terms that do not grow with N were fitted to schedules of up to 128 ranks.
closed_form two_tree_down(terms t) {
    const double N = std::max(t.N, 2.);
    const double h = std::floor(std::log2(t.P));
    const double passes = t.P == 3 ? N / 2 : N;
    if (t.P == 2) return on_two_trees(t, N, t.L + (N + 1) * t.o + t.x);
    return on_two_trees(t, N, (h + 1) * t.L + (N + passes + 3 * h - 1) * t.o + (N + 2 * h - 1) * t.x / N);
}

/// The same upwards, if CPUs are busy. Else ranks wait for each other: what a rank sends as a leaf of one tree comes
/// after what it passes on in the other, so that segments cost a message's way each, as far as they do not overlap.
/// Their share, two thirds, was fitted like the constants, and with three ranks is one third.
closed_form two_tree_up(terms t) {
    const double N = std::max(t.N, 2.);
    const double h = std::floor(std::log2(t.P));
    const double x = t.x / N;
    if (t.P == 2) return on_two_trees(t, N, t.L + (N + 1) * t.o + t.x);
    const double levels = t.P == 3 ? 2 : h + 2;
    const double more = (t.P == 3 ? 1 : 2) * (N - 2) / 3;
    const double busy =
        t.P == 3 ? levels * t.L + (1.5 * N + 2) * t.o + t.x : levels * t.L + (2 * N + 3 * h - 1) * t.o + (N + h) * x;
    return on_two_trees(t, N, std::max(busy, (levels + more) * (t.L + x) + (3 * h - 1) * t.o));
}

constexpr std::array rooted_rows{
    formula{"bcast/binary", "KT, PBT", "h (L + o + k(o + x/N)) + (N-1)(o + k(o + x/N))", "(P-1)(N e + s E)", "k N d",
            whole_vectors, 0.1, 2, pipelined_down},
    formula{"bcast/binomial", "BT", "n (L + 2o + x)", "(P-1)(e + s E)", "n d", always, 0, 2, whole_down},
    formula{"bcast/bine", "BT", "n (L + 2o + x)", "(P-1)(e + s E)", "n d", only_powers_of_two, 0, 2, whole_down},
    formula{"bcast/chain", "pipeline", "(P-1)(L + 2o + x/N) + (N-1)(2o + x/N)", "(P-1)(N e + s E)", "N d",
            whole_vectors, 0.19, 0, chain},
    formula{"bcast/fibonacci", "optimal", "T (o + x) if L + 2o + x = k (o + x); F(T) >= P, F(t) = F(t-1) + F(t-k)",
            "(P-1)(e + s E)", "(T-k+1) d", always, 0, 2, optimal_down},
    formula{"bcast/knomial", "k-nomial", "log_k P (L + o + (k-1)(o + x))", "(P-1)(e + s E)", "(k-1) log_k P d", always,
            0, 4, whole_down},
    formula{"bcast/linear", "FT", "L + P o + (P-1) x", "(P-1)(e + s E)", "(P-1) d", always, 0, 0, flat_down},
    formula{"bcast/split_binary", "SB", "h (L + 3o + x/N) + (N-1)(3o + x/N) + L + 2o + x/2", "(P-1)((N+1) e + s E)",
            "(2N+1) d", complete_trees, 0.49, 2, split_binary},
    formula{"bcast/two_tree", "DT", "(h+1) L + (2N + 3h - 1) o + (N + 2h - 1) x/N", "(P-1)(N e + s E)", "N d", nearly,
            0.32, 0, two_tree_down},
    formula{"reduce/binary", "KT, PBT", "h (L + (k+1) o + x/N) + (N-1)((k+1) o + x/N)", "(P-1)(N e + s E)", "N d",
            whole_vectors, 0.24, 2, pipelined_up},
    formula{"reduce/binomial", "BT", "n (L + 2o + x)", "(P-1)(e + s E)", "d", always, 0, 2, whole_up},
    formula{"reduce/bine", "BT", "n (L + 2o + x)", "(P-1)(e + s E)", "d", only_powers_of_two, 0, 2, whole_up},
    formula{"reduce/chain", "pipeline", "(P-1)(L + 2o + x/N) + (N-1)(2o + x/N)", "(P-1)(N e + s E)", "N d",
            whole_vectors, 0.12, 0, chain},
    formula{"reduce/fibonacci", "optimal", "T o if L + 2o + x = k o; F(T) >= P, F(t) = F(t-1) + F(t-k)",
            "(P-1)(e + s E)", "d", always, 0, 2, optimal_up},
    formula{"reduce/knomial", "k-nomial", "log_k P (L + o + x + (k-1) o)", "(P-1)(e + s E)", "d", always, 0, 4,
            whole_up},
    formula{"reduce/linear", "FT", "L + P o + x", "(P-1)(e + s E)", "d", always, 0, 0, flat_up},
    formula{"reduce/two_tree", "DT",
            "max((h+2) L + (2N + 3h - 1) o + (N+h) x/N, (h+2 + 2/3 (N-2))(L + x/N) + (3h-1) o)", "(P-1)(N e + s E)",
            "N d", nearly, 0.34, 0, two_tree_up},
    formula{"scatter/binary", "KTP, PBTP",
            "h (L + (k+1) o) + S x/N + (N-1) max(k o + (P-1) x/N, (k+1) o (1 + (h-1)(k-1)/k))", "(P-1) N e + D s E",
            "k N d", whole_vectors, 0.31, 2, pipelined_chunks_down},
    formula{"scatter/binomial", "BTP", "n (L + 2o) + (P-1) x", "(P-1) e + n P/2 s E", "n d", always, 0, 2, chunks_down},
    formula{"scatter/knomial", "k-nomial P", "log_k P (L + k o) + (P-1) x", "(P-1) e + (k-1)/k P log_k P s E",
            "(k-1) log_k P d", always, 0, 4, chunks_down},
    formula{"scatter/linear", "FTP", "L + P o + (P-1) x", "(P-1)(e + s E)", "(P-1) d", always, 0, 0, flat_down},
    formula{"gather/binary", "KTP, PBTP",
            "h (L + (k+1) o) + S x/N + (N-1) max((k+1) o + (P-1)/k x/N, (k+1) o (1 + (h-1)(k-1)/k))",
            "(P-1) N e + D s E", "N d", whole_vectors, 0.38, 2, pipelined_chunks_up},
    formula{"gather/binomial", "BTP", "n (L + 2o) + (P-1) x", "(P-1) e + n P/2 s E", "d", always, 0, 2, chunks_up},
    formula{"gather/knomial", "k-nomial P", "log_k P (L + k o) + (P-1)/(k-1) x", "(P-1) e + (k-1)/k P log_k P s E", "d",
            always, 0, 4, chunks_up},
    formula{"gather/linear", "FTP", "L + P o + x", "(P-1)(e + s E)", "d", always, 0, 0, flat_up},
    formula{"scatterv/linear", "FTP", "L + P o + (P-1) x", "(P-1)(e + s E)", "(P-1) d", always, 0, 0, flat_down},
    formula{"gatherv/linear", "FTP", "L + P o + x", "(P-1)(e + s E)", "d", always, 0, 0, flat_up},
};

}  // namespace

std::span<const formula> rooted_formulas() { return rooted_rows; }

}  // namespace rubato::simulator
