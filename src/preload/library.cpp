// Which MPI library this file is for, and which the program has.
#include "preload/next.hpp"
#include "preload/session.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <link.h>
#include <unistd.h>

namespace rubato::preload {
namespace {

#ifdef MPICH_VERSION
constexpr std::string_view ours = "MPICH";
constexpr std::string_view theirs = "Open MPI";
constexpr std::string_view their_files = "libmpi.so.40";
constexpr std::string_view their_folder = "openmpi";
#else
constexpr std::string_view ours = "Open MPI";
constexpr std::string_view theirs = "MPICH";
constexpr std::string_view their_files = "libmpich.so";
constexpr std::string_view their_folder = "mpich";
#endif

/// Whether another MPI library is loaded. A program that loads it with dlopen may hide its functions from us.
bool other_is_loaded() {
    return dl_iterate_phdr(
               [](dl_phdr_info* file, std::size_t, void*) {
                   return file->dlpi_name != nullptr && std::strstr(file->dlpi_name, their_files.data()) != nullptr ? 1
                                                                                                                    : 0;
               },
               nullptr) != 0;
}

bool first_rank() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
        if (const char* rank = std::getenv(name)) return std::string_view(rank) == "0";
    return true;
}

}  // namespace

void check_library() {
    const auto version = reinterpret_cast<int (*)(char*, int*)>(find_next("PMPI_Get_library_version"));
    std::array<char, 8192> text{};  // larger than any library's own limit
    int length = 0;
    version(text.data(), &length);
    if (std::string_view(text.data()).starts_with(ours) && !other_is_loaded()) return;
    if (first_rank())
        std::fprintf(stderr,
                     "rubato: this librubato_preload.so is for %s: the program has %s; preload the one in rubato/%s, "
                     "or use 'rubato exec' with the mpirun that belongs to the program\n",
                     ours.data(), theirs.data(), their_folder.data());
    std::fflush(nullptr);
    _exit(2);
}

}  // namespace rubato::preload
