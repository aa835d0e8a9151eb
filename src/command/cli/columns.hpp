// The columns of a table, each described once: as text for the terminal, and as JSON.
#pragma once

#include "command/cli/command.hpp"

#include <fmt/format.h>

#include <functional>
#include <numeric>

namespace rubato::command {

/// What a row has in a column. An object lacks the key if there is no value.
struct cell {
    std::string text = "-";
    std::optional<base::json> value{};

    cell() = default;
    cell(std::string t, base::json v) : text(std::move(t)), value(std::move(v)) {}
    cell(std::string_view t) : text(t), value(t) {}
    cell(const std::string& t) : text(t), value(t) {}
    cell(time_ns t) : text(format_time(t)), value(t) {}
    cell(std::integral auto n) : text(fmt::format("{}", n)), value(n) {}
    /// A dash, and null.
    template <class T>
    cell(const std::optional<T>& maybe) : value(nullptr) {
        if (maybe) *this = cell(*maybe);
    }
};
inline cell bytes_cell(std::int64_t bytes) { return {format_bytes(bytes), bytes}; }
/// With a text of its own.
inline cell only_text(std::string text) {
    cell c;
    c.text = std::move(text);
    return c;
}

template <class Row>
struct column {
    std::string_view title;  ///< with '>' if it lines up on the right; empty: it is only in JSON
    std::string_view key;    ///< empty: it is only in the table
    std::function<cell(const Row&)> of;
};

template <class Row>
using columns = std::vector<column<Row>>;

/// The rows of columns of things that have numbers.
inline std::vector<std::size_t> numbers_to(std::size_t end) {
    std::vector<std::size_t> all(end);
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
}

/// The table, with its titles.
template <class Row>
std::string as_table(const columns<Row>& all, const auto& rows) {
    table lines(1);
    for (const column<Row>& c : all)
        if (!c.title.empty()) lines.front().emplace_back(c.title);
    for (const Row& row : rows) {
        lines.emplace_back();
        for (const column<Row>& c : all)
            if (!c.title.empty()) lines.back().push_back(c.of(row).text);
    }
    return align(std::move(lines));
}

/// An object for a row.
template <class Row>
base::json as_object(const columns<Row>& all, const Row& row) {
    base::json object{};
    for (const column<Row>& c : all) {
        if (c.key.empty()) continue;
        if (std::optional<base::json> value = c.of(row).value) object[c.key] = std::move(*value);
    }
    return object;
}

/// An array with an object for each row.
template <class Row>
base::json as_array(const columns<Row>& all, const auto& rows) {
    base::json list = base::json::array();
    for (const Row& row : rows) list.push_back(as_object(all, row));
    return list;
}

}  // namespace rubato::command
