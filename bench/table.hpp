#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

/// Markdown whose columns are aligned; the first row is the head.
inline void print_table(const std::vector<std::vector<std::string>>& rows) {
    std::vector<std::size_t> width(rows.front().size());
    for (const auto& row : rows)
        for (std::size_t i = 0; i < row.size(); ++i) width[i] = std::max(width[i], row[i].size());
    for (std::size_t k = 0; k < rows.size(); ++k) {
        for (std::size_t i = 0; i < width.size(); ++i) fmt::print("| {:>{}} ", rows[k][i], width[i]);
        fmt::print("|\n");
        if (k > 0) continue;
        for (const std::size_t w : width) fmt::print("|{:->{}}:", "", w + 1);
        fmt::print("|\n");
    }
}
