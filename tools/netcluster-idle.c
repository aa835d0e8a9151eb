// Lets idle ranks sleep. Preloaded by tools/netcluster run into every rank.
//
// A rank of Open MPI that waits for a message polls its sockets without pause. On a real cluster that does no harm;
// here many ranks share a few cores, and waiting ranks would take time from working ones. With mpi_yield_when_idle Open
// MPI calls sched_yield whenever it has polled and found nothing. This sched_yield then waits on the same descriptors,
// until one of them has something or for NETCLUSTER_IDLE_US at most (default 1000): not everything a rank waits for
// comes through a socket. A socket that was read by recvmsg without waiting, and had nothing, counts among them: so
// Rubato listens for multicast.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { most_descriptors = 1024 };

// The descriptors that a thread polled last; none if it has waited since.
static _Thread_local struct pollfd looked_at[most_descriptors + 1];
static _Thread_local nfds_t descriptors;
// The socket that was read last and had nothing; none once it has woken the thread, which may have other things to do.
static _Thread_local int datagrams = -1;
// Since the thread last yielded, a poll found something. Open MPI's event loop polls again after it has handled that,
// and finds nothing; but the message may be what the rank waits for, so it must not sleep before it has checked.
static _Thread_local int found_something;

static int (*real_poll)(struct pollfd*, nfds_t, int);
static int (*real_epoll_wait)(int, struct epoll_event*, int, int);
static ssize_t (*real_recvmsg)(int, struct msghdr*, int);
static struct timespec longest;

static void prepare(void) {
    *(void**)&real_poll = dlsym(RTLD_NEXT, "poll");
    *(void**)&real_epoll_wait = dlsym(RTLD_NEXT, "epoll_wait");
    *(void**)&real_recvmsg = dlsym(RTLD_NEXT, "recvmsg");
    const char* setting = getenv("NETCLUSTER_IDLE_US");
    const long us = setting ? atol(setting) : 1000;
    longest = (struct timespec){us / 1000000, us % 1000000 * 1000};
}

int poll(struct pollfd* list, nfds_t length, int timeout) {
    if (!real_poll) prepare();
    const int found = real_poll(list, length, timeout);
    descriptors = 0;
    found_something |= found != 0;
    if (timeout == 0 && found == 0 && length <= most_descriptors) {
        memcpy(looked_at, list, length * sizeof *list);
        descriptors = length;
    }
    return found;
}

int epoll_wait(int epoll, struct epoll_event* events, int most, int timeout) {
    if (!real_epoll_wait) prepare();
    const int found = real_epoll_wait(epoll, events, most, timeout);
    descriptors = 0;
    found_something |= found != 0;
    if (timeout == 0 && found == 0) {
        looked_at[0] = (struct pollfd){epoll, POLLIN, 0};
        descriptors = 1;
    }
    return found;
}

ssize_t recvmsg(int socket, struct msghdr* message, int flags) {
    if (!real_recvmsg) prepare();
    const ssize_t size = real_recvmsg(socket, message, flags);
    datagrams = -1;
    found_something |= size >= 0;
    if (size < 0 && (flags & MSG_DONTWAIT) && errno == EAGAIN) datagrams = socket;
    return size;
}

// Rubato's background thread sleeps by itself, and would be late if it slept here too. It is known by its name, which
// the main thread of a program called rubato has as well.
static int may_sleep(void) {
    static _Thread_local enum { unknown, yes, no } answer;
    if (answer == unknown) {
        char name[16] = "";
        pthread_getname_np(pthread_self(), name, sizeof name);
        answer = gettid() != getpid() && strcmp(name, "rubato") == 0 ? no : yes;
    }
    return answer == yes;
}

int sched_yield(void) {
    const int may = descriptors > 0 && !found_something && may_sleep();
    found_something = 0;
    if (!may) return (int)syscall(SYS_sched_yield);
    const int before = errno;
    struct pollfd* const last = &looked_at[descriptors];
    *last = (struct pollfd){datagrams, POLLIN, 0};  // poll ignores one below 0
    ppoll(looked_at, descriptors + 1, &longest, NULL);
    if (last->revents) datagrams = -1;
    descriptors = 0;
    errno = before;
    return 0;
}
