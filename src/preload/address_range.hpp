// The addresses of a loaded file.
#pragma once

#include <algorithm>
#include <cstdint>

#include <link.h>

namespace rubato::preload {

struct address_range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;

    bool holds(const void* address) const {
        const auto a = reinterpret_cast<std::uintptr_t>(address);
        return a >= begin && a < end;
    }

    /// Of the file that holds this function.
    static address_range of(const void* function) {
        struct search {
            const void* function;
            address_range found{};
        } s{function};
        dl_iterate_phdr(
            [](dl_phdr_info* file, std::size_t, void* state) {
                search& looks = *static_cast<search*>(state);
                address_range all{~std::uintptr_t{0}, 0};
                for (int i = 0; i < file->dlpi_phnum; ++i) {
                    const auto& segment = file->dlpi_phdr[i];
                    if (segment.p_type != PT_LOAD) continue;
                    all.begin = std::min<std::uintptr_t>(all.begin, file->dlpi_addr + segment.p_vaddr);
                    all.end = std::max<std::uintptr_t>(all.end, file->dlpi_addr + segment.p_vaddr + segment.p_memsz);
                }
                if (!all.holds(looks.function)) return 0;
                looks.found = all;
                return 1;
            },
            &s);
        return s.found;
    }
};

}  // namespace rubato::preload
