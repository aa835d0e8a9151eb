// Whether a page of the documentation says what a program computes, and the page with what it computes.
#pragma once

#include "rubato/core.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

inline std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> all;
    std::istringstream from(text);
    for (std::string line; std::getline(from, line);) all.push_back(line);
    return all;
}

inline std::string text_of(const std::string& page) {
    std::ifstream file(page);
    if (!file) throw rubato::error(fmt::format("cannot read '{}'", page), "there is no such file", "name the page");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

/// The line with single blanks: how far columns are apart depends on what else is in their table.
inline std::string squeezed(std::string line) {
    const auto both = [](char a, char b) { return a == ' ' && b == ' '; };
    line.erase(std::unique(line.begin(), line.end(), both), line.end());
    return line;
}

/// The computed lines, except headings, that are not in the page.
inline std::string missing_in(const std::string& page, const std::string& computed) {
    std::set<std::string> there;
    for (const std::string& line : lines_of(text_of(page))) there.insert(squeezed(line));
    std::string missing;
    for (const std::string& line : lines_of(computed))
        if (!line.starts_with('#') && !there.contains(squeezed(line))) missing += line + '\n';
    return missing;
}

/// The cells of a line of a Markdown table.
inline std::vector<std::string> cells_of(std::string_view line) {
    std::vector<std::string> cells;
    for (line.remove_prefix(1); !line.empty();) {
        const std::size_t end = std::min(line.find('|'), line.size() - 1);
        const std::size_t first = std::min(line.find_first_not_of(' '), end);
        const std::string_view cell = line.substr(first, end - first);
        cells.emplace_back(cell.substr(0, cell.find_last_not_of(' ') + 1));
        line.remove_prefix(end + 1);
    }
    return cells;
}

/// Markdown tables as aligned columns.
inline std::string aligned(const std::vector<std::string>& lines) {
    std::string text;
    std::vector<std::vector<std::string>> table;
    const auto put = [&text, &table] {
        std::vector<std::size_t> width;
        for (const auto& row : table) {
            width.resize(std::max(width.size(), row.size()));
            for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
        }
        for (const auto& row : table) {
            std::string line;
            for (std::size_t i = 0; i < row.size(); ++i) line += fmt::format("{:<{}}  ", row[i], width[i]);
            text += line.substr(0, line.find_last_not_of(' ') + 1) + '\n';
        }
        table.clear();
    };
    for (const std::string& line : lines) {
        if (line.starts_with('|')) {
            if (line.find_first_not_of("|-: ") != std::string::npos) table.push_back(cells_of(line));
            continue;
        }
        put();
        text += line + '\n';
    }
    put();
    return text;
}

/// The page in which each block from `<!-- figures: TITLE -->` to `<!-- end -->` holds the computed section `## TITLE`.
inline std::string with_figures(const std::string& page, const std::string& computed) {
    std::map<std::string, std::vector<std::string>> sections;
    std::vector<std::string>* section = nullptr;
    for (const std::string& line : lines_of(computed)) {
        if (line.starts_with("## "))
            section = &sections[line.substr(3)];
        else if (section != nullptr && (!line.empty() || !section->empty()))
            section->push_back(line);
    }
    constexpr std::string_view begin = "<!-- figures: ";
    constexpr std::string_view close = " -->";
    std::string filled;
    bool inside = false;
    for (const std::string& line : lines_of(text_of(page))) {
        if (line == "<!-- end -->") inside = false;
        if (!inside) filled += line + '\n';
        if (!line.starts_with(begin)) continue;
        inside = true;
        const std::string title = line.substr(begin.size(), line.size() - begin.size() - close.size());
        const auto found = sections.find(title);
        if (found == sections.end())
            throw rubato::error(fmt::format("cannot fill '{}'", title), "no section has that title",
                                "correct the page");
        while (!found->second.empty() && found->second.back().empty()) found->second.pop_back();
        filled += fmt::format("\n```text\n{}```\n\n", aligned(found->second));
    }
    return filled;
}
