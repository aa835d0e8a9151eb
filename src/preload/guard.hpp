// What the entries of a thread know of each other.
#pragma once

namespace rubato::preload {

/// This thread is within an entry, or does something of Rubato's: further entries pass straight through. So nothing is
/// counted twice, and what Rubato itself asks of MPI is not counted at all.
inline constinit thread_local bool inside = false;

class guard {
public:
    guard() : before_(inside) { inside = true; }
    ~guard() { inside = before_; }
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;

private:
    bool before_;
};

/// Where a Fortran program called, while its call is on the way to the entry in C; else null.
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

}  // namespace rubato::preload
