#include "base/core/splitmix.hpp"
#include "simulator/topology/remap.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace rubato::simulator {
namespace {

// As PGAPack, which the source uses, has them by default.
constexpr std::size_t population = 100;
constexpr std::size_t new_ones = 10;  // in each generation
constexpr int patience = 500;         // generations

struct gene {
    std::vector<std::uint32_t> order{};  ///< of each rank, which rank's endpoint of the start it gets
    double worth = 0;                    ///< the lower the better
};

class breeder {
public:
    breeder(const routes& r, const traffic& t, const mapping& start, aim what, std::uint64_t seed)
        : routes_(r), traffic_(t), start_(start), aim_(what), random_(seed) {}

    mapping run() {
        std::vector<gene> all(population);
        for (gene& g : all) {
            g.order.resize(start_.size());
            std::iota(g.order.begin(), g.order.end(), 0);
            for (std::size_t i = g.order.size(); i > 1; --i) std::swap(g.order[i - 1], g.order[random_.below(i)]);
            evaluate(g);
        }
        double best = std::numeric_limits<double>::infinity();
        for (int idle = 0; idle < patience; ++idle) {
            std::ranges::stable_sort(all, {}, &gene::worth);
            if (all.front().worth < best) {
                best = all.front().worth;
                idle = 0;
            }
            std::vector<gene> children;
            for (std::size_t i = 0; i < new_ones; ++i) children.push_back(child_of(winner(all), winner(all)));
            std::ranges::move(children, all.end() - new_ones);
        }
        std::ranges::stable_sort(all, {}, &gene::worth);
        return placed(all.front());
    }

private:
    mapping placed(const gene& g) const {
        mapping where(start_.size());
        for (std::size_t r = 0; r < where.size(); ++r) where[r] = start_[g.order[r]];
        return where;
    }
    void evaluate(gene& g) const {
        std::vector<bool> seen(g.order.size(), false);
        for (const std::uint32_t o : g.order) {
            if (seen[o]) {
                g.worth = std::numeric_limits<double>::infinity();
                return;
            }
            seen[o] = true;
        }
        g.worth = score(total(congestion_by_round(routes_, traffic_, placed(g))), aim_);
    }
    const gene& winner(const std::vector<gene>& all) {
        const gene& a = all[random_.below(all.size())];
        const gene& b = all[random_.below(all.size())];
        return a.worth <= b.worth ? a : b;
    }
    gene child_of(const gene& a, const gene& b) {
        gene child = a;
        const std::size_t size = a.order.size();
        if (random_.below(100) < 85) {
            const std::size_t cut = random_.below(size + 1);
            std::copy(b.order.begin() + static_cast<std::ptrdiff_t>(cut), b.order.end(),
                      child.order.begin() + static_cast<std::ptrdiff_t>(cut));
        }
        for (std::size_t i = 0; i < size; ++i)
            if (random_.below(size) == 0) std::swap(child.order[i], child.order[(i + 1) % size]);
        evaluate(child);
        return child;
    }

    const routes& routes_;
    const traffic& traffic_;
    const mapping& start_;
    aim aim_;
    base::splitmix random_;
};

}  // namespace

mapping evolve(const routes& r, const traffic& t, const mapping& start, aim what, std::uint64_t seed) {
    return start.size() < 2 ? start : breeder(r, t, start, what, seed).run();
}

}  // namespace rubato::simulator
