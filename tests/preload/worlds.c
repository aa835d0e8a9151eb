/* Communicators with ranks of two worlds, of which one is without the drop-in or has other settings: worlds without, or
   worlds VARIABLE=VALUE, starts as many ranks again, so changed, and works with them. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { n = 8192 };
static double mine[n], all[n];

static void calls(MPI_Comm comm, int times) {
    int me = 0, ranks = 0;
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    for (int i = 0; i < n; ++i) mine[i] = (i + 1.0) * (me + 1);
    for (int k = 0; k < times; ++k) {
        MPI_Allreduce(mine, all, n, MPI_DOUBLE, MPI_SUM, comm);
        MPI_Bcast(all, n, MPI_DOUBLE, k % ranks, comm);
        MPI_Alltoall(mine, n / ranks, MPI_DOUBLE, all, n / ranks, MPI_DOUBLE, comm);
        MPI_Allreduce(mine, all, n, MPI_DOUBLE, MPI_SUM, comm);
        for (int i = 0; i < n; ++i)
            if (all[i] != (i + 1.0) * ranks * (ranks + 1) / 2) {
                printf("rank %d: element %d is %g\n", me, i, all[i]);
                MPI_Abort(comm, 1);
            }
    }
}

int main(int argc, char** argv) {
    int ranks = 0, me = 0;
    MPI_Comm parent, others, together, copy;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (parent == MPI_COMM_NULL) {
        char* without[] = {"-u", "LD_PRELOAD", argv[0], NULL};
        char* changed[] = {argv[argc - 1], argv[0], NULL};
        char** arguments = strcmp(argv[argc - 1], "without") == 0 ? without : changed;
        MPI_Comm_spawn("env", arguments, ranks, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
    } else {
        others = parent;
    }
    MPI_Intercomm_merge(others, parent != MPI_COMM_NULL, &together);
    calls(together, 100);
    MPI_Comm_dup(together, &copy);
    calls(copy, 10);
    calls(MPI_COMM_WORLD, 20);
    MPI_Comm_free(&copy);
    MPI_Comm_rank(together, &me);
    printf("rank %d: right\n", me);
    MPI_Comm_free(&together);
    MPI_Comm_disconnect(&others);
    MPI_Finalize();
    return 0;
}
