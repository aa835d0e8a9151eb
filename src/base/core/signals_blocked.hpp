// The program's handlers of signals must not run in Rubato's threads: a handler may look at the thread that it runs in,
// and a timer may be meant for the program's own.
#pragma once

#include <csignal>
#include <initializer_list>

namespace rubato::base {

/// While it exists, the calling thread takes no signals from outside, and threads that it starts never do. Those that a
/// thread raises by what it does are left: a program may handle writes to memory that it has protected.
class signals_blocked {
public:
    signals_blocked() {
        sigset_t others;
        sigfillset(&others);
        for (const int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS}) sigdelset(&others, own);
        pthread_sigmask(SIG_BLOCK, &others, &before_);
    }
    ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    signals_blocked(const signals_blocked&) = delete;
    signals_blocked& operator=(const signals_blocked&) = delete;

private:
    sigset_t before_{};
};

}  // namespace rubato::base
