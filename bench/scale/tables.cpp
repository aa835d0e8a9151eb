#include "tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace scale {

using namespace rubato;

namespace {

std::string row(const std::vector<std::string>& cells) { return fmt::format("| {} |\n", fmt::join(cells, " | ")); }

std::string head(const std::vector<std::string>& cells) {
    std::string out = row(cells);
    for (std::size_t i = 0; i < cells.size(); ++i) out += "|---";
    return out + "|\n";
}

double microseconds(time_ns t) { return static_cast<double>(t.count()) * 1e-3; }

std::string cell(const std::optional<winner>& w) {
    if (!w) return "";
    const double us = microseconds(w->tail);
    return fmt::format("{} {:.{}f}", w->name, us, us < 1000 ? 1 : 0);
}

std::string absorbed(const std::optional<winner>& w) {
    return w ? fmt::format("{:.0f}", std::abs(w->absorbed()) < 0.005 ? 0 : 100 * w->absorbed()) : "";
}

/// How many times the bound.
std::string over_bound(const std::optional<winner>& w, time_ns bound) {
    if (!w) return "";
    const double ratio = microseconds(w->tail) / microseconds(bound);
    return fmt::format("{:.{}f}", ratio, ratio < 100 ? 2 : 0);
}

/// For the classic algorithm, the aware one, and the one begun early, as far as there are such.
template <class Text>
std::string side_by_side(const result& r, bool early, Text text) {
    std::string out = fmt::format("{} / {}", text(r.classic), text(r.aware));
    if (early) out += fmt::format(" / {}", text(r.early));
    return out;
}

/// The cells of a row except its patterns; nothing if only classic algorithms took part.
std::vector<std::string> cells_of(const contested& c, std::string_view size, std::size_t pattern) {
    if (c.results.empty()) return {};
    const bool early = !c.who->early.empty();
    const std::vector<setting> settings = settings_for(c.who->what, c.ranks);
    std::vector<std::string> cells;
    bool any = false;
    for (std::size_t s = 0; s < settings.size(); ++s) {
        if (settings[s].size != size) continue;
        const result& r = c.results[s][pattern];
        any = any || r.aware || r.early;
        cells.push_back(cell(r.classic));
        cells.push_back(cell(r.aware));
        if (early) cells.push_back(cell(r.early));
        cells.push_back(side_by_side(r, early, absorbed));
        cells.push_back(
            r.bound > time_ns{} ? side_by_side(r, early, [&](const auto& w) { return over_bound(w, r.bound); }) : "");
    }
    return any ? cells : std::vector<std::string>{};
}

std::string table_of(const std::vector<const contested*>& rows, std::string_view size) {
    const bool early = !rows.front()->who->early.empty();
    std::vector<std::string> heads{"ranks", "late"};
    for (const std::string_view network : networks) {
        heads.push_back(fmt::format("{}: classic", network));
        heads.push_back("aware");
        if (early) heads.push_back("begun early");
        heads.push_back("absorbed, %");
        heads.push_back("over bound");
    }
    std::string out = head(heads);
    for (const contested* c : rows) {
        // Patterns that make no difference share a row.
        std::vector<std::string> before;
        std::string late;
        const auto print = [&] {
            if (before.empty()) return;
            std::vector<std::string> cells{fmt::format("{}", c->ranks), late};
            cells.insert(cells.end(), before.begin(), before.end());
            out += row(cells);
        };
        for (std::size_t k = 0; k < patterns.size(); ++k) {
            std::vector<std::string> cells = cells_of(*c, size, k);
            if (cells == before) {
                late += fmt::format("; {}", patterns[k]);
                continue;
            }
            print();
            before = std::move(cells);
            late = patterns[k];
        }
        print();
    }
    return out;
}

/// The classic tail divided by the arrival-aware tail.
double ratio_of(const winner& classic, const winner& aware) {
    if (aware.tail > time_ns{}) return microseconds(classic.tail) / microseconds(aware.tail);
    return classic.tail > time_ns{} ? std::numeric_limits<double>::infinity() : 1;
}

std::string text_of(double ratio) { return std::isinf(ratio) ? "done" : fmt::format("{:.2f}", ratio); }

/// The median (the worse of two middle values) and the range.
std::string spread(std::vector<double> ratios) {
    if (ratios.empty()) return "";
    std::ranges::sort(ratios);
    return fmt::format("{} ({}-{})", text_of(ratios[(ratios.size() - 1) / 2]), text_of(ratios.front()),
                       text_of(ratios.back()));
}

}  // namespace

std::string summary(const std::vector<contested>& all, std::int32_t most_ranks) {
    std::vector<std::string> heads{"collective"};
    heads.insert(heads.end(), patterns.begin(), patterns.end());
    std::string out = fmt::format("\n## Up to {} ranks\n\n{}", most_ranks, head(heads));
    std::vector<const entrants*> collectives;
    for (const contested& c : all)
        if (collectives.empty() || collectives.back() != c.who) collectives.push_back(c.who);
    for (const entrants* e : collectives) {
        for (const auto& [note, place] : {std::pair("", &result::aware), std::pair(", begun early", &result::early)}) {
            if (place == &result::early && e->early.empty()) continue;
            std::vector<std::string> cells{fmt::format("{}{}", traits(e->what).name, note)};
            for (std::size_t k = 0; k < patterns.size(); ++k) {
                std::vector<double> ratios;
                for (const contested& c : all)
                    for (const auto& of_setting : c.results)
                        if (const result& r = of_setting[k]; c.who == e && c.ranks <= most_ranks && r.*place)
                            ratios.push_back(ratio_of(*r.classic, *(r.*place)));
                cells.push_back(spread(std::move(ratios)));
            }
            out += row(cells);
        }
    }
    return out;
}

std::string tables(const std::vector<contested>& all) {
    std::string out;
    for (auto begin = all.begin(); begin != all.end();) {
        const entrants* e = begin->who;
        std::vector<const contested*> rows;
        for (; begin != all.end() && begin->who == e; ++begin) rows.push_back(&*begin);
        out += fmt::format("\n## {}\n", traits(e->what).name);
        for (const named_size& size : sizes) {
            if (!traits(e->what).moves_data() && size.bytes != small) break;
            if (traits(e->what).moves_data()) out += fmt::format("\n### {}, {}\n", traits(e->what).name, size.name);
            out += fmt::format("\n{}", table_of(rows, size.name));
        }
    }
    return out;
}

}  // namespace scale
