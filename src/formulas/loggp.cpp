// Closed forms under LogGP, where a network interface sends while the CPU does something else (Hoefler 2008, III.3.1).
//
// The thesis has forms of these algorithms in LogfGP, Eqs III.1 to III.7. Here the interface is busy for g + x after
// each message, x = (m-1) G, whereas Eqs III.1 and III.2 charge the bytes of many messages once; and g is charged only
// where a rank has to wait for its interface, whereas Eqs III.5 to III.7 add it to rounds in which it waits for a
// message.
#include "formulas/formula.hpp"
#include "formulas/tree_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace rubato {
namespace {

using enum formula_fit;
using terms = const formula_terms&;

/// x of a message of so many bytes.
double transfer(terms t, double bytes) { return std::max(bytes - 1, 0.) * t.G; }
/// Of one message.
double message(terms t, double bytes) { return t.L + 2 * t.o + transfer(t, bytes); }

closed_form linear(terms t) {
    const double x = transfer(t, t.s);
    return {(t.P - 2) * std::max(t.o, t.g + x) + message(t, t.s), t.P - 1, (t.P - 1) * t.s, t.P - 1};
}

/// The rank or interface that has most to do with a segment sets the pace.
closed_form chain(terms t) {
    const double segment = t.s / t.N;
    const double pace = std::max(t.P > 2 ? 2 * t.o : t.o, t.g + transfer(t, segment));
    return {(t.P - 1) * message(t, segment) + (t.N - 1) * pace, (t.P - 1) * t.N, (t.P - 1) * t.s, t.N};
}

/// A message leaves when the one before has left. If gaps are long, a rank that has many to send ends after those that
/// it has served. The root serves the last piece first.
double knomial_time(terms t, double ranks) {
    if (ranks <= 1) return 0;
    const knomial_pieces p(ranks, t.k);
    const double next = transfer(t, t.s) + std::max(t.o, t.g);
    const double first = message(t, t.s);
    const double level = first + (t.k - 2) * next;
    const double complete = p.m > 0 ? level + (p.m - 1) * std::max(level, (t.k - 1) * next) : 0;
    double end = first + knomial_time(t, p.last);
    if (p.others > 1) end = std::max(end, (p.others - 1) * next + first + complete);
    return p.m > 0 ? std::max(end, p.others * next + complete) : end;
}

closed_form knomial(terms t) {
    const knomial_pieces p(t.P, t.k);
    return {knomial_time(t, t.P), t.P - 1, (t.P - 1) * t.s, p.others + (t.k - 1) * p.m};
}

/// Rounds in which every rank sends one message and waits for one; `work` for each byte of it.
closed_form exchanges(terms t, double rounds, double bytes, double work) {
    const double round = message(t, bytes) + bytes * work;
    return {round + (rounds - 1) * std::max(round, t.g + transfer(t, bytes)), t.P * rounds, t.P * rounds * bytes,
            rounds};
}

/// In a round a rank sends all its messages before it turns to what has come, and combines while it waits for more.
closed_form n_way(terms t) {
    const double work = t.s * t.combine;
    const double next = std::max(t.o, t.g + transfer(t, t.s));
    closed_form sum;
    for (double reach = 1; reach < t.P; reach *= t.k + 1) {
        const double ways = std::min<double>(t.k, std::floor((t.P - 1) / reach));
        const double waiting = message(t, t.s) + (ways - 1) * std::max(next, t.o + work);
        const double round = std::max(waiting, 2 * ways * t.o + (ways - 1) * work) + work;
        const bool last = reach * (t.k + 1) >= t.P;
        sum.time_ns += last ? round : std::max(round, ways * next);
        sum.most_sent += ways;
    }
    sum.messages = t.P * sum.most_sent;
    sum.bytes = sum.messages * t.s;
    return sum;
}

closed_form ring(terms t) {
    closed_form both = exchanges(t, 2 * (t.P - 1), t.s / t.P, 0);
    both.time_ns += (t.P - 1) * t.s / t.P * t.combine;
    return both;
}

constexpr std::array table{
    formula{"bcast/binomial", "Eq. III.3", "n (L + 2o + x)", "(P-1)(e + s E)", "n d", always, 0, 2, knomial},
    formula{"bcast/chain", "Eq. III.2", "(P-1)(L + 2o + x/N) + (N-1) max(2o, g + x/N)", "(P-1)(N e + s E)", "N d",
            whole_vectors, 0.18, 0, chain},
    formula{"bcast/knomial", "Eq. III.4", "log_k P (L + 2o + x + (k-2)(x + max(o, g)))", "(P-1)(e + s E)",
            "(k-1) log_k P d", always, 0, 4, knomial},
    formula{"bcast/linear", "Eq. III.1", "L + 2o + x + (P-2) max(o, g + x)", "(P-1)(e + s E)", "(P-1) d", always, 0, 0,
            linear},
    formula{"allreduce/dissemination", "Eq. III.5", "n (L + 2o + x + s c)", "P n (e + s E)", "n d", always, 0, 0,
            [](terms t) { return exchanges(t, t.n, t.s, t.combine); }},
    formula{"allreduce/n_way_dissemination", "Eq. III.6",
            "log_{k+1} P (max(L + 2o + x + (k-1) max(g + x, o + s c), 2k o + (k-1) s c) + s c)",
            "P k log_{k+1} P (e + s E)", "k log_{k+1} P d", always, 0, default_ways, n_way},
    formula{"allreduce/ring", "Eq. III.7", "2 (P-1)(L + 2o + x/P) + (P-1)/P s c", "2 (P-1)(P e + s E)", "2 (P-1) d",
            always, 0, 0, ring},
};

}  // namespace

std::span<const formula> loggp_formulas() { return table; }

}  // namespace rubato
