// How much property tests try: some cases, which take seconds, or all of them, in the long tests.
#pragma once

#include <cstdlib>
#include <string_view>
#include <utility>

namespace rubato {

/// Whether RUBATO_TESTS=all is set.
inline bool tries_all() {
    static const char* const said = std::getenv("RUBATO_TESTS");
    return said != nullptr && std::string_view(said) == "all";
}

template <class T>
T some_or_all(T some, T all) {
    return tries_all() ? std::move(all) : std::move(some);
}

}  // namespace rubato
