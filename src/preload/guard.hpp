// State that the entries of a thread share.
#pragma once

namespace rubato::preload {

/// This thread is within an entry, or runs Rubato's own code: further entries go straight on. So no call is counted
/// twice, and Rubato's own calls of MPI are not counted.
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

}  // namespace rubato::preload
