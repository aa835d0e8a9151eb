// Collectives as OTF2 has them, and what its library says of its errors, which it would print.
#pragma once

#include "rubato/problem.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

#include <otf2/OTF2_Events.h>

namespace rubato::reports {

/// Nothing: OTF2 does not know it.
std::optional<OTF2_CollectiveOp> otf2_operation(collective what);
std::optional<collective> from_otf2(OTF2_CollectiveOp op);

/// How often a rank gives and gets what `seen::bytes` counts, as Score-P counts the bytes of a call.
struct times_counted {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
};
times_counted otf2_times(collective what, std::int32_t ranks, std::int32_t rank, bool root);

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

}  // namespace rubato::reports
