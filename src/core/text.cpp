#include "core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <fstream>
#include <system_error>

namespace rubato {
namespace {

constexpr std::string_view blanks = " \t\r\n\v\f";

}  // namespace

double parse_real(std::string_view text, std::string_view what, double low, double high) {
    double number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    // Written so that a NaN fails too.
    if (code != std::errc{} || end != text.data() + text.size() || !(number >= low && number <= high))
        throw error(fmt::format("'{}' is not a {}", text, what),
                    fmt::format("it must be a number from {} to {}", low, high), "correct it");
    return number;
}

parameters::parameters(std::string_view whole, std::string_view list, std::span<const std::string_view> known)
    : whole_(whole) {
    for (bool more = !list.empty(); more;) {
        const std::string_view item = list.substr(0, list.find(','));
        more = item.size() < list.size();
        list.remove_prefix(item.size() + (more ? 1 : 0));
        const std::size_t equals = item.find('=');
        const std::string_view name = item.substr(0, equals);
        if (std::ranges::find(known, name) == known.end())
            throw error(
                fmt::format("unknown parameter '{}' in '{}'", name, whole),
                known.empty() ? std::string("it takes none") : fmt::format("it takes {}", fmt::join(known, ", ")),
                "correct or remove it");
        if (equals == std::string_view::npos)
            throw error(fmt::format("parameter '{}' in '{}' has no value", name, whole),
                        "a parameter is written name=value", fmt::format("write {}=...", name));
        if (find(name))
            throw error(fmt::format("parameter '{}' is given twice in '{}'", name, whole), "only one value can be used",
                        "remove one of them");
        given_.emplace_back(name, item.substr(equals + 1));
    }
}

std::optional<std::string_view> parameters::find(std::string_view name) const {
    for (const auto& [n, value] : given_)
        if (n == name) return value;
    return std::nullopt;
}

std::string_view parameters::get(std::string_view name) const {
    if (const auto value = find(name)) return *value;
    throw error(fmt::format("'{}' lacks the parameter '{}'", whole_, name), "it has no default",
                fmt::format("add {}=...", name));
}

std::string read_text(const std::string& file, std::string_view what) {
    errno = 0;
    std::ifstream in(file, std::ios::binary);
    std::string text;
    for (std::array<char, 4096> piece{}; in.read(piece.data(), piece.size()) || in.gcount() > 0;)
        text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
    if (!in.eof())
        throw error(fmt::format("cannot read {} '{}'", what, file), std::generic_category().message(errno),
                    "check the name of the file");
    return text;
}

void check_is_text(std::string_view text, const std::string& file, std::string_view what) {
    const auto odd = std::ranges::find_if(text, [](char c) {
        return (static_cast<unsigned char>(c) < ' ' || c == '\x7f') && blanks.find(c) == std::string_view::npos;
    });
    if (odd == text.end()) return;
    throw error(fmt::format("{} '{}' is not a text", what, file),
                fmt::format("line {} has a byte 0x{:02x}", 1 + std::count(text.begin(), odd, '\n'),
                            static_cast<unsigned char>(*odd)),
                "check the name of the file");
}

std::vector<numbered_line> lines_of(std::string_view text, const std::string& file, std::string_view what) {
    check_is_text(text, file, what);
    std::vector<numbered_line> lines;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        const std::size_t first = line.find_first_not_of(blanks);
        if (first == std::string_view::npos || line[first] == '#') continue;
        lines.push_back({number, std::string(line.substr(first, line.find_last_not_of(blanks) + 1 - first))});
    }
    if (lines.empty())
        throw error(fmt::format("{} '{}' is empty", what, file), "blank lines and lines with # do not count",
                    "add a line");
    return lines;
}

std::vector<std::string_view> split_fields(std::string_view line) {
    std::vector<std::string_view> fields;
    const auto skip_blanks = [&line] { line.remove_prefix(std::min(line.find_first_not_of(blanks), line.size())); };
    skip_blanks();
    for (bool more = !line.empty(); more;) {
        fields.push_back(line.substr(0, line.find_first_of(", \t\r\n\v\f")));
        line.remove_prefix(fields.back().size());
        skip_blanks();
        const bool comma = line.starts_with(',');
        if (comma) line.remove_prefix(1);
        skip_blanks();
        more = comma || !line.empty();
    }
    return fields;
}

}  // namespace rubato
