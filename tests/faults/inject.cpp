// Preloaded before the drop-in: makes one call fail that Rubato's code makes on one rank.
//
// A point is a function that may fail and the stack of Rubato's frames above it: a hash of both, equal in all runs of
// the same libraries. FAULT_LIST=FILE writes all points that occur on the rank. FAULT_POINT=HASH makes that point fail
// the first time, or the FAULT_NTH time, that it occurs; with FAULT_LASTING=1 everything of its kind fails from then
// on, as on a full disk or without memory. FAULT_RANK is the rank.
//
// FUNCTIONS is a file with a line MPI(name, (word a, word b), (a, b)) for each function of MPI that Rubato calls.
// Arguments are passed on as words, whatever they are, and the call to the real function is a jump: it must see the
// caller's return address.
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include <dlfcn.h>
#include <link.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <unwind.h>

namespace {

constexpr std::size_t most_frames = 10;
constexpr std::size_t most_points = 1 << 16;

enum class kind : std::uint8_t { memory, mpi, file, thread };
constexpr std::array<const char*, 4> kind_names{"memory", "mpi", "file", "thread"};

struct range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    char name[32]{};

    bool holds(std::uintptr_t a) const { return a >= begin && a < end; }
};
/// Rubato's libraries; those that act for whoever calls them.
std::array<range, 3> ours{};
std::array<range, 8> between{};
std::size_t between_count = 0;

std::uintptr_t own_begin = 0, own_end = 0;

struct stack {
    std::uint64_t hash = 14695981039346656037ULL;
    std::size_t count = 0;
    std::array<std::uintptr_t, most_frames> frames{};  // offset, and the library in the highest byte

    void mix(std::uint64_t value) { hash = (hash ^ value) * 1099511628211ULL; }
};

struct point {
    std::atomic<std::uint64_t> hash{0};
    std::atomic<std::uint32_t> times{0};
    kind of = kind::memory;
    const char* function = nullptr;
    stack seen{};
};
point* points = nullptr;  // null: none are listed

bool active = false;
std::uint64_t chosen = 0;
std::uint32_t nth = 1;
bool lasting = false;
std::atomic<std::uint32_t> met{0};
std::atomic<int> failing{-1};  // the kind that fails from now on
thread_local bool looking = false;

int note_library(dl_phdr_info* file, std::size_t, void*) {
    range all{~std::uintptr_t{0}, 0, {}};
    for (int i = 0; i < file->dlpi_phnum; ++i) {
        if (file->dlpi_phdr[i].p_type != PT_LOAD) continue;
        const std::uintptr_t at = file->dlpi_addr + file->dlpi_phdr[i].p_vaddr;
        if (at < all.begin) all.begin = at;
        if (at + file->dlpi_phdr[i].p_memsz > all.end) all.end = at + file->dlpi_phdr[i].p_memsz;
    }
    const char* const slash = std::strrchr(file->dlpi_name, '/');
    const char* const name = slash != nullptr ? slash + 1 : file->dlpi_name;
    std::snprintf(all.name, sizeof all.name, "%s", name);
    const auto is = [&](const char* prefix) { return std::strncmp(name, prefix, std::strlen(prefix)) == 0; };
    if (is("librubato.so")) ours[0] = all;
    if (is("librubato_mpi.so")) ours[1] = all;
    if (is("librubato_preload.so")) ours[2] = all;
    for (const char* const other : {"libstdc++.so", "libfmt.so", "libc.so", "libgcc_s.so", "libm.so"})
        if (is(other) && between_count < between.size()) between[between_count++] = all;
    if (all.holds(reinterpret_cast<std::uintptr_t>(&note_library))) {
        own_begin = all.begin;
        own_end = all.end;
    }
    return 0;
}

/// Of Rubato's libraries; -1 if it is none of theirs.
int library_of(std::uintptr_t a) {
    for (int i = 0; i < 3; ++i)
        if (ours[static_cast<std::size_t>(i)].holds(a)) return i;
    return -1;
}

_Unwind_Reason_Code note_frame(_Unwind_Context* context, void* to) {
    auto& s = *static_cast<stack*>(to);
    const std::uintptr_t at = _Unwind_GetIP(context);
    if (at >= own_begin && at < own_end) return _URC_NO_REASON;
    const int library = library_of(at);
    if (library < 0) {
        for (std::size_t i = 0; i < between_count; ++i)
            if (between[i].holds(at)) return _URC_NO_REASON;
        return _URC_END_OF_STACK;
    }
    const std::uintptr_t offset = at - ours[static_cast<std::size_t>(library)].begin;
    s.frames[s.count] = offset | static_cast<std::uintptr_t>(library) << 56;
    s.mix(s.frames[s.count]);
    return ++s.count == most_frames ? _URC_END_OF_STACK : _URC_NO_REASON;
}

