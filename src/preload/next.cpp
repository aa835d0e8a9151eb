#include "preload/next.hpp"

#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <dlfcn.h>
#include <link.h>

namespace rubato::preload {
namespace {

/// Where the file that holds this address was loaded.
const void* base_of(const void* address) {
    Dl_info found{};
    return dladdr(address, &found) != 0 ? found.dli_fbase : nullptr;
}

/// For a plug-in loaded by dlopen: RTLD_NEXT does not find the libraries it brought along. Null also without memory.
void* find_anywhere(const char* name) noexcept try {
    std::vector<std::string> files;
    dl_iterate_phdr(
        [](dl_phdr_info* file, std::size_t, void* list) {
            if (file->dlpi_name != nullptr && file->dlpi_name[0] != '\0')
                static_cast<std::vector<std::string>*>(list)->emplace_back(file->dlpi_name);
            return 0;
        },
        &files);
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

void* find_next(const char* name) {
    if (void* const found = dlsym(RTLD_NEXT, name)) return found;
    if (void* const found = find_anywhere(name)) return found;
    std::fprintf(stderr, "rubato: no %s to go on to: the MPI library that is loaded has none\n", name);
    std::abort();
}

}  // namespace rubato::preload
