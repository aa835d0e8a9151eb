// Closed forms under LogGP, where a network interface sends while the CPU does something else, and under LogfGP, where
// the first f messages in a row pay no gap and those after the first take less of the CPU (Hoefler 2008, III.3.1).
//
// The thesis has forms of these algorithms in LogfGP, Eqs III.1 to III.7. Here the interface is busy for g + x after
// each message, x = (m-1) G, whereas Eqs III.1 and III.2 charge the bytes of many messages once; and g is charged only
// where a rank has to wait for its interface, whereas Eqs III.5 to III.7 add it to rounds in which it waits for a
// message. The first of f free messages is the first at all, as in Eq. II.4; in Eqs III.1 to III.7 it is the second.
#include "simulator/formulas/formula.hpp"
#include "simulator/formulas/tree_time.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <limits>
#include <vector>

namespace rubato::simulator {
namespace {

using enum formula_fit;

/// x of a message of so many bytes.
double transfer(terms t, double bytes) { return std::max(bytes - 1, 0.) * t.G; }
/// Of one message by itself.
double message(terms t, double bytes) { return t.L + 2 * t.o + transfer(t, bytes); }
/// By how much the i-th of messages in a row leaves after the first, if only gaps and bytes count.
double gaps(terms t, double i, double x) { return (i - 1) * x + std::max(i - t.f, 0.) * t.g; }

closed_form linear(terms t) {
    const double n = t.P - 1;
    const double last = std::max((n - 1) * t.o_min, gaps(t, n, transfer(t, t.s)));
    return {last + message(t, t.s), n, n * t.s, n};
}

/// The rank or interface that has most to do with a segment sets the pace.
closed_form chain_with_gaps(terms t) {
    const double segment = t.s / t.N;
    const double cpu = t.P > 2 ? t.o + t.o_min : t.o_min;
    const double last = std::max((t.N - 1) * cpu, gaps(t, t.N, transfer(t, segment)));
    return {(t.P - 1) * message(t, segment) + last, (t.P - 1) * t.N, (t.P - 1) * t.s, t.N};
}

/// Trees whose ranks send a message when the one before has left.
class knomial_times {
public:
    explicit knomial_times(terms t) : t_(t), x_(transfer(t, t.s)) {}

    double of(double ranks) {
        if (ranks <= 1) return 0;
        const knomial_pieces p(ranks, t_.k);
        const double last = p.last == p.size ? complete(p.m) : of(p.last);
        double end = arrives(1) + last;
        if (p.others > 1) end = std::max(end, arrives(p.others) + complete(p.m));
        return std::max(end, complete(p.m, p.others));
    }

private:
    /// When a rank's i-th message has been received.
    double arrives(double i) const {
        return message(t_, t_.s) + (i - 1) * x_ + std::max((i - 1) * t_.o_min, std::max(i - t_.f, 0.) * t_.g);
    }
    /// Of k^m ranks, if the root has sent so many messages to others before.
    double complete(double m, double before = 0) {
        while (std::ssize(complete_) <= static_cast<std::ptrdiff_t>(m)) {
            const auto next = static_cast<double>(complete_.size());
            complete_.push_back(below(next, 0));
        }
        return before > 0 ? below(m, before) : complete_[static_cast<std::size_t>(m)];
    }
    double below(double m, double before) const {
        double end = 0;
        for (double level = m; level > 0; --level) {
            before += t_.k - 1;
            end = std::max(end, arrives(before) + complete_[static_cast<std::size_t>(level) - 1]);
        }
        return end;
    }

    const formula_terms t_;
    double x_;
    std::vector<double> complete_{};  // of 1, k, k^2, ... ranks
};

closed_form knomial(terms t) {
    const knomial_pieces p(t.P, t.k);
    return {knomial_times(t).of(t.P), t.P - 1, (t.P - 1) * t.s, p.others + (t.k - 1) * p.m};
}

/// Rounds in which every rank sends one message and waits for one; `work` for each byte of it. If the interface is busy
/// for longer than a round, the CPU sends while it is.
closed_form exchanges(terms t, double rounds, double bytes, double work) {
    const double x = transfer(t, bytes);
    const double first = message(t, bytes) + bytes * work;
    const bool interface_is_busy = t.g >= t.L + t.o + bytes * work;
    const double round = interface_is_busy ? first - t.o + t.o_min : first;
    return {first + std::max((rounds - 1) * round, interface_is_busy ? gaps(t, rounds, x) : 0), t.P * rounds,
            t.P * rounds * bytes, rounds};
}

/// One rank of an n-way dissemination; all do the same.
class n_way_rank {
public:
    explicit n_way_rank(terms t) : t_(t), x_(transfer(t, t.s)), work_(t.s * t.combine) {}

    void round(double ways) {
        std::deque<double> come;
        for (double i = 0; i < ways; ++i) {
            now_ += in_row() ? t_.o_min : t_.o;
            if (!in_row()) gap_end_ = now_;
            const double leaves = std::max({now_, gap_end_ - (t_.f - 1) * t_.g, wire_end_});
            gap_end_ = std::max(gap_end_, leaves) + t_.g + x_;
            wire_end_ = leaves + x_;
            come.push_back(wire_end_ + t_.L);
        }
        receive(std::move(come));
    }
    double now() const { return now_; }

private:
    bool in_row() const { return now_ <= wire_end_ + t_.g; }
    /// The CPU receives and combines in the order in which it can.
    void receive(std::deque<double> come) {
        std::deque<double> received;  // and not combined
        double straight = -1;         // the end of the last receive
        double combined = 0;          // the end of the last combination, which the next one waits for
        while (!come.empty() || !received.empty()) {
            const bool combines =
                come.empty() || (!received.empty() && std::max(received.front(), combined) < come.front());
            std::deque<double>& next = combines ? received : come;
            now_ = std::max(now_, next.front());
            next.pop_front();
            if (combines) {
                combined = now_ += work_;
                continue;
            }
            now_ += now_ == straight ? t_.o_min : t_.o;
            straight = now_;
            received.push_back(now_);
        }
    }

