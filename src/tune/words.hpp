#pragma once

#include <algorithm>
#include <string_view>

namespace rubato::tune {

/// Cuts off what comes before the separator, or all.
inline std::string_view take(std::string_view& from, char separator) {
    const std::string_view first = from.substr(0, from.find(separator));
    from.remove_prefix(std::min(first.size() + 1, from.size()));
    return first;
}

}  // namespace rubato::tune
