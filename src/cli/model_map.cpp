#include "cli/model_map.hpp"

#include "cli/command.hpp"
#include "draw/cost_pictures.hpp"

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

namespace {

/// The algorithms of a map, in the order in which they appear, and where each is best.
struct best_ids {
    std::vector<std::string> names{};
    std::vector<std::size_t> of_cells{};
};

best_ids ids_of(const std::vector<map_cell>& cells) {
    best_ids all;
    for (const map_cell& c : cells) {
        const auto known = std::ranges::find(all.names, c.best.by->id);
        all.of_cells.push_back(static_cast<std::size_t>(known - all.names.begin()));
        if (known == all.names.end()) all.names.emplace_back(c.best.by->id);
    }
    return all;
}

}  // namespace

std::string map_text(const std::vector<map_cell>& cells) {
    const best_ids ids = ids_of(cells);
    table lines;
    std::vector<std::string> head{"BYTES"};
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const map_cell& c = cells[i];
        if (lines.empty() || c.ranks == cells.front().ranks) lines.push_back({format_bytes(c.bytes)});
        if (lines.size() == 1) head.push_back(fmt::format("{}", c.ranks));
        lines.back().push_back(map_letter(ids.of_cells[i]));
    }
    lines.insert(lines.begin(), head);
    std::string legend;
    for (std::size_t i = 0; i < ids.names.size(); ++i) legend += fmt::format("{}: {}\n", map_letter(i), ids.names[i]);
    return align(lines, std::vector<bool>(head.size(), true)) + '\n' + legend;
}

std::string map_picture(const std::vector<map_cell>& cells, const std::string& title, const std::string& subtitle) {
    best_ids ids = ids_of(cells);
    cost_map m{title, "by closed forms under " + subtitle, "ranks", "bytes"};
    for (const map_cell& c : cells) {
        if (c.ranks == cells.front().ranks) m.rows.push_back(format_bytes(c.bytes));
        if (m.rows.size() == 1) m.columns.push_back(fmt::format("{}", c.ranks));
    }
    m.names = std::move(ids.names);
    m.best = std::move(ids.of_cells);
    return draw_map(m);
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
