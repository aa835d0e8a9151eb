// The idle shim (tools/netcluster-idle.c), preloaded, with a longest wait of an hour: a call that wrongly waits hangs.
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static int ends[2];
static atomic_int written;

static void expect(int holds, const char* what) {
    if (holds) return;
    fprintf(stderr, "idle: %s\n", what);
    exit(1);
}

static int look(void) {
    struct pollfd p = {ends[0], POLLIN, 0};
    return poll(&p, 1, 0);
}

static void* background(void* unused) {
    pthread_setname_np(pthread_self(), "rubato");
    expect(look() == 0, "nothing is written yet");
    sched_yield();
    return unused;
}

static void* writer(void* unused) {
    nanosleep(&(struct timespec){0, 20000000}, NULL);
    written = 1;
    expect(write(ends[1], "", 1) == 1, "the pipe takes a byte");
    return unused;
}

static void waits_for_the_writer(void) {
    pthread_t thread;
    written = 0;
    pthread_create(&thread, NULL, writer, NULL);
    sched_yield();
    expect(written, "who found nothing waits until there is something");
    pthread_join(thread, NULL);
}

static void wakes_when_written(void (*find_nothing)(void)) {
    char byte;
    find_nothing();
    waits_for_the_writer();
    expect(look() == 1, "the byte is there");
    expect(read(ends[0], &byte, 1) == 1, "the byte can be read");
    expect(look() == 0, "the pipe is empty again");
    sched_yield();  // a look since the last time found something: does not wait
}

static void with_poll(void) { expect(look() == 0, "the pipe is empty"); }

static void with_epoll(void) {
    static int epoll;
    struct epoll_event event = {.events = EPOLLIN};
    if (!epoll) {
        epoll = epoll_create1(0);
        expect(epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) == 0, "the pipe can be watched");
    }
    expect(epoll_wait(epoll, &event, 1, 0) == 0, "the pipe is empty");
}

// Something comes through a socket that was read, beside the descriptors that were polled.
static void wakes_by_a_datagram(void) {
    int sockets[2];
    char byte;
    struct iovec part = {&byte, 1};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    const int pipe_end = ends[1];
    expect(socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets) == 0, "sockets can be made");
    expect(recvmsg(sockets[0], &message, MSG_DONTWAIT) < 0, "nothing is sent yet");
    wakes_when_written(with_poll);
    ends[1] = sockets[1];  // where the writer writes
    with_poll();
    waits_for_the_writer();
    ends[1] = pipe_end;
    with_poll();
    expect(recvmsg(sockets[0], &message, MSG_DONTWAIT) == 1, "the datagram is there");
    sched_yield();                  // a read since the last time found something: does not wait
    wakes_when_written(with_poll);  // a socket that was not read since does not matter
}

int main(void) {
    expect(pipe(ends) == 0, "a pipe can be made");
    sched_yield();  // has not looked: does not wait
    pthread_t thread;
    pthread_create(&thread, NULL, background, NULL);
    pthread_join(thread, NULL);
    pthread_setname_np(pthread_self(), "rubato");  // as the main thread of the command
    wakes_when_written(with_poll);
    wakes_when_written(with_epoll);
    wakes_by_a_datagram();
    puts("idle ranks sleep until something comes");
    return 0;
}
