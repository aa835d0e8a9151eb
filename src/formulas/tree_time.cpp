#include "formulas/tree_time.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace rubato {
namespace {

using terms = const formula_terms&;

/// The subtrees of a k-ary tree differ by one rank at most: `large` of them have `size` ranks, the others one less.
struct kary_pieces {
    double count = 0;
    double size = 0;
    double large = 0;

    kary_pieces(double ranks, std::int32_t k)
        : count(std::min<double>(k, ranks - 1)),
          size(std::ceil((ranks - 1) / count)),
          large(ranks - 1 - count * (size - 1)) {}

    /// Of the i-th in the order of ranks.
    double size_of(double i) const {
        const double all = count * (size - 1) + large;
        return std::floor(all * (i + 1) / count) - std::floor(all * i / count);
    }
};

/// On each level of a k-ary tree there are subtrees of two sizes; each is computed once.
class kary_times {
public:
    kary_times(terms t, bool up) : t_(t), up_(up) {}

    double of(double ranks) {
        if (ranks <= 1) return 0;
        const auto known = known_.find(ranks);
        if (known != known_.end()) return known->second;
        const double time = up_ ? up(kary_pieces(ranks, t_.k)) : down(kary_pieces(ranks, t_.k));
        known_.emplace(ranks, time);
        return time;
    }

private:
    /// The root serves the last subtree first.
    double down(const kary_pieces& p) {
        double end = 0;
        for (double i = 0; i < p.count; ++i)
            end = std::max(end, (p.count - i) * (t_.o + t_.x) + t_.L + t_.o + of(p.size_of(i)));
        return end;
    }

    double up(const kary_pieces& p) {
        const double on_the_way = t_.o + t_.x + t_.L;
        const double small = of(p.size - 1) + (p.count - p.large) * t_.o;
        return on_the_way + (p.size > 1 ? std::max(of(p.size), small) : small) + p.large * t_.o;
    }

    const formula_terms t_;
    const bool up_;
    std::map<double, double> known_{};
};

}  // namespace

knomial_pieces::knomial_pieces(double ranks, std::int32_t k) {
    for (; size * k < ranks; size *= k) ++m;
    others = std::ceil(ranks / size) - 1;
    last = ranks - others * size;
}

double served(terms t, double n, double ready, double another) {
    if (another < ready) return std::max(ready, another + t.o) + n * t.o;
    return std::max(ready + n * t.o, another) + t.o;
}

double knomial_down(terms t, double ranks) {
    if (ranks <= 1) return 0;
    const knomial_pieces p(ranks, t.k);
    const double send = t.o + t.x;
    const double complete = p.m * (t.L + t.o + (t.k - 1) * send);
    // The root serves the last piece first.
    const double first = send + t.L + t.o + knomial_down(t, p.last);
    return std::max(first, p.others * send + (p.others > 1 ? t.L + t.o : 0) + complete);
}

double knomial_up(terms t, double ranks) {
    if (ranks <= 1) return 0;
    const knomial_pieces p(ranks, t.k);
    const double on_the_way = t.o + t.x + t.L;
    const double complete = p.m * (on_the_way + (t.k - 1) * t.o);
    // What comes from the last piece may come before the root's own piece is ready.
    const double from_last = knomial_up(t, p.last) + on_the_way;
    const double end = p.m > 0 ? served(t, t.k - 1, complete - (t.k - 1) * t.o, from_last) : from_last + t.o;
    return p.others > 1 ? std::max(complete + on_the_way, end) + (p.others - 1) * t.o : end;
}

double kary_down(terms t, double ranks) { return kary_times(t, false).of(ranks); }
double kary_up(terms t, double ranks) { return kary_times(t, true).of(ranks); }

personalised_binomial::personalised_binomial(terms t, double ranks) {
    if (ranks <= 1) return;
    const knomial_pieces p(ranks, 2);
    const personalised_binomial last(t, p.last);
    chunks = p.m * p.size / 2 + p.last + last.chunks;
    const double complete = p.m * (t.L + 2 * t.o) + (p.size - 1) * t.x;
    const double send = t.o + p.last * t.x;
    down = send + std::max(t.L + t.o + last.down, complete);
    const double from_last = last.up + send + t.L;
    up = p.m > 0 ? served(t, 1, complete - t.o, from_last) : from_last + t.o;
}

}  // namespace rubato
