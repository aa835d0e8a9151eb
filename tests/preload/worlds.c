/* Communicators with ranks of two worlds, of which one is without the drop-in or has other settings: worlds without, or
   worlds VARIABLE=VALUE, starts as many ranks again, so changed, and works with them. With a second argument `connect`
   both also meet by MPI_Comm_connect and MPI_Comm_accept. */
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

/* One communicator of both. */
static MPI_Comm merged(MPI_Comm others, int are_children) {
    MPI_Comm together;
    MPI_Intercomm_merge(others, are_children, &together);
    return together;
}

/* The parents wait for the children. */
static MPI_Comm connected(MPI_Comm others, int are_children) {
    char port[MPI_MAX_PORT_NAME] = "";
    int me = 0;
    MPI_Comm met;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (!are_children) {
        if (me == 0) {
            MPI_Open_port(MPI_INFO_NULL, port);
            MPI_Send(port, sizeof port, MPI_CHAR, 0, 0, others);
        }
        MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &met);
        if (me == 0) MPI_Close_port(port);
    } else {
        if (me == 0) MPI_Recv(port, sizeof port, MPI_CHAR, 0, 0, others, MPI_STATUS_IGNORE);
        MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &met);
    }
    return met;
}

int main(int argc, char** argv) {
    int ranks = 0, me = 0;
    MPI_Comm parent, others, together, copy;
    const char* how = argv[1];
    const int connects = argc > 2 && strcmp(argv[2], "connect") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_get_parent(&parent);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (parent == MPI_COMM_NULL) {
        char* without[] = {"-u", "LD_PRELOAD", argv[0], argv[1], argv[2], NULL};
        char* changed[] = {argv[1], argv[0], argv[1], argv[2], NULL};
        char** arguments = strcmp(how, "without") == 0 ? without : changed;
        MPI_Comm_spawn("env", arguments, ranks, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others, MPI_ERRCODES_IGNORE);
    } else {
        others = parent;
    }
    together = merged(others, parent != MPI_COMM_NULL);
    calls(together, 100);
    if (connects) {
        MPI_Comm met = connected(others, parent != MPI_COMM_NULL);
        copy = merged(met, parent != MPI_COMM_NULL);
        calls(copy, 100);
        MPI_Comm_free(&copy);
        MPI_Comm_disconnect(&met);
    }
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
