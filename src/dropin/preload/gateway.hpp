// What all entries share: the state of their thread, what else is loaded, the program and its libraries, and the
// functions that the program would have called without this library, those of the MPI library or of another tool.
//
// A flag per thread says that it is within an entry. Nested entries go straight on: when another tool calls PMPI_X from
// its MPI_X, and when Rubato itself calls MPI. Calls of the background thread are recognised by their return address.
// An error handler may leave an entry by longjmp, so the flag is an address in the entry's part of the stack, and a
// nested entry unwinds the stack to see whether that part is still an entry's.
#pragma once

#include "rubato/core.hpp"

#include <algorithm>
#include <cstdint>
#include <utility>

#include <link.h>

namespace rubato::dropin {

/// The guard of the entry that this thread is within, or of Rubato's own code; null: the program's code runs.
inline constinit thread_local const void* inside = nullptr;

/// Further entries go straight on, so that no call is counted twice, and Rubato's own calls of MPI are not counted.
class guard {
public:
    guard() : before_(inside) { inside = this; }
    ~guard() { inside = before_; }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

private:
    const void* before_;
};

/// Whether the function that holds the guard has not ended: an error handler of the program may have jumped out of it
/// by longjmp. If it has, this thread is within no entry any more.
bool is_alive(const void* which, const void* site) noexcept;

/// Whether a function that is called at `site` is called by an entry, by what the entry calls, or by Rubato.
inline bool is_inside(const void* site) { return inside != nullptr && is_alive(inside, site); }

/// The place of a Fortran program's call until the entry in C is reached; else null.
inline constinit thread_local const void* fortran_site = nullptr;

class fortran_call {
public:
    explicit fortran_call(const void* site) : before_(fortran_site) { fortran_site = site; }
    ~fortran_call() { fortran_site = before_; }
    fortran_call(const fortran_call&) = delete;
    fortran_call& operator=(const fortran_call&) = delete;

private:
    const void* before_;
};

/// For the entry in C, which may never return.
inline const void* take_fortran_site() { return std::exchange(fortran_site, nullptr); }

/// Whether one of the files that are loaded has what is looked for; those after it are not asked.
template <class Has>
bool any_loaded_file(const Has& has) {
    using test = const Has* const;
    const test given = &has;
    const auto ask = [](dl_phdr_info* file, std::size_t, void* t) { return (**static_cast<test*>(t))(*file) ? 1 : 0; };
    return dl_iterate_phdr(ask, const_cast<void*>(static_cast<const void*>(&given))) != 0;
}

struct address_range {
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;

    bool holds(const void* address) const {
        const auto a = reinterpret_cast<std::uintptr_t>(address);
        return a >= begin && a < end;
    }

    /// Of the file that holds this function.
    static address_range of(const void* function) {
        address_range all;
        const bool found = any_loaded_file([&](const dl_phdr_info& file) {
            all = {~std::uintptr_t{0}, 0};
            for (int i = 0; i < file.dlpi_phnum; ++i) {
                const auto& segment = file.dlpi_phdr[i];
                if (segment.p_type != PT_LOAD) continue;
                all.begin = std::min<std::uintptr_t>(all.begin, file.dlpi_addr + segment.p_vaddr);
                all.end = std::max<std::uintptr_t>(all.end, file.dlpi_addr + segment.p_vaddr + segment.p_memsz);
            }
            return all.holds(function);
        });
        return found ? all : address_range{};
    }
};

/// Ends the program if there is none: then the MPI library is not the one that the program was built for.
void* find_next(const char* name);

/// An entry by MPI_X goes on to the next MPI_X, so that another tool sees it, one by PMPI_X to the next PMPI_X.
template <class F>
F* next_function(F&, const char* name) {
    return reinterpret_cast<F*>(find_next(name));
}

}  // namespace rubato::dropin

/// The entries MPI_NAME and PMPI_NAME: the rest is their body, which knows the `next` function and the `site` of the
/// call.
#define ENTRY_POINTS(name, parameters, ...)          \
    ENTRY_POINT(MPI_##name, parameters, __VA_ARGS__) \
    ENTRY_POINT(PMPI_##name, parameters, __VA_ARGS__)
#define ENTRY_POINT(function, parameters, ...)                                       \
    extern "C" RUBATO_API int function parameters {                                  \
        static const auto next = rubato::dropin::next_function(function, #function); \
        [[maybe_unused]] const void* const site = __builtin_return_address(0);       \
        __VA_ARGS__                                                                  \
    }
