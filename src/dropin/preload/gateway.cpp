#include "dropin/preload/gateway.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <unwind.h>

namespace rubato::dropin {
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

/// Where the file that holds this address was loaded.
const void* base_of(const void* address) {
    Dl_info found{};
    return dladdr(address, &found) != 0 ? found.dli_fbase : nullptr;
}

/// For a plug-in loaded by dlopen: RTLD_NEXT does not find the libraries it brought along. Null also without memory.
void* find_anywhere(const char* name) noexcept try {
    std::vector<std::string> files;
    (void)any_loaded_file([&](const dl_phdr_info& file) {
        if (file.dlpi_name != nullptr && file.dlpi_name[0] != '\0') files.emplace_back(file.dlpi_name);
        return false;
    });
    const void* const own = base_of(reinterpret_cast<const void*>(&find_next));
    for (const std::string& file : files) {
        void* const handle = dlopen(file.c_str(), RTLD_LAZY | RTLD_NOLOAD);
        if (handle == nullptr) continue;
        void* const found = dlsym(handle, name);
        dlclose(handle);
        if (found != nullptr && base_of(found) != own) return found;
    }
    return nullptr;
} catch (const std::bad_alloc&) {
    return nullptr;
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

void* find_next(const char* name) {
    if (void* const found = dlsym(RTLD_NEXT, name)) return found;
    if (void* const found = find_anywhere(name)) return found;
    std::fprintf(stderr, "rubato: no %s to go on to: the MPI library that is loaded has none\n", name);
    std::abort();
}

}  // namespace rubato::dropin