void list(const stack& s, kind of, const char* function) {
    for (std::size_t i = s.hash % most_points;; i = (i + 1) % most_points) {
        std::uint64_t there = points[i].hash.load();
        if (there == 0 && points[i].hash.compare_exchange_strong(there, s.hash)) {
            points[i].of = of;
            points[i].function = function;
            points[i].seen = s;
        } else if (there != 0 && there != s.hash) {
            continue;
        }
        ++points[i].times;
        return;
    }
}

/// Whether this call, by the code at `caller`, is to fail.
bool fails(kind of, const char* function, const void* caller) {
    if (!active || looking) return false;
    const auto at = reinterpret_cast<std::uintptr_t>(caller);
    bool perhaps = library_of(at) >= 0;
    for (std::size_t i = 0; i < between_count; ++i) perhaps = perhaps || between[i].holds(at);
    if (!perhaps) return false;
    looking = true;
    const int error_before = errno;  // readdir leaves it as it is, at the end of a folder
    stack s;
    s.mix(static_cast<std::uint64_t>(of));
    for (const char* c = function; *c != '\0'; ++c) s.mix(static_cast<std::uint64_t>(*c));
    _Unwind_Backtrace(note_frame, &s);
    looking = false;
    errno = error_before;
    if (s.count == 0) return false;
    if (points != nullptr) list(s, of, function);
    if (failing == static_cast<int>(of)) return true;
    if (s.hash != chosen || ++met != nth) return false;
    if (lasting) failing = static_cast<int>(of);
    std::array<char, 64> text{};
    const int length = std::snprintf(text.data(), text.size(), "fault: %s\n", function);
    (void)!syscall(SYS_write, 2, text.data(), length);
    return true;
}

/// Lives from the loading of this library to the end of the process.
struct beginning_and_end {
    beginning_and_end() {
        const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
        if (rank == nullptr) rank = std::getenv("PMI_RANK");
        const char* const wanted = std::getenv("FAULT_RANK");
        if (rank == nullptr || wanted == nullptr || std::strcmp(rank, wanted) != 0) return;
        dl_iterate_phdr(note_library, nullptr);
        if (const char* const hash = std::getenv("FAULT_POINT")) chosen = std::strtoull(hash, nullptr, 16);
        if (const char* const n = std::getenv("FAULT_NTH")) nth = static_cast<std::uint32_t>(std::atoi(n));
        lasting = std::getenv("FAULT_LASTING") != nullptr;
        if (std::getenv("FAULT_LIST") != nullptr) points = new point[most_points];
        active = ours[2].end != 0;
    }
    ~beginning_and_end() {
        active = false;
        const char* const file = std::getenv("FAULT_LIST");
        if (points == nullptr || file == nullptr) return;
        FILE* const to = std::fopen(file, "w");
        for (std::size_t i = 0; to != nullptr && i < most_points; ++i) {
            const point& p = points[i];
            if (p.hash == 0) continue;
            std::fprintf(to, "%016llx %s %s %u", static_cast<unsigned long long>(p.hash),
                         kind_names[static_cast<std::size_t>(p.of)], p.function, p.times.load());
            for (std::size_t f = 0; f < p.seen.count; ++f)
                std::fprintf(to, " %s+%#llx", ours[p.seen.frames[f] >> 56].name,
                             static_cast<unsigned long long>(p.seen.frames[f] << 8 >> 8));
            std::fputc('\n', to);
        }
        if (to != nullptr) std::fclose(to);
    }
};
const beginning_and_end life;

}  // namespace

#define CALLER __builtin_return_address(0)

