/* hangs CASE: what a watchdog must see, or must not. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int me, ranks, sum;

static void add_up(void) { MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD); }

static void rest(double seconds) { usleep((useconds_t)(seconds * 1e6)); }

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char* const what = argc > 1 ? argv[1] : "";
    add_up();
    if (!strcmp(what, "left")) {
        for (int i = 0; i < (me == ranks - 1 ? 2 : 5); ++i) add_up();
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
    } else if (!strcmp(what, "never")) {
        if (me == 1)
            for (;;) rest(1);
    } else if (!strcmp(what, "computing")) {
        rest(2.5);
        add_up();
    } else if (!strcmp(what, "slow")) {
        for (int i = 0; i < 2; ++i) {
            if (me == 1) rest(1.7);
            add_up();
        }
    }
    MPI_Finalize();
    if (me == 0) puts("done");
    return 0;
}
