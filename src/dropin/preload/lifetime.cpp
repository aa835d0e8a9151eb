// The entries by which a program begins, makes communicators, sets their error handlers, and ends.
#include "dropin/preload/gateway.hpp"
#include "dropin/preload/session.hpp"
#include "engine/mpi/message_errors.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <unistd.h>

namespace rubato::dropin {
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
    return any_loaded_file([](const dl_phdr_info& file) {
        return file.dlpi_name != nullptr && std::strstr(file.dlpi_name, their_files.data()) != nullptr;
    });
}

bool first_rank() {
    for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMI_RANK"})
        if (const char* rank = std::getenv(name)) return std::string_view(rank) == "0";
    return true;
}

/// Ends the program, with status 2 and a line on standard error, unless the MPI library is the one that this file was
/// built for.
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

/// Whether something that is loaded, apart from MPI's libraries and Rubato's, names a function that makes a window for
/// one-sided communication. Of what is loaded later nothing is known.
bool may_make_windows() {
    return any_loaded_file([](const dl_phdr_info& file) {
        const std::string_view names = is_mpi_or_ours(file.dlpi_name) ? std::string_view() : names_in(file);
        return names.find("MPI_Win_") != std::string_view::npos || names.find("mpi_win_") != std::string_view::npos;
    });
}

std::string_view variable(const char* name) {
    const char* const text = std::getenv(name);
    return text != nullptr ? text : "";
}

/// Open MPI 4 makes no windows over TCP with MPI_THREAD_MULTIPLE. So a program that may want some gets that level only
/// if somebody asks for it.
bool raises_level() {
    return raises_thread_level(variable) && (variable("RUBATO_BACKGROUND") == "on" || !may_make_windows());
}

template <class Native>
int begin(const void* site, const Native& native) {
    if (is_inside(site)) return native();
    const guard passing;
    check_library();
    const rubato::time_ns begun = rubato::own_time();
    const int code = native();
    if (code == MPI_SUCCESS) begin_session(begun);
    return code;
}

template <class Native>
int end(const void* site, const Native& native) {
    if (is_inside(site)) return native();
    const guard passing;
    end_session();
    return native();
}

/// Makes the state of a new communicator here, where ranks create communicators in the same order. Their first uses may
/// come in any order, with several threads or non-blocking calls.
template <class Native>
int create(const void* site, MPI_Comm* made, const Native& native) {
    session* const now = running.load(std::memory_order_acquire);
    const int code = native();
    if (now == nullptr || code != MPI_SUCCESS || is_inside(site)) return code;
    const guard passing;
    now->communicators().prepare(*made);
    return code;
}

#ifdef MPICH_VERSION
/// Rubato may be about to replace the error handler of MPI_COMM_WORLD (engine/mpi/message_errors.hpp).
template <class Native>
int set_handler(const void* site, MPI_Comm comm, const Native& native) {
    const session* const now = running.load(std::memory_order_acquire);
    if (comm != MPI_COMM_WORLD || now == nullptr || now->is_own(site)) return native();  // ours holds the lock
    const std::lock_guard lock(engine::setting_handler());
    return native();
}
#endif

}  // namespace
}  // namespace rubato::dropin

using namespace rubato::dropin;

// `made` is the new communicator.
#define CREATOR(name, parameters, values) \
    ENTRY_POINTS(name, parameters, return create(site, made, [&] { return next values; });)
CREATOR(Comm_dup, (MPI_Comm comm, MPI_Comm* made), (comm, made))
CREATOR(Comm_dup_with_info, (MPI_Comm comm, MPI_Info info, MPI_Comm* made), (comm, info, made))
CREATOR(Comm_create, (MPI_Comm comm, MPI_Group group, MPI_Comm* made), (comm, group, made))
CREATOR(Comm_create_group, (MPI_Comm comm, MPI_Group group, int tag, MPI_Comm* made), (comm, group, tag, made))
CREATOR(Comm_split, (MPI_Comm comm, int color, int key, MPI_Comm* made), (comm, color, key, made))
CREATOR(Comm_split_type, (MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made),
        (comm, type, key, info, made))
CREATOR(Cart_create, (MPI_Comm comm, int n, const int* sizes, const int* periods, int reorder, MPI_Comm* made),
        (comm, n, sizes, periods, reorder, made))

// MPI_Init goes on to MPI_Init_thread where it raises the level.
#define INIT(prefix)                                                                                            \
    ENTRY_POINT(prefix##_Init, (int* argc, char*** argv), {                                                     \
        static const auto next_thread = next_function(prefix##_Init_thread, #prefix "_Init_thread");            \
        return begin(site, [&] {                                                                                \
            int provided = 0;                                                                                   \
            return raises_level() ? next_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided) : next(argc, argv); \
        });                                                                                                     \
    })
INIT(MPI)
INIT(PMPI)
ENTRY_POINTS(Init_thread, (int* argc, char*** argv, int required, int* provided), return begin(site, [&] {
                 return next(argc, argv, raises_level() ? MPI_THREAD_MULTIPLE : required, provided);
             });)
ENTRY_POINTS(Finalize, (), return end(site, [] { return next(); });)
#ifdef MPICH_VERSION
ENTRY_POINTS(Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler handler),
             return set_handler(site, comm, [&] { return next(comm, handler); });)
#endif
