// A JSON value that is only written, so that who writes one need not compile a parser.
#pragma once

#include "rubato/core.hpp"

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace rubato::base {

class json {
public:
    struct member;

    json(std::nullptr_t = nullptr) {}
    json(bool b) : value_(b) {}
    json(double x) : value_(x) {}
    template <std::integral N>
    json(N n) {
        if constexpr (std::is_signed_v<N>)
            value_ = static_cast<std::int64_t>(n);
        else
            value_ = static_cast<std::uint64_t>(n);
    }
    /// Whole nanoseconds.
    json(time_ns t) : value_(std::int64_t{t.count()}) {}
    json(std::string_view text) : value_(std::string(text)) {}
    json(const std::string& text) : value_(text) {}
    json(const char* text) : value_(std::string(text)) {}
    /// Nothing is null.
    template <class T>
    json(const std::optional<T>& maybe) {
        if (maybe) *this = json(*maybe);
    }
    /// An object, whose members stay in this order: {{"ranks", 4}, {"name", "x"}}.
    json(std::initializer_list<member> members);
    /// An array.
    template <std::ranges::input_range R>
    requires(!std::convertible_to<R, std::string_view>) json(const R& all) : value_(items{}) {
        for (const auto& one : all) push_back(one);
    }
    static json array(std::initializer_list<json> all = {});
    static json object();

    void push_back(json item);
    /// The member of this name, which is added if there is none.
    json& operator[](std::string_view key);
    /// Adds the members of an object.
    void update(const json& object);
    json& back() { return std::get<items>(value_).values.back(); }

    /// On one line or, with an indent, on a line per item. What is not UTF-8 is replaced.
    std::string dump(int indent = -1) const;

private:
    struct items {
        std::vector<json> values{};
        std::vector<std::string> keys{};  ///< of an object
        bool named = false;               ///< is an object
    };

    void append_to(std::string& out, int indent, int depth) const;
    static void append_items(const items& all, std::string& out, int indent, int depth);

    std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string, items> value_{};
};

struct json::member {
    std::string key;
    json value;
};

}  // namespace rubato::base
