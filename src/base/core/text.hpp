// What the text forms share: numbers, lists of name=value, and files of lines.
#pragma once

#include "rubato/core.hpp"

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace rubato::base {

struct unit {
    std::string_view name;
    double factor;
    double divisor = 1;  ///< 16.5 / 1e6 is nearest to 16.5e-6, 16.5 * 1e-6 is not
};

/// Number and unit as one real value; throws if the text is not of that form or negative.
double parse_with_unit(std::string_view text, std::span<const unit> units, std::string_view what,
                       std::string_view example);
/// A real number between low and high, both allowed.
double parse_real(std::string_view text, std::string_view what, double low, double high);

/// The "name=value,name=value" of a text form. Throws at once if a name is unknown or given twice.
class parameters {
public:
    /// `whole` is what the user wrote, for errors; `list` the part of it to read.
    parameters(std::string_view whole, std::string_view list, std::span<const std::string_view> known);
    parameters(std::string_view whole, std::string_view list, std::initializer_list<std::string_view> known)
        : parameters(whole, list, std::span(known.begin(), known.size())) {}

    std::optional<std::string_view> find(std::string_view name) const;
    /// Throws if it was not given.
    std::string_view get(std::string_view name) const;

private:
    std::string_view whole_;
    std::vector<std::pair<std::string_view, std::string_view>> given_{};
};

struct numbered_line {
    std::size_t number;
    std::string text;
};

/// "1 rank", "2 ranks"
inline std::string counted(std::integral auto n, std::string_view what) {
    return std::to_string(n).append(" ").append(what).append(n == 1 ? "" : "s");
}

/// All of a file. `what` names it in errors. Throws if it cannot be read.
std::string read_text(const std::string& file, std::string_view what);
/// Throws if there are control characters in it other than white space.
void check_is_text(std::string_view text, const std::string& file, std::string_view what);
/// The lines of a file's text that are neither blank nor begin with #, without the blanks around them. Throws if there
/// is none.
std::vector<numbered_line> lines_of(std::string_view text, const std::string& file, std::string_view what);

/// Cuts at commas or white space. Nothing between two commas is an empty field.
std::vector<std::string_view> split_fields(std::string_view line);

/// A text form "name:rest". Without a colon all is the name.
struct named_text {
    explicit named_text(std::string_view text)
        : name(text.substr(0, text.find(':'))),
          rest(text.substr(name.size() < text.size() ? name.size() + 1 : name.size())) {}

    std::string_view name;
    std::string_view rest;
};

/// "a, b, c": the names of a table's rows.
template <class Rows>
std::string names_of(const Rows& rows) {
    std::string names;
    for (const auto& row : rows) names.append(names.empty() ? "" : ", ").append(row.name);
    return names;
}

/// A checksum of text: FNV-1a with 64 bits, which every change of a single byte changes. `seed`: that of the text
/// before.
constexpr std::uint64_t checksum(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325) {
    for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return seed;
}

}  // namespace rubato::base
