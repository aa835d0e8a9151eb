#include "exports/otf2_errors.hpp"

#include "rubato/core.hpp"

#include <otf2/OTF2_ErrorCodes.h>

#include <fmt/format.h>

#include <array>
#include <cstdarg>
#include <cstdio>
#include <string>

namespace rubato::exports {
namespace {

std::string first_error;

OTF2_ErrorCode keep_first(void*, const char*, std::uint64_t, const char*, OTF2_ErrorCode code, const char* format,
                          va_list values) {
    if (!first_error.empty()) return code;
    std::array<char, 512> text{};
    std::vsnprintf(text.data(), text.size(), format, values);
    first_error = fmt::format("{}: {}", OTF2_Error_GetDescription(code), text.data());
    return code;
}

}  // namespace

otf2_listener::otf2_listener() {
    first_error.clear();
    OTF2_Error_RegisterCallback(keep_first, nullptr);
}
otf2_listener::~otf2_listener() { OTF2_Error_RegisterCallback(nullptr, nullptr); }

void otf2_failed(std::string_view what) {
    throw error(fmt::format("OTF2: {}", what), first_error.empty() ? "the library refuses it" : first_error,
                "check the place, and the room on its disk");
}

}  // namespace rubato::exports
