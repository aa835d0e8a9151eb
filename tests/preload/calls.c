/* calls ELEMENTS [ending]: every collective in every form, three times each, and a checksum of all that was received.
   The ending is how it goes on: "kill" ends rank 1 by a signal, "fork" starts other programs, "folder" makes the folder
   i.rubato, a number is the exit status. */
#include "checksum.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { most_ranks = 64 };
static int ranks, n;
static int counts[most_ranks], places[most_ranks];

static void blocking(MPI_Comm comm, int root) {
    MPI_Barrier(comm);
    MPI_Bcast(out, n, MPI_INT, root, comm), add();
    MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, root, comm), add();
    MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm), add();
    MPI_Scatter(in, n, MPI_INT, out, n, MPI_INT, root, comm), add();
    MPI_Gather(in, n, MPI_INT, out, n, MPI_INT, root, comm), add();
    MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, comm), add();
    MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, comm), add();
    MPI_Reduce_scatter_block(in, out, n, MPI_INT, MPI_MAX, comm), add();
    MPI_Scan(in, out, n, MPI_INT, MPI_SUM, comm), add();
    MPI_Exscan(in, out, n, MPI_INT, MPI_SUM, comm), add();
    MPI_Scatterv(in, counts, places, MPI_INT, out, counts[me], MPI_INT, root, comm), add();
    MPI_Gatherv(in, counts[me], MPI_INT, out, counts, places, MPI_INT, root, comm), add();
    MPI_Allgatherv(in, counts[me], MPI_INT, out, counts, places, MPI_INT, comm), add();
    MPI_Alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, comm), add();
    MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm), add();
}

static void nonblocking(MPI_Comm comm, int root) {
    MPI_Request r;
    MPI_Ibarrier(comm, &r), finish(&r, 0);
    MPI_Ibcast(out, n, MPI_INT, root, comm, &r), finish(&r, 0);
    MPI_Ireduce(in, out, n, MPI_INT, MPI_SUM, root, comm, &r), finish(&r, 0);
    MPI_Iallreduce(in, out, n, MPI_INT, MPI_SUM, comm, &r), finish(&r, 0);
    MPI_Iscatter(in, n, MPI_INT, out, n, MPI_INT, root, comm, &r), finish(&r, 0);
    MPI_Igather(in, n, MPI_INT, out, n, MPI_INT, root, comm, &r), finish(&r, 0);
    MPI_Iallgather(in, n, MPI_INT, out, n, MPI_INT, comm, &r), finish(&r, 0);
    MPI_Ialltoall(in, n, MPI_INT, out, n, MPI_INT, comm, &r), finish(&r, 0);
    MPI_Ireduce_scatter_block(in, out, n, MPI_INT, MPI_MAX, comm, &r), finish(&r, 0);
    MPI_Iscan(in, out, n, MPI_INT, MPI_SUM, comm, &r), finish(&r, 0);
    MPI_Iexscan(in, out, n, MPI_INT, MPI_SUM, comm, &r), finish(&r, 0);
    MPI_Iscatterv(in, counts, places, MPI_INT, out, counts[me], MPI_INT, root, comm, &r), finish(&r, 0);
    MPI_Igatherv(in, counts[me], MPI_INT, out, counts, places, MPI_INT, root, comm, &r), finish(&r, 0);
    MPI_Iallgatherv(in, counts[me], MPI_INT, out, counts, places, MPI_INT, comm, &r), finish(&r, 0);
    MPI_Ialltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, comm, &r), finish(&r, 0);
    MPI_Ireduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm, &r), finish(&r, 0);
}

static void persistent(MPI_Comm comm, int root) {
    MPI_Request r;
    const MPI_Info none = MPI_INFO_NULL;
    INIT(Barrier)(comm, none, &r), finish(&r, 1);
    INIT(Bcast)(out, n, MPI_INT, root, comm, none, &r), finish(&r, 1);
    INIT(Reduce)(in, out, n, MPI_INT, MPI_SUM, root, comm, none, &r), finish(&r, 1);
    INIT(Allreduce)(in, out, n, MPI_INT, MPI_SUM, comm, none, &r), finish(&r, 1);
    INIT(Scatter)(in, n, MPI_INT, out, n, MPI_INT, root, comm, none, &r), finish(&r, 1);
    INIT(Gather)(in, n, MPI_INT, out, n, MPI_INT, root, comm, none, &r), finish(&r, 1);
    INIT(Allgather)(in, n, MPI_INT, out, n, MPI_INT, comm, none, &r), finish(&r, 1);
    INIT(Alltoall)(in, n, MPI_INT, out, n, MPI_INT, comm, none, &r), finish(&r, 1);
    INIT(Reduce_scatter_block)(in, out, n, MPI_INT, MPI_MAX, comm, none, &r), finish(&r, 1);
    INIT(Scan)(in, out, n, MPI_INT, MPI_SUM, comm, none, &r), finish(&r, 1);
    INIT(Exscan)(in, out, n, MPI_INT, MPI_SUM, comm, none, &r), finish(&r, 1);
    INIT(Scatterv)(in, counts, places, MPI_INT, out, counts[me], MPI_INT, root, comm, none, &r), finish(&r, 1);
    INIT(Gatherv)(in, counts[me], MPI_INT, out, counts, places, MPI_INT, root, comm, none, &r), finish(&r, 1);
    INIT(Allgatherv)(in, counts[me], MPI_INT, out, counts, places, MPI_INT, comm, none, &r), finish(&r, 1);
    INIT(Alltoallv)(in, counts, places, MPI_INT, out, counts, places, MPI_INT, comm, none, &r), finish(&r, 1);
    INIT(Reduce_scatter)(in, out, counts, MPI_INT, MPI_SUM, comm, none, &r), finish(&r, 1);
}

int main(int argc, char** argv) {
    const char* ending = argc > 2 ? argv[2] : "0";
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    n = atoi(argv[1]);
    for (int i = 0; i < ranks; ++i) places[i] = i * n;
    make_buffers(n * ranks);
    for (int i = 0; i < 3; ++i) {
        const int root = i % ranks;
        for (int r = 0; r < ranks; ++r) counts[r] = n - i;
        blocking(MPI_COMM_WORLD, root);
        nonblocking(MPI_COMM_WORLD, root);
        persistent(MPI_COMM_WORLD, root);
    }
    if (strcmp(ending, "again") == 0) {
        MPI_Request r;
        INIT(Barrier)(MPI_COMM_WORLD, MPI_INFO_NULL, &r);
        for (int i = 0; i < 5; ++i) {
            if (i % 2 == 0)
                MPI_Start(&r);
            else
                MPI_Startall(1, &r);
            MPI_Wait(&r, MPI_STATUS_IGNORE);
        }
        MPI_Request_free(&r);
    }
    if (strcmp(ending, "fork") == 0) {
        const pid_t child = fork();
        if (child == 0) _exit(system("true"));
        int status = 1;
        waitpid(child, &status, 0);
        if (status != 0) return 1;
    }
    if (strcmp(ending, "folder") == 0) mkdir("i.rubato", 0777);
    if (strcmp(ending, "kill") == 0) {
        if (me == 1) raise(SIGKILL);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    printf("rank %d: %ld\n", me, sum);
    MPI_Finalize();
    return atoi(ending);
}
