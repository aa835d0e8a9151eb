/* Preloaded into ranks that share cores: those that wait beside a thread that computes sleep for a moment instead of
 * yielding.
 *
 * On Linux 6.18 a thread that yields gives up the whole slice that it has: beside a thread that computes it polls 350
 * times a second, if it sleeps 9000 times. So one busy thread anywhere on the machine made an allreduce of 16 ranks on
 * two cores take 25 ms instead of 0.4, and tests of two seconds a minute. Where nobody computes, yielding is faster.
 *
 * MPICH's ranks do not even yield: with POLLS_BY_UCX they do after some polls in vain. That takes an allreduce of 4 of
 * them from 19 ms to 0.3.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { long_yield_ns = 500000, sleeps_after_one = 1000 };

static long long now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000LL + t.tv_nsec;
}

int sched_yield(void) {
    static _Thread_local unsigned sleeps;
    if (sleeps > 0) {
        const struct timespec moment = {0, 1000};
        --sleeps;
        nanosleep(&moment, NULL);
        return 0;
    }
    const long long begin = now();
    const long status = syscall(SYS_sched_yield);
    if (now() - begin > long_yield_ns) sleeps = sleeps_after_one;
    return (int)status;
}

#ifdef POLLS_BY_UCX
enum { polls_per_yield = 32 };

/* UCX's, which MPICH calls in each poll; it returns how much has happened. */
unsigned ucp_worker_progress(void* worker) {
    static unsigned (*next)(void*);
    static _Thread_local unsigned in_vain;
    if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, "ucp_worker_progress");
    const unsigned happened = next(worker);
    if (happened != 0)
        in_vain = 0;
    else if (++in_vain % polls_per_yield == 0)
        sched_yield();
    return happened;
}
#endif
