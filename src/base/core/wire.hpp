// Structs that ranks send each other. Their members are numbers of 64 bits and nothing else, so that MPI sends them as
// such, and they are the same on different machines and MPI libraries.
#pragma once

#include <cstdint>
#include <type_traits>

namespace rubato::base {

/// How many numbers a struct is.
template <class T>
constexpr int numbers_in(const T& /*of that type*/ = {}) {
    static_assert(std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> &&
                  alignof(T) == alignof(std::int64_t) && sizeof(T) % sizeof(std::int64_t) == 0);
    return static_cast<int>(sizeof(T) / sizeof(std::int64_t));
}

}  // namespace rubato::base
