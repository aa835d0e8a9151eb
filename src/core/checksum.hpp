// A checksum of text: FNV-1a with 64 bits, which every change of a single byte changes.
#pragma once

#include <cstdint>
#include <string_view>

namespace rubato {

/// `seed`: the checksum of the text before.
constexpr std::uint64_t checksum(std::string_view text, std::uint64_t seed = 0xcbf29ce484222325) {
    for (const char c : text) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001b3;
    return seed;
}

}  // namespace rubato
