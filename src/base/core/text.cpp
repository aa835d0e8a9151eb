#include "base/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <fstream>
#include <span>
#include <system_error>

namespace rubato {
namespace {

constexpr std::string_view blanks = " \t\r\n\v\f";

constexpr std::array size_units{
    base::unit{"", 1.},          base::unit{"B", 1.},           base::unit{"k", 1e3},
    base::unit{"kB", 1e3},       base::unit{"KB", 1e3},         base::unit{"M", 1e6},
    base::unit{"MB", 1e6},       base::unit{"G", 1e9},          base::unit{"GB", 1e9},
    base::unit{"Ki", 1024.},     base::unit{"KiB", 1024.},      base::unit{"Mi", 1048576.},
    base::unit{"MiB", 1048576.}, base::unit{"Gi", 1073741824.}, base::unit{"GiB", 1073741824.},
};
constexpr std::array time_units{
    base::unit{"", 1.}, base::unit{"ns", 1.}, base::unit{"us", 1e3}, base::unit{"ms", 1e6}, base::unit{"s", 1e9},
};

constexpr double most = 9.2e18;

std::int64_t to_integer(double value, std::string_view text) {
    if (value > most)
        throw error(fmt::format("'{}' is too large", text), "it does not fit in 63 bits", "give a smaller value");
    return std::llround(value);
}

}  // namespace

double base::parse_real(std::string_view text, std::string_view what, double low, double high) {
    double number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    // Written so that a NaN fails too.
    if (code != std::errc{} || end != text.data() + text.size() || !(number >= low && number <= high))
        throw error(fmt::format("'{}' is not a {}", text, what),
                    fmt::format("it must be a number from {} to {}", low, high), "correct it");
    return number;
}

base::parameters::parameters(std::string_view whole, std::string_view list, std::span<const std::string_view> known)
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

std::optional<std::string_view> base::parameters::find(std::string_view name) const {
    for (const auto& [n, value] : given_)
        if (n == name) return value;
    return std::nullopt;
}

std::string_view base::parameters::get(std::string_view name) const {
    if (const auto value = find(name)) return *value;
    throw error(fmt::format("'{}' lacks the parameter '{}'", whole_, name), "it has no default",
                fmt::format("add {}=...", name));
}

std::string base::read_text(const std::string& file, std::string_view what) {
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

void base::check_is_text(std::string_view text, const std::string& file, std::string_view what) {
    const auto odd = std::ranges::find_if(text, [](char c) {
        return (static_cast<unsigned char>(c) < ' ' || c == '\x7f') && blanks.find(c) == std::string_view::npos;
    });
    if (odd == text.end()) return;
    throw error(fmt::format("{} '{}' is not a text", what, file),
                fmt::format("line {} has a byte 0x{:02x}", 1 + std::count(text.begin(), odd, '\n'),
                            static_cast<unsigned char>(*odd)),
                "check the name of the file");
}

std::vector<base::numbered_line> base::lines_of(std::string_view text, const std::string& file, std::string_view what) {
    base::check_is_text(text, file, what);
    std::vector<base::numbered_line> lines;
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

std::vector<std::string_view> base::split_fields(std::string_view line) {
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

double base::parse_with_unit(std::string_view text, std::span<const base::unit> units, std::string_view what,
                             std::string_view example) {
    double number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code == std::errc{} && std::isfinite(number) && number >= 0) {
        const std::string_view name(end, static_cast<std::size_t>(text.data() + text.size() - end));
        for (const base::unit& u : units)
            if (u.name == name) return number * u.factor / u.divisor;
    }
    std::string names;
    for (const base::unit& u : units)
        if (!u.name.empty()) names += (names.empty() ? "" : ", ") + std::string(u.name);
    throw error(fmt::format("'{}' is not a {}", text, what), fmt::format("expected a number and one of {}", names),
                fmt::format("write for example {}", example));
}

error::error(std::string_view problem, std::string_view reason, std::string_view way_out)
    : std::runtime_error(fmt::format("{}: {}; {}", problem, reason, way_out)) {}

std::int64_t parse_bytes(std::string_view text) {
    // A double does not hold all of these.
    std::int64_t whole = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), whole);
    if (code == std::errc{} && end == text.data() + text.size() && whole >= 0 && static_cast<double>(whole) <= most)
        return whole;
    const double value = base::parse_with_unit(text, size_units, "size", "4MiB");
    const std::int64_t bytes = to_integer(value, text);
    // 2.3M is 2300000 bytes, though 2.3 * 1e6 is a little less.
    if (std::abs(value - static_cast<double>(bytes)) > 1e-9 * value)
        throw error(fmt::format("'{}' is not a size", text), "a size is a whole number of bytes",
                    fmt::format("write for example {}", std::max<std::int64_t>(bytes, 1)));
    return bytes;
}

time_ns parse_time(std::string_view text) { return time_ns(to_integer(parse_time_exact(text), text)); }

double parse_time_exact(std::string_view text) { return base::parse_with_unit(text, time_units, "time", "50us"); }

std::int64_t parse_integer(std::string_view text, std::string_view what, std::int64_t low, std::int64_t high) {
    std::int64_t number = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (code != std::errc{} || end != text.data() + text.size() || number < low || number > high)
        throw error(fmt::format("'{}' is not a {}", text, what),
                    fmt::format("it must be a whole number from {} to {}", low, high), "correct it");
    return number;
}

std::string format_bytes(std::int64_t bytes) {
    constexpr std::array names{"B", "KiB", "MiB", "GiB", "TiB"};
    std::size_t unit = 0;
    auto value = static_cast<double>(bytes);
    while (value >= 1024 && unit + 1 < names.size()) {
        value /= 1024;
        ++unit;
    }
    return value == std::floor(value) ? fmt::format("{:.0f} {}", value, names[unit])
                                      : fmt::format("{:.1f} {}", value, names[unit]);
}

std::string format_time(time_ns t) {
    const auto ns = static_cast<double>(t.count());
    const double magnitude = std::abs(ns);
    if (magnitude < 1e3) return fmt::format("{:.0f} ns", ns);
    if (magnitude < 1e6) return fmt::format("{:.2f} us", ns / 1e3);
    if (magnitude < 1e9) return fmt::format("{:.3f} ms", ns / 1e6);
    return fmt::format("{:.3f} s", ns / 1e9);
}

}  // namespace rubato