    const formula_terms t_;
    double x_;
    double work_;
    double now_ = 0;
    double gap_end_ = 0;
    double wire_end_ = -std::numeric_limits<double>::infinity();  // nothing was sent
};

closed_form n_way_with_gaps(terms t) {
    n_way_rank one(t);
    closed_form sum;
    for (double reach = 1; reach < t.P; reach *= t.k + 1) {
        const double ways = std::min<double>(t.k, std::floor((t.P - 1) / reach));
        one.round(ways);
        sum.most_sent += ways;
    }
    sum.time_ns = one.now();
    sum.messages = t.P * sum.most_sent;
    sum.bytes = sum.messages * t.s;
    return sum;
}

closed_form ring(terms t) {
    closed_form both = exchanges(t, 2 * (t.P - 1), t.s / t.P, 0);
    both.time_ns += (t.P - 1) * t.s / t.P * t.combine;
    return both;
}

closed_form pairs(terms t) { return exchanges(t, t.n, t.s, t.combine); }

constexpr std::array plain{
    formula{"barrier/dissemination", "", "n (L + 2o)", "P n e", "n d", always, 0, 0, pairs},
    formula{"barrier/n_way_dissemination", "", "log_{k+1} P max(L + 2o + (k-1) max(g, o), 2k o)", "P k log_{k+1} P e",
            "k log_{k+1} P d", always, 0, default_ways, n_way_with_gaps},
    formula{"bcast/binomial", "Eq. III.3", "n (L + 2o + x)", "(P-1)(e + s E)", "n d", always, 0, 2, knomial},
    formula{"bcast/chain", "Eq. III.2", "(P-1)(L + 2o + x/N) + (N-1) max(2o, g + x/N)", "(P-1)(N e + s E)", "N d",
            whole_vectors, 0.18, 0, chain_with_gaps},
    formula{"bcast/knomial", "Eq. III.4", "log_k P (L + 2o + x + (k-2)(x + max(o, g)))", "(P-1)(e + s E)",
            "(k-1) log_k P d", always, 0, 4, knomial},
    formula{"bcast/linear", "Eq. III.1", "L + 2o + x + (P-2) max(o, g + x)", "(P-1)(e + s E)", "(P-1) d", always, 0, 0,
            linear},
    formula{"allreduce/dissemination", "Eq. III.5", "n (L + 2o + x + s c)", "P n (e + s E)", "n d", always, 0, 0,
            pairs},
    formula{"allreduce/n_way_dissemination", "Eq. III.6",
            "log_{k+1} P (max(L + 2o + x + (k-1) max(g + x, o + s c), 2k o + (k-1) s c) + s c)",
            "P k log_{k+1} P (e + s E)", "k log_{k+1} P d", always, 0, default_ways, n_way_with_gaps},
    formula{"allreduce/ring", "Eq. III.7", "2 (P-1)(L + 2o + x/P) + (P-1)/P s c", "2 (P-1)(P e + s E)", "2 (P-1) d",
            always, 0, 0, ring},
};

// o is omax, o' is omin, z(i) = max(i, 0).
constexpr std::array with_free_messages{
    formula{"barrier/dissemination", "", "n (L + 2o)", "P n e", "n d", always, 0, 0, pairs},
    formula{"barrier/n_way_dissemination", "", "log_{k+1} P max(L + 2o + max((k-1) o', z(k-f) g), 2o + 2(k-1) o')",
            "P k log_{k+1} P e", "k log_{k+1} P d", always, 0, default_ways, n_way_with_gaps},
    formula{"bcast/binomial", "Eq. III.3", "n (L + 2o + x)", "(P-1)(e + s E)", "n d", always, 0, 2, knomial},
    formula{"bcast/chain", "Eq. III.2", "(P-1)(L + 2o + x/N) + max((N-1)(o + o'), (N-1) x/N + z(N-f) g)",
            "(P-1)(N e + s E)", "N d", whole_vectors, 0.44, 0, chain_with_gaps},
    formula{"bcast/knomial", "Eq. III.4", "log_k P (L + 2o + (k-1) x + max((k-2) o', z(k-1-f) g))", "(P-1)(e + s E)",
            "(k-1) log_k P d", always, 0, 4, knomial},
    formula{"bcast/linear", "Eq. III.1", "L + 2o + x + max((P-2) o', (P-2) x + z(P-1-f) g)", "(P-1)(e + s E)",
            "(P-1) d", always, 0, 0, linear},
    formula{"allreduce/dissemination", "Eq. III.5", "n (L + 2o + x + s c)", "P n (e + s E)", "n d", always, 0, 0,
            pairs},
    formula{"allreduce/n_way_dissemination", "Eq. III.6",
            "log_{k+1} P (L + 2o + x + max((k-1)(o + s c), (k-1) x + z(k-f) g) + s c)", "P k log_{k+1} P (e + s E)",
            "k log_{k+1} P d", always, 0, default_ways, n_way_with_gaps},
    formula{"allreduce/ring", "Eq. III.7", "2 (P-1)(L + 2o + x/P) + (P-1)/P s c", "2 (P-1)(P e + s E)", "2 (P-1) d",
            always, 0, 0, ring},
};

}  // namespace

std::span<const formula> loggp_formulas() { return plain; }
std::span<const formula> logfgp_formulas() { return with_free_messages; }

}  // namespace rubato::simulator
