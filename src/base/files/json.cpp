#include "base/files/json.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>

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
    if (const auto* const text = std::get_if<std::string>(&value_)) out += text_of(*text);
    if (const auto* const x = std::get_if<double>(&value_)) out += text_of(*x);
    if (const auto* const n = std::get_if<std::int64_t>(&value_)) out += fmt::format("{}", *n);
    if (const auto* const n = std::get_if<std::uint64_t>(&value_)) out += fmt::format("{}", *n);
    if (const auto* const b = std::get_if<bool>(&value_)) out += *b ? "true" : "false";
    if (std::holds_alternative<std::nullptr_t>(value_)) out += "null";
    const auto* const all = std::get_if<items>(&value_);
    if (all == nullptr) return;
    const auto new_line = [&](int deep) {
        if (indent >= 0) out += '\n' + std::string(static_cast<std::size_t>(indent * deep), ' ');
    };
    out += all->named ? '{' : '[';
    for (std::size_t i = 0; i < all->values.size(); ++i) {
        if (i > 0) out += ',';
        new_line(depth + 1);
        if (all->named) out += text_of(all->keys[i]) + (indent >= 0 ? ": " : ":");
        all->values[i].append_to(out, indent, depth + 1);
    }
    if (!all->values.empty()) new_line(depth);
    out += all->named ? '}' : ']';
}

}  // namespace rubato::base
