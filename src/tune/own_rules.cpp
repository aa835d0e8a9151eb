#include "tune/own_rules.hpp"

#include <algorithm>

namespace rubato::tune {
namespace {

/// What holds for a size, without the size.
std::vector<rule> rules_of(const decided& d) {
    std::vector<rule> all;
    const auto add = [&](std::optional<time_ns> imbalance, const way& w) {
        all.push_back({d.of->what, d.of->ranks, 0, imbalance, w.use, w.segment});
    };
    add(std::nullopt, d.any ? d.any->use : way{});
    for (const decided::by_imbalance& c : d.classes) add(c.from, c.chosen.use);
    return all;
}

void add_sizes(std::span<const decided> same, std::vector<rule>& all) {
    std::vector<std::int64_t> sizes;
    for (const decided& d : same) sizes.push_back(d.of->bytes);
    const std::vector<std::int64_t> from = boundaries(sizes);
    std::vector<rule> before;
    for (std::size_t i = 0; i < same.size(); ++i) {
        std::vector<rule> now = rules_of(same[i]);
        if (now == before) continue;
        before = now;
        for (rule& r : now) r.bytes = from[i];
        all.insert(all.end(), now.begin(), now.end());
    }
}

}  // namespace

rules own_rules(std::span<const decided> all, std::optional<model> network) {
    std::vector<rule> found;
    while (!all.empty()) {
        const timed_problem& first = *all.front().of;
        const auto end = std::ranges::find_if_not(
            all, [&first](const decided& d) { return d.of->what == first.what && d.of->ranks == first.ranks; });
        add_sizes(all.first(static_cast<std::size_t>(end - all.begin())), found);
        all = all.subspan(static_cast<std::size_t>(end - all.begin()));
        // For many more ranks nothing is known.
        if (all.empty() || all.front().of->what != first.what) found.push_back({first.what, 2 * first.ranks});
    }
    return rules(std::move(found), std::move(network));
}

}  // namespace rubato::tune
