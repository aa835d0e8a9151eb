/* hangs CASE: what a watchdog must see, or must not. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#define INIT(name) MPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#endif

static int me, ranks, sum;

static void add_up(void) { MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }

/* For who stops processes. */
static void note_process(const char* name) {
    char whole[64];
    snprintf(whole, sizeof whole, "%s.%d", name, me);
    FILE* const file = fopen(whole, "w");
    fprintf(file, "%d\n", (int)getpid());
    fclose(file);
}

static void rest(double seconds) { usleep((useconds_t)(seconds * 1e6)); }

/* Until somebody makes that file. */
static void wait_for(const char* file) {
    while (access(file, F_OK) != 0) rest(0.01);
}

/* The last rank makes fewer calls than the others. */
static void leave_early(void) {
    for (int i = 0; i < (me == ranks - 1 ? 2 : 5); ++i) add_up();
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char* const what = argc > 1 ? argv[1] : "";
    note_process("process");
    add_up();
    if (!strcmp(what, "left")) {
        leave_early();
    } else if (!strcmp(what, "collective")) {
        if (me == 1)
            MPI_Barrier(MPI_COMM_WORLD);
        else
            add_up();
    } else if (!strcmp(what, "root")) {
        MPI_Reduce(&me, &sum, 1, MPI_INT, MPI_SUM, me == 1 ? 1 : 0, MPI_COMM_WORLD);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (!strcmp(what, "half")) {
        MPI_Comm half;
        MPI_Comm_split(MPI_COMM_WORLD, me == 0, me, &half);
        if (me == 1)
            for (;;) rest(1);
        if (me > 0) MPI_Barrier(half);
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (!strcmp(what, "started")) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (me != 1) MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (!strcmp(what, "sizes")) { /* in Open MPI, by algorithms that do not fit together */
        const int count = me == 2 ? 1 << 20 : 1;
        int* const vector = calloc(2 * (size_t)count, sizeof *vector);
        MPI_Allreduce(vector, vector + count, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    } else if (!strcmp(what, "tested")) {
        MPI_Request request = MPI_REQUEST_NULL;
        if (me != 1) MPI_Ibarrier(MPI_COMM_WORLD, &request);
        for (int ended = 0; !ended; rest(0.001)) MPI_Test(&request, &ended, MPI_STATUS_IGNORE);
    } else if (!strcmp(what, "persistent")) {
        MPI_Request request;
        INIT(Allreduce)(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        for (int i = 0; i < (me == 1 ? 1 : 3); ++i) {
            MPI_Start(&request);
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&request);
    } else if (!strcmp(what, "overlapped")) { /* tests once, and computes */
        MPI_Request request;
        int ended;
        if (me == 1) rest(1.2);
        MPI_Ibarrier(MPI_COMM_WORLD, &request);
        MPI_Test(&request, &ended, MPI_STATUS_IGNORE);
        if (me != 1) rest(1.4);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (!strcmp(what, "never")) {
        if (me == 1)
            for (;;) rest(1);
    } else if (!strcmp(what, "computing")) {
        rest(1.2);
        add_up();
    } else if (!strcmp(what, "stopped")) { /* from outside, while ranks wait for rank 1, which computes */
        note_process("works");
        wait_for(me == 1 ? "go" : "start");
        note_process("comes");
        add_up();
    } else if (!strcmp(what, "stopped_left")) {
        note_process("works");
        wait_for("start");
        leave_early();
    } else if (!strcmp(what, "slow")) {
        for (int i = 0; i < 2; ++i) {
            if (me == 1) rest(1.5);
            add_up();
        }
    }
    MPI_Finalize();
    if (me == 0) puts("done");
    return 0;
}
