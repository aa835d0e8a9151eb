/* MPI_Comm_free is local: ranks free communicators in different orders, before and after they have met elsewhere, with
   calls under way and with requests that outlive them. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { n = 4096 };
static double mine[n], all[n];
static int me, ranks, wrong;

static void check(const char* what) {
    for (int i = 0; i < n; ++i)
        if (all[i] != (i + 1.0) * ranks * (ranks + 1) / 2) {
            if (wrong++ == 0) printf("rank %d: %s: element %d is %g\n", me, what, i, all[i]);
            break;
        }
    memset(all, 0, sizeof all);
}

/* So many that an autopilot is worth it; the last rank is late. */
static void calls(MPI_Comm comm, int times) {
    for (int k = 0; k < times; ++k) {
        if (me == ranks - 1 && k % 4 == 0) usleep(300);
        MPI_Allreduce(mine, all, n, MPI_DOUBLE, MPI_SUM, comm);
        check("an allreduce");
        MPI_Reduce(mine, all, n, MPI_DOUBLE, MPI_SUM, 0, comm);
        if (me == 0) check("a reduce");
    }
}

/* Rank 0 frees after a barrier, the others before it. */
static void around_a_barrier(void) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    calls(comm, 100);
    if (me == 0) MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_free(&comm);
    if (me != 0) MPI_Barrier(MPI_COMM_WORLD);
}

/* Every rank but the first waits, before it frees anything, for a message of a rank that has freed all. */
static void in_other_orders(void) {
    MPI_Comm one, two;
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    MPI_Comm_dup(MPI_COMM_WORLD, &two);
    calls(one, 60);
    calls(two, 60);
    if (me > 0) MPI_Recv(NULL, 0, MPI_INT, me - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Comm_free(me % 2 == 0 ? &one : &two);
    MPI_Comm_free(me % 2 == 0 ? &two : &one);
    if (me + 1 < ranks) MPI_Send(NULL, 0, MPI_INT, me + 1, 0, MPI_COMM_WORLD);
}

/* More communicators than there are autopilots at a time. */
static void again_and_again(void) {
    for (int k = 0; k < 200; ++k) {
        MPI_Comm comm;
        MPI_Comm_split(MPI_COMM_WORLD, 0, me, &comm);
        calls(comm, 2);
        MPI_Comm_free(&comm);
    }
}

/* Copies of several communicators are under way at a time. Each rank begins them, and frees what they are of, in
   another order, while other ranks are in calls on other communicators. */
static void with_copies_under_way(void) {
    enum { copies = 3 };
    for (int k = 0; k < 8; ++k) {
        MPI_Comm of[copies], copy[copies], beside;
        MPI_Request request[copies];
        MPI_Comm_dup(MPI_COMM_WORLD, &beside);
        for (int i = 0; i < copies; ++i) {
            MPI_Comm_dup(MPI_COMM_WORLD, &of[i]);
            calls(of[i], 3);
        }
        for (int i = 0; i < copies; ++i) {
            const int c = (i + me) % copies;
            MPI_Comm_idup(of[c], &copy[c], &request[c]);
        }
        calls(beside, 3);
        MPI_Comm_free(&beside);
        for (int i = 0; i < copies; ++i) MPI_Wait(&request[i], MPI_STATUS_IGNORE);
        for (int i = 0; i < copies; ++i) {
            MPI_Comm_free(&of[(i + me) % copies]);
            calls(copy[i], 3);
        }
        for (int i = 0; i < copies; ++i) MPI_Comm_free(&copy[(i + 2 * me) % copies]);
    }
}

/* Open MPI 4.1 has neither: it crashes if a communicator is freed while a call of its own is under way. */
#ifdef MPICH
static void with_calls_under_way(void) {
    for (int k = 0; k < 20; ++k) {
        MPI_Comm comm;
        MPI_Request request;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        calls(comm, 2);
        if (me == 0) usleep(2000);
        MPI_Iallreduce(mine, all, n, MPI_DOUBLE, MPI_SUM, comm, &request);
        MPI_Comm_free(&comm);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        check("a call that was under way");
    }
}

static void with_requests(void) {
    MPI_Comm comm;
    MPI_Request request[2];
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int r = 0; r < 2; ++r) MPI_Allreduce_init(mine, all, n, MPI_DOUBLE, MPI_SUM, comm, MPI_INFO_NULL, &request[r]);
    if (me % 2 == 0) MPI_Request_free(&request[1]);
    MPI_Comm_free(&comm);
    if (me % 2 == 1) MPI_Request_free(&request[1]);
    for (int k = 0; k < 5; ++k) {
        MPI_Start(&request[0]);
        MPI_Wait(&request[0], MPI_STATUS_IGNORE);
        check("a persistent call");
    }
    MPI_Request_free(&request[0]);
}
#endif

/* Some ranks leave theirs to MPI_Finalize. */
static void by_some(void) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    calls(comm, 60);
    if (me % 2 == 0) MPI_Comm_free(&comm);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < n; ++i) mine[i] = (i + 1.0) * (me + 1);
    again_and_again();
    around_a_barrier();
    in_other_orders();
    with_copies_under_way();
#ifdef MPICH
    with_calls_under_way();
    with_requests();
#endif
    by_some();
    if (wrong == 0) printf("rank %d: right\n", me);
    MPI_Finalize();
    return 0;
}
