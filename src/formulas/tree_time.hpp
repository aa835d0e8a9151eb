// How long trees take for any number of ranks, by recurrences that are closed forms where trees are complete.
#pragma once

#include "formulas/formula.hpp"

namespace rubato {

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

/// A binomial tree whose messages carry a chunk for each rank below. With P = 2^n: n P/2 chunks, n (L + 2o) + (P-1) x.
struct personalised_binomial {
    double chunks = 0;
    double down = 0;
    double up = 0;

    personalised_binomial(const formula_terms& t, double ranks);
};

/// When a CPU has served `n` receives that are ready at `ready` and one at `another`, all as they come.
double served(const formula_terms& t, double n, double ready, double another);

}  // namespace rubato
