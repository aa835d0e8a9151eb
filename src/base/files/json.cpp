#include "base/files/json.hpp"

#include "base/core/overloaded.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <concepts>

namespace rubato::base {
namespace {

/// As the parser's library has it, of which a number is the shortest text that gives it back.
template <class T>
std::string text_of(const T& value) {
    return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace

json::json(std::initializer_list<member> members) : value_(items{{}, {}, true}) {
    for (const member& m : members) (*this)[m.key] = m.value;
}

json json::array(std::initializer_list<json> all) {
    json made;
    made.value_ = items{all, {}, false};
    return made;
}

json json::object() {
    json made;
    made.value_ = items{{}, {}, true};
    return made;
}

void json::push_back(json item) {
    if (std::holds_alternative<std::nullptr_t>(value_)) value_ = items{};
    std::get<items>(value_).values.push_back(std::move(item));
}

json& json::operator[](std::string_view key) {
    if (std::holds_alternative<std::nullptr_t>(value_)) value_ = items{{}, {}, true};
    auto& [values, keys, named] = std::get<items>(value_);
    const auto found = std::ranges::find(keys, key);
    const auto at = static_cast<std::size_t>(found - keys.begin());
    if (found == keys.end()) {
        keys.emplace_back(key);
        values.emplace_back();
    }
    return values[at];
}

void json::update(const json& object) {
    const items& from = std::get<items>(object.value_);
    for (std::size_t i = 0; i < from.keys.size(); ++i) (*this)[from.keys[i]] = from.values[i];
}

std::string json::dump(int indent) const {
    std::string out;
    append_to(out, indent, 0);
    return out;
}

void json::append_to(std::string& out, int indent, int depth) const {
    std::visit(overloaded{[&](std::nullptr_t) { out += "null"; }, [&](bool b) { out += b ? "true" : "false"; },
                          [&](std::integral auto n) { out += fmt::format("{}", n); },
                          [&](const items& all) { append_items(all, out, indent, depth); },
                          [&](double x) { out += text_of(x); }, [&](const std::string& text) { out += text_of(text); }},
               value_);
}

void json::append_items(const items& all, std::string& out, int indent, int depth) {
    const auto new_line = [&](int deep) {
        if (indent >= 0) out += '\n' + std::string(static_cast<std::size_t>(indent * deep), ' ');
    };
    out += all.named ? '{' : '[';
    for (std::size_t i = 0; i < all.values.size(); ++i) {
        if (i > 0) out += ',';
        new_line(depth + 1);
        if (all.named) out += text_of(all.keys[i]) + (indent >= 0 ? ": " : ":");
        all.values[i].append_to(out, indent, depth + 1);
    }
    if (!all.values.empty()) new_line(depth);
    out += all.named ? '}' : ']';
}

}  // namespace rubato::base
