// How values are written in a CSV file.
#pragma once

#include "observe/recorder.hpp"

#include <span>
#include <string>
#include <string_view>

namespace rubato::exports {

/// In quotes where it needs them.
std::string csv_field(std::string_view text);
/// "0-15", "0 2 4-7"
std::string members_field(std::span<const std::int32_t> members);
/// "blocking", "nonblocking", "persistent"
std::string_view form_name(observe::form how);

}  // namespace rubato::exports
