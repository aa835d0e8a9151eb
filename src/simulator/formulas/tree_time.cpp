#include "simulator/formulas/tree_time.hpp"

#include "schedules/algorithms/pattern/tree.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

namespace rubato::simulator {
namespace {

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

enum class heading : std::uint8_t { down, up };
/// What each message carries: the vector, or a chunk for each rank below.
enum class content : std::uint8_t { vector, chunks };

/// On each level of a k-ary tree there are subtrees of two sizes; each is computed once.
class kary_times {
public:
    kary_times(terms t, heading where, content what) : t_(t), heading_(where), content_(what) {}

    double of(double ranks) {
        if (ranks <= 1) return 0;
        const auto known = known_.find(ranks);
        if (known != known_.end()) return known->second;
        const double time = heading_ == heading::up ? up(kary_pieces(ranks, t_.k)) : down(kary_pieces(ranks, t_.k));
        known_.emplace(ranks, time);
        return time;
    }

private:
    /// Of the message to or from a subtree.
    double send(double size) const { return t_.o + (content_ == content::chunks ? size : 1) * t_.x; }

    /// The root serves the last subtree first.
    double down(const kary_pieces& p) {
        double end = 0;
        double sent = 0;
        for (double i = p.count; i-- > 0;) {
            sent += send(p.size_of(i));
            end = std::max(end, sent + t_.L + t_.o + of(p.size_of(i)));
        }
        return end;
    }

    double up(const kary_pieces& p) {
        const auto comes = [this](double size) { return of(size) + send(size) + t_.L; };
        const double small = p.large < p.count ? comes(p.size - 1) + (p.count - p.large) * t_.o : 0;
        return std::max(comes(p.size), small) + p.large * t_.o;
    }

    const formula_terms t_;
    const heading heading_;
    const content content_;
    std::map<double, double> known_{};
};

/// The sum of the ranks' depths in a k-ary tree.
double kary_chunks(double ranks, std::int32_t k, std::map<double, double>& known) {
    if (ranks <= 1) return 0;
    const auto found = known.find(ranks);
    if (found != known.end()) return found->second;
    const kary_pieces p(ranks, k);
    const double all =
        ranks - 1 + p.large * kary_chunks(p.size, k, known) + (p.count - p.large) * kary_chunks(p.size - 1, k, known);
    return known[ranks] = all;
}

/// The times of subtrees of the optimal tree; each is computed once.
class optimal_tree {
public:
    optimal_tree(terms t, heading where) : t_(t), heading_(where) {}

    double of(std::int32_t ranks) {
        if (ranks <= 1) return 0;
        const auto known = known_.find(ranks);
        if (known != known_.end()) return known->second;
        std::vector<double> times;
        for (const std::int32_t size : schedules::fibonacci_branches(ranks, t_.k)) times.push_back(of(size));
        const double send = t_.o + t_.x;
        double end = 0;
        if (heading_ == heading::down) {
            for (std::size_t i = 0; i < times.size(); ++i)
                end = std::max(end, static_cast<double>(i + 1) * send + t_.L + t_.o + times[i]);
        } else {
            for (std::size_t i = times.size(); i-- > 0;) end = std::max(end, times[i] + send + t_.L) + t_.o;
        }
        known_.emplace(ranks, end);
        return end;
    }

private:
    const formula_terms t_;
    const heading heading_;
    std::map<std::int32_t, double> known_{};
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

formula_terms segment_of(formula_terms t) {
    t.x /= t.N;
    return t;
}

most_children::most_children(terms t)
    : of_root(std::min<double>(t.k, t.P - 1)),
      inside(std::min<double>(t.k, std::ceil((t.P - 1) / of_root) - 1)),
      below(std::ceil((t.P - 1) / of_root)) {}

double kary_down(terms t, double ranks) { return kary_times(t, heading::down, content::vector).of(ranks); }
double kary_up(terms t, double ranks) { return kary_times(t, heading::up, content::vector).of(ranks); }

personalised_tree personalised_knomial(terms t, double ranks) {
    if (ranks <= 1) return {};
    const knomial_pieces p(ranks, t.k);
    const personalised_tree last = personalised_knomial(t, p.last);
    const personalised_tree piece = p.last == p.size ? last : personalised_knomial(t, p.size);
    const auto send = [&t](double size) { return t.o + size * t.x; };
    const double full = p.others - 1;  // pieces beside the root's and the last
    personalised_tree all;
    all.chunks = p.last + last.chunks + full * (p.size + piece.chunks) + piece.chunks;
    const double sent = send(p.last) + full * send(p.size);
    all.down = std::max(send(p.last) + t.L + t.o + last.down, sent + (full > 0 ? t.L + t.o : 0) + piece.down);
    // What comes from the last piece may come before the root's own piece is ready.
    const double comes = last.up + send(p.last) + t.L;
    all.up = p.m > 0 ? served(t, t.k - 1, piece.up - (t.k - 1) * t.o, comes) : comes + t.o;
    if (full > 0) all.up = std::max(piece.up + send(p.size) + t.L, all.up) + full * t.o;
    return all;
}

personalised_tree personalised_kary(terms t, double ranks) {
    std::map<double, double> known;
    return {kary_chunks(ranks, t.k, known), kary_times(t, heading::down, content::chunks).of(ranks),
            kary_times(t, heading::up, content::chunks).of(ranks)};
}

fibonacci_times::fibonacci_times(terms t, double ranks)
    : children(static_cast<double>(schedules::fibonacci_branches(static_cast<std::int32_t>(ranks), t.k).size())),
      down(optimal_tree(t, heading::down).of(static_cast<std::int32_t>(ranks))),
      up(optimal_tree(t, heading::up).of(static_cast<std::int32_t>(ranks))) {}

}  // namespace rubato::simulator
