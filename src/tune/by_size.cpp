#include "tune/library.hpp"

#include <algorithm>

namespace rubato::tune {
namespace {

std::optional<way> use_of(const decided& d) { return d.any ? std::optional(d.any->use) : std::nullopt; }

size_rules rules_for(std::span<const decided> same) {
    size_rules r{same.front().of->what, same.front().of->ranks};
    std::vector<std::int64_t> sizes;
    for (const decided& d : same) sizes.push_back(d.of->bytes);
    const std::vector<std::int64_t> from = boundaries(sizes);
    if (from.front() > 0) r.sizes.push_back({0, std::nullopt});
    for (std::size_t i = 0; i < same.size(); ++i)
        if (r.sizes.empty() || r.sizes.back().use != use_of(same[i])) r.sizes.push_back({from[i], use_of(same[i])});
    return r;
}

}  // namespace

std::vector<size_rules> by_size(std::span<const decided> all) {
    std::vector<size_rules> grouped;
    while (!all.empty()) {
        const timed_problem& first = *all.front().of;
        const auto end = std::ranges::find_if_not(
            all, [&first](const decided& d) { return d.of->what == first.what && d.of->ranks == first.ranks; });
        const auto count = static_cast<std::size_t>(end - all.begin());
        grouped.push_back(rules_for(all.first(count)));
        all = all.subspan(count);
    }
    return grouped;
}

}  // namespace rubato::tune
