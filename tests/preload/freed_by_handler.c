/* freed_by_handler: wrong calls, on all ranks alike, whose error handler frees the communicator. Errors of
 * MPI_COMM_WORLD would end the program. What follows is right. */
#include <mpi.h>
#include <stdio.h>

#if defined OPEN_MPI
#include <mpi-ext.h>
#define INIT(name) MPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#endif

enum { n = 8192 };
static MPI_Comm mine;
static int errors;

static void free_it(MPI_Comm* comm, int* code, ...) {
    (void)comm, (void)code, ++errors;
    MPI_Comm_free(&mine);
}

int main(int argc, char** argv) {
    static double in[n], out[n];
    int me, ranks, wrong = 0;
    MPI_Errhandler handler;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_create_errhandler(free_it, &handler);
    for (int round = 0; round < 10; ++round) {
        MPI_Comm_dup(MPI_COMM_WORLD, &mine);
        MPI_Comm_set_errhandler(mine, handler);
        const MPI_Comm copy = mine;
        for (int i = 0; i < round % 4; ++i) MPI_Bcast(in, n, MPI_DOUBLE, 0, copy);
        /* There is no such root, nor an operator of reductions that replaces. */
        MPI_Request never = MPI_REQUEST_NULL;
        if (round % 3 == 0)
            wrong += MPI_Bcast(in, n, MPI_DOUBLE, ranks, copy) == MPI_SUCCESS;
        else if (round % 3 == 1)
            wrong += MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_REPLACE, copy) == MPI_SUCCESS;
        else
            wrong += INIT(Bcast)(in, n, MPI_DOUBLE, ranks, copy, MPI_INFO_NULL, &never) == MPI_SUCCESS;
        wrong += mine != MPI_COMM_NULL;
        in[0] = me + round;
        MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        wrong += out[0] != ranks * (ranks - 1) / 2. + ranks * round;
    }
    printf("rank %d: %d errors, %d wrong\n", me, errors, wrong);
    MPI_Errhandler_free(&handler);
    MPI_Finalize();
    return wrong != 0;
}
