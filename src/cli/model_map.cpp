#include "cli/model_map.hpp"

#include "cli/command.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

namespace rubato::cli {

std::vector<map_cell> make_map(const model& m, collective what, metric by, const map_limits& limits,
                               const formula_problem& asked) {
    std::vector<map_cell> cells;
    for (std::int64_t bytes = std::min<std::int64_t>(limits.bytes, 1); bytes <= limits.bytes;
         bytes = std::max<std::int64_t>(2 * bytes, 1)) {
        for (std::int64_t ranks = 2; ranks <= limits.ranks; ranks *= 2) {
            problem p;
            p.what = what;
            p.ranks = static_cast<std::int32_t>(ranks);
            formula_problem q = asked;
            q.ranks = p.ranks;
            q.bytes = chunk_of(bytes, p);
            const std::vector<rated> all = rate(m, what, q);
            cells.push_back({p.ranks, bytes, best_by(all, by)});
        }
    }
    return cells;
}

std::string map_text(const std::vector<map_cell>& cells) {
    std::vector<std::string_view> ids;
    table lines;
    std::vector<std::string> head{"BYTES"};
    for (const map_cell& c : cells) {
        const auto known = std::ranges::find(ids, c.best.by->id);
        const auto letter = static_cast<char>('a' + (known - ids.begin()));
        if (known == ids.end()) ids.push_back(c.best.by->id);
        if (lines.empty() || c.ranks == cells.front().ranks) lines.push_back({format_bytes(c.bytes)});
        if (lines.size() == 1) head.push_back(fmt::format("{}", c.ranks));
        lines.back().emplace_back(1, letter);
    }
    lines.insert(lines.begin(), head);
    std::string legend;
    for (std::size_t i = 0; i < ids.size(); ++i)
        legend += fmt::format("{}: {}\n", static_cast<char>('a' + static_cast<char>(i)), ids[i]);
    return align(lines, std::vector<bool>(head.size(), true)) + '\n' + legend;
}

std::string map_json(const std::vector<map_cell>& cells, metric by) {
    auto out = nlohmann::ordered_json::array();
    for (const map_cell& c : cells)
        out.push_back({{"ranks", c.ranks},
                       {"bytes", c.bytes},
                       {"id", c.best.by->id},
                       {"radix", c.best.with.radix > 0 ? nlohmann::ordered_json(c.best.with.radix) : nullptr},
                       {"segments", c.best.with.segments},
                       {"metric", metric_names[static_cast<std::size_t>(by)]},
                       {"value", c.best.by_metric(by)}});
    return out.dump(2) + '\n';
}

}  // namespace rubato::cli
