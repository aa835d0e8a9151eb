// Which graphs look the same from all ranks of a torus.
#include "rubato/graph.hpp"

#include <algorithm>
#include <set>
#include <utility>

namespace rubato {
namespace {

/// Whether all ranks have the same neighbours in a torus of these sizes, given those of rank 0.
bool is_same_everywhere(const graph& g, const torus_view& t) {
    for (rank r; r.value < g.ranks(); ++r.value) {
        const auto to = g.destinations(r);
        if (to.size() != t.offsets.size() || g.sources(r).size() != t.offsets.size()) return false;
        for (std::size_t i = 0; i < to.size(); ++i) {
            rank there = r;
            for (std::size_t d = 0; d < t.sizes.size(); ++d) there = t.shifted(there, d, t.offsets[i][d]);
            if (to[i].rank != there.value || static_cast<std::uint32_t>(to[i].chunk) != t.targets[i]) return false;
        }
    }
    return true;
}

/// Calls use(sizes) with every torus of so many ranks, of up to three dimensions of two ranks or more.
template <class Use>
void for_each_torus(std::int32_t ranks, std::vector<std::int32_t>& sizes, const Use& use) {
    if (ranks > 1) {
        sizes.push_back(ranks);
        use(sizes);
        sizes.pop_back();
    }
    if (sizes.size() == 2) return;
    for (std::int32_t first = 2; first <= ranks / 2; ++first) {
        if (ranks % first != 0) continue;
        sizes.push_back(first);
        for_each_torus(ranks / first, sizes, use);
        sizes.pop_back();
    }
}

}  // namespace

rank torus_view::shifted(rank from, std::size_t dimension, std::int32_t by) const {
    std::int32_t stride = 1;
    for (std::size_t d = sizes.size(); --d > dimension;) stride *= sizes[d];
    const std::int32_t size = sizes[dimension];
    const std::int32_t at = from.value / stride % size;
    return rank(from.value + ((at + by % size + size) % size - at) * stride);
}

std::size_t torus_view::directions() const {
    std::set<std::pair<std::size_t, std::int32_t>> all;
    for (const auto& o : offsets)
        for (std::size_t d = 0; d < o.size(); ++d)
            if (o[d] != 0) all.emplace(d, o[d]);
    return all.size();
}

std::optional<torus_view> graph::find_torus() const {
    if (ranks() == 0) return std::nullopt;
    const auto first = destinations(rank(0));
    if (!std::ranges::all_of(first, &neighbour::exists)) return std::nullopt;
    std::optional<torus_view> best;
    const auto consider = [&](const std::vector<std::int32_t>& sizes) {
        torus_view t{sizes, {}, {}};
        for (const neighbour& n : first) {
            std::vector<std::int32_t> offset(sizes.size());
            for (std::int32_t d = static_cast<std::int32_t>(sizes.size()), r = n.rank; d-- > 0;) {
                const auto i = static_cast<std::size_t>(d);
                offset[i] = r % sizes[i];
                r /= sizes[i];
            }
            t.offsets.push_back(std::move(offset));
            t.targets.push_back(static_cast<std::uint32_t>(n.chunk));
        }
        if ((!best || t.directions() < best->directions()) && is_same_everywhere(*this, t)) best = std::move(t);
    };
    std::vector<std::int32_t> sizes;
    if (!sizes_.empty()) consider(sizes_);
    if (ranks() == 1)
        consider({1});
    else
        for_each_torus(ranks(), sizes, consider);
    return best;
}

}  // namespace rubato
