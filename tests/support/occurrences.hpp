// How often a text holds another.
#pragma once

#include <string>
#include <string_view>

namespace rubato::testing {

inline std::size_t occurrences(const std::string& text, std::string_view what) {
    std::size_t n = 0;
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++n;
    return n;
}

}  // namespace rubato::testing
