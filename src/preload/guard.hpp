// State that the entries of a thread share.
#pragma once

#include <utility>

namespace rubato::preload {

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

}  // namespace rubato::preload
