// What the OTF2 library says of its errors, which it would print.
#pragma once

#include <string_view>

namespace rubato::exports {

/// While it lives, the library prints nothing, and `otf2_failed` knows the first error.
class otf2_listener {
public:
    otf2_listener();
    ~otf2_listener();
    otf2_listener(const otf2_listener&) = delete;
    otf2_listener& operator=(const otf2_listener&) = delete;
};

/// Throws.
[[noreturn]] void otf2_failed(std::string_view what);

}  // namespace rubato::exports
