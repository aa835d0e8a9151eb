// How long trees take for any number of ranks, by recurrences that are closed forms where trees are complete.
#pragma once

#include "simulator/formulas/formula.hpp"

namespace rubato::simulator {

/// A k-nomial tree of `ranks`: the root's own piece has the largest power of k below that many, others as many, and the
/// last piece the rest.
struct knomial_pieces {
    double size = 1;  ///< k^m
    double m = 0;
    double others = 0;  ///< beside the root's
    double last = 0;    ///< ranks of the last one

    knomial_pieces(double ranks, std::int32_t k);
};

/// Of a message of t.x down or up a k-nomial tree. With P = k^n: n (L + o + (k-1)(o + x)), n (L + o + x + (k-1) o).
double knomial_down(const formula_terms& t, double ranks);
double knomial_up(const formula_terms& t, double ranks);

/// Of a message of t.x down or up a k-ary tree. With complete trees: h (L + o + k(o + x)), h (L + o + x + k o).
double kary_down(const formula_terms& t, double ranks);
double kary_up(const formula_terms& t, double ranks);

/// The terms of one segment.
formula_terms segment_of(formula_terms t);

/// The children of the root of a k-ary tree and of the inner rank that has most of them.
struct most_children {
    double of_root = 0;
    double inside = 0;
    double below = 0;  ///< ranks of the root's largest subtree

    explicit most_children(const formula_terms& t);
};

/// A tree whose messages carry a chunk of t.x for each rank below.
struct personalised_tree {
    double chunks = 0;  ///< sent in all: the sum of the ranks' depths
    double down = 0;    ///< times
    double up = 0;
};
/// With P = k^n: (k-1)/k n P chunks, n (L + k o) + (P-1) x, n (L + k o) + (P-1)/(k-1) x.
personalised_tree personalised_knomial(const formula_terms& t, double ranks);
personalised_tree personalised_kary(const formula_terms& t, double ranks);

/// The optimal tree of a message that takes as long as t.k sends.
struct fibonacci_times {
    double children = 0;  ///< of the root
    double down = 0;
    double up = 0;

    fibonacci_times(const formula_terms& t, double ranks);
};

/// When a CPU has served `n` receives that are ready at `ready` and one at `another`, all as they come.
double served(const formula_terms& t, double n, double ready, double another);

}  // namespace rubato::simulator