void* operator new(std::size_t bytes) {
    if (fails(kind::memory, "new", CALLER)) throw std::bad_alloc();
    if (void* const memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
    throw std::bad_alloc();
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
    return fails(kind::memory, "new", CALLER) ? nullptr : std::malloc(bytes > 0 ? bytes : 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
    if (fails(kind::memory, "new", CALLER)) throw std::bad_alloc();
    const auto to = static_cast<std::size_t>(alignment);
    if (void* const memory = std::aligned_alloc(to, (bytes + to - 1) / to * to)) return memory;
    throw std::bad_alloc();
}
void* operator new[](std::size_t bytes) {
    if (fails(kind::memory, "new", CALLER)) throw std::bad_alloc();
    if (void* const memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

using word = long;

/// `failed` is evaluated in place of the call. No C++ declaration of the name is seen here, so any signature will do
/// that has no words on the stack but those of the caller: this function reads them and writes them back.
#define STAND_IN(id, of, parameters, arguments, failed)                                             \
    extern "C" word fault_##id parameters __asm__(#id);                                             \
    extern "C" word fault_##id parameters {                                                         \
        static std::atomic<decltype(&fault_##id)> next{nullptr};                                    \
        if (next == nullptr) next = reinterpret_cast<decltype(&fault_##id)>(dlsym(RTLD_NEXT, #id)); \
        if (fails(of, #id, CALLER)) return failed;                                                  \
        return next.load(std::memory_order_relaxed) arguments;                                      \
    }

#define MPI(id, parameters, arguments) STAND_IN(id, kind::mpi, parameters, arguments, MPI_ERROR)
#include FUNCTIONS

#define FAILED(error, value) (errno = (error), (value))
#define OF_SYSTEM(id, of, failed) \
    STAND_IN(id, of, (word a, word b, word c, word d, word e, word f), (a, b, c, d, e, f), failed)
#define ON_DISK(id) OF_SYSTEM(id, kind::file, FAILED(ENOSPC, -1))
ON_DISK(open)
ON_DISK(open64)
ON_DISK(openat)
ON_DISK(openat64)
ON_DISK(pwrite)
ON_DISK(pwrite64)
ON_DISK(ftruncate)
ON_DISK(ftruncate64)
ON_DISK(truncate)
ON_DISK(truncate64)
ON_DISK(fallocate)
ON_DISK(fallocate64)
ON_DISK(msync)
ON_DISK(rename)
ON_DISK(renameat)
ON_DISK(unlink)
ON_DISK(unlinkat)
ON_DISK(remove)
ON_DISK(mkdir)
ON_DISK(mkdirat)
ON_DISK(fsync)
ON_DISK(fdatasync)
ON_DISK(write)
ON_DISK(writev)
#define REFUSED(id, error) OF_SYSTEM(id, kind::file, FAILED(error, -1))
REFUSED(access, EACCES)
REFUSED(faccessat, EACCES)
REFUSED(stat, EACCES)
REFUSED(stat64, EACCES)
REFUSED(lstat, EACCES)
REFUSED(lstat64, EACCES)
REFUSED(fstat, EIO)
REFUSED(fstat64, EIO)
REFUSED(fstatat, EACCES)
REFUSED(fstatat64, EACCES)
REFUSED(statvfs, EIO)
REFUSED(readlink, EIO)
REFUSED(symlink, EPERM)
REFUSED(link, EPERM)
REFUSED(rmdir, EBUSY)
REFUSED(chmod, EPERM)
REFUSED(fchmod, EPERM)
REFUSED(fchmodat, EPERM)
REFUSED(fchown, EPERM)
REFUSED(fcntl, ENOLCK)
REFUSED(fcntl64, ENOLCK)
REFUSED(flock, ENOLCK)
REFUSED(lseek, EIO)
REFUSED(lseek64, EIO)
REFUSED(read, EIO)
REFUSED(readv, EIO)
REFUSED(pread, EIO)
REFUSED(pread64, EIO)
REFUSED(utimensat, EPERM)
REFUSED(getrlimit, EIO)
REFUSED(getrlimit64, EIO)
REFUSED(gethostname, EIO)
REFUSED(getrandom, ENOSYS)
// What is written to some file systems fails here; the file is closed all the same.
OF_SYSTEM(close, kind::file, (next.load()(a, b, c, d, e, f), FAILED(EIO, -1)))
OF_SYSTEM(posix_fallocate, kind::file, ENOSPC)
OF_SYSTEM(posix_fallocate64, kind::file, ENOSPC)
OF_SYSTEM(fopen, kind::file, FAILED(EMFILE, 0))
OF_SYSTEM(fopen64, kind::file, FAILED(EMFILE, 0))
OF_SYSTEM(fdopen, kind::file, FAILED(EMFILE, 0))
OF_SYSTEM(opendir, kind::file, FAILED(EMFILE, 0))
OF_SYSTEM(fdopendir, kind::file, FAILED(EMFILE, 0))
OF_SYSTEM(readdir, kind::file, FAILED(EIO, 0))
OF_SYSTEM(readdir64, kind::file, FAILED(EIO, 0))
OF_SYSTEM(realpath, kind::file, FAILED(EIO, 0))
OF_SYSTEM(getcwd, kind::file, FAILED(EIO, 0))
OF_SYSTEM(dlopen, kind::file, 0)
OF_SYSTEM(mmap, kind::file, FAILED(ENOMEM, -1))
OF_SYSTEM(mmap64, kind::file, FAILED(ENOMEM, -1))
OF_SYSTEM(pthread_create, kind::thread, EAGAIN)
