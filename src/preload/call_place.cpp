#include "preload/call_place.hpp"

#include <fmt/format.h>

#include <array>
#include <filesystem>

#include <dlfcn.h>

namespace rubato::preload {

call_places::call_places() {
    static const char here = 0;
    Dl_info own{};
    if (dladdr(&here, &own) == 0 || own.dli_fname == nullptr) return;
    std::error_code none;
    const std::filesystem::path file = std::filesystem::canonical(own.dli_fname, none);
    const std::filesystem::path library = file.parent_path().parent_path() / "librubato_places.so";
    if (void* const loaded = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL))  // and it stays loaded
        find_ = reinterpret_cast<finder*>(dlsym(loaded, "rubato_find_place"));
}

std::string call_places::text(const observe::site& s) const {
    std::array<char, 1024> found{};
    if (find_ != nullptr && find_(s.module.c_str(), s.offset, s.symbol.c_str(), found.data(), found.size()))
        return found.data();
    const std::string address = fmt::format("{}+{:#x}", std::filesystem::path(s.module).filename().string(), s.offset);
    return s.symbol.empty() ? address : fmt::format("{} ({})", s.symbol, address);
}

}  // namespace rubato::preload
