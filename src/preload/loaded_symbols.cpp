#include "preload/loaded_symbols.hpp"

#include <string_view>

#include <link.h>

namespace rubato::preload {
namespace {

// Addresses of what is loaded are numbers.
// NOLINTBEGIN(performance-no-int-to-ptr)
/// The names that a file is linked by; empty if it has none.
std::string_view names_in(const dl_phdr_info& file) {
    for (int i = 0; i < file.dlpi_phnum; ++i) {
        const auto& segment = file.dlpi_phdr[i];
        if (segment.p_type != PT_DYNAMIC) continue;
        std::uintptr_t names = 0;
        std::size_t size = 0;
        for (const auto* d = reinterpret_cast<const ElfW(Dyn)*>(file.dlpi_addr + segment.p_vaddr); d->d_tag != DT_NULL;
             ++d) {
            if (d->d_tag == DT_STRTAB) names = d->d_un.d_ptr;
            if (d->d_tag == DT_STRSZ) size = d->d_un.d_val;
        }
        if (names < file.dlpi_addr) names += file.dlpi_addr;  // not every system's loader has added it
        return names != 0 ? std::string_view(reinterpret_cast<const char*>(names), size) : std::string_view();
    }
    return {};
}
// NOLINTEND(performance-no-int-to-ptr)

/// By the beginning of its name: libmpi.so, libmpi_mpifh.so, libmpich.so, librubato_mpi.so and their like.
bool is_mpi_or_ours(std::string_view path) {
    const std::string_view name = path.substr(path.rfind('/') + 1);
    return name.starts_with("libmpi") || name.starts_with("libopen-") || name.starts_with("librubato") ||
           name.starts_with("mca_") || name.starts_with("linux-vdso");
}

}  // namespace

bool may_make_windows() {
    return dl_iterate_phdr(
               [](dl_phdr_info* file, std::size_t, void*) {
                   if (is_mpi_or_ours(file->dlpi_name)) return 0;
                   const std::string_view names = names_in(*file);
                   for (const std::string_view maker : {"MPI_Win_", "mpi_win_"})
                       if (names.find(maker) != std::string_view::npos) return 1;
                   return 0;
               },
               nullptr) != 0;
}

}  // namespace rubato::preload
