// A model file that was measured: its first line says so, and its last line has a checksum of all before it. A file
// that has neither line was written by hand.
#pragma once

#include "base/core/text.hpp"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace rubato::simulator {

inline constexpr std::string_view measured_model_begin = "# Measured by rubato ";
inline constexpr std::string_view measured_model_end = "# end, checksum ";

/// The last line for a text that ends with a newline.
inline std::string end_of_measured_model(std::string_view text) {
    return fmt::format("{}{:016x}\n", measured_model_end, base::checksum(text));
}

/// False if it was measured, and cut or changed since.
inline bool intact_model(std::string_view text) {
    const std::size_t newline = text.rfind('\n', text.size() < 2 ? 0 : text.size() - 2);
    const std::size_t last = newline == std::string_view::npos ? 0 : newline + 1;
    if (!text.starts_with(measured_model_begin) && !text.substr(last).starts_with(measured_model_end)) return true;
    return text.substr(last) == end_of_measured_model(text.substr(0, last));
}

}  // namespace rubato::simulator
