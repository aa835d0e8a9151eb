#include "preload/guard.hpp"

#include "preload/address_range.hpp"

#include <cstdint>

#include <unwind.h>

namespace rubato::preload {
namespace {

/// Whether it is a part of the drop-in.
bool is_ours(const void* code) {
    static const address_range own = address_range::of(reinterpret_cast<const void*>(&is_alive));
    return own.holds(code);
}

/// Looks for the function whose part of the stack holds the guard.
struct search {
    std::uintptr_t guard;
    bool beyond_entry = false;  // the functions of the current entry come first
    bool found = false;
    bool of_entry = false;
    const void* code = nullptr;  // of the last function that was seen
};

_Unwind_Reason_Code look_at(_Unwind_Context* at, void* state) {
    search& s = *static_cast<search*>(state);
    if (static_cast<std::uintptr_t>(_Unwind_GetCFA(at)) > s.guard) {
        s.found = true;
        s.of_entry = s.code != nullptr && s.beyond_entry && is_ours(s.code);
        return _URC_NORMAL_STOP;
    }
    s.code = reinterpret_cast<const void*>(_Unwind_GetIP(at));  // NOLINT(performance-no-int-to-ptr)
    s.beyond_entry |= !is_ours(s.code);
    return _URC_NO_REASON;
}

}  // namespace

bool is_alive(const void* which, const void* site) noexcept {
    if (is_ours(site)) return true;
    search s{reinterpret_cast<std::uintptr_t>(which)};
    (void)_Unwind_Backtrace(look_at, &s);
    // Where functions cannot be told apart, nothing has jumped.
    if (!s.found || s.of_entry) return true;
    inside = nullptr;
    return false;
}

}  // namespace rubato::preload
