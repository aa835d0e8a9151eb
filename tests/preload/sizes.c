/* sizes COLLECTIVE ROOT OTHERS: the root's count is another one than that of the other ranks, who may find an error.
   sizes COLLECTIVE late COUNT: all ranks have the same counts, but the first and the last rank come late once each. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
    int me, ranks, level, class = MPI_SUCCESS;
    const char* what = argv[1];
    const int large = 4000000;
    const int late = strcmp(argv[2], "late") == 0;
    int* in = calloc((size_t)large, sizeof(int));
    int* out = calloc((size_t)large, sizeof(int));
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int i = 0; i < 20; ++i) {
        const int all = atoi(argv[3]);
        const int n = late ? all / (1 + i % 3) : i < 15 || me != 0 ? all : atoi(argv[2]);
        /* Others wait for so long that they look whether it has passed another size. */
        if (late && ((i == 10 && me == 0) || (i == 14 && me == ranks - 1))) usleep(1500000);
        int code = MPI_SUCCESS;
        if (strcmp(what, "bcast") == 0) code = MPI_Bcast(in, n, MPI_INT, 0, MPI_COMM_WORLD);
        if (strcmp(what, "reduce") == 0) code = MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        if (strcmp(what, "allreduce") == 0) code = MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (strcmp(what, "allgather") == 0) code = MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, MPI_COMM_WORLD);
        if (strcmp(what, "scatter") == 0) code = MPI_Scatter(in, n, MPI_INT, out, n, MPI_INT, 0, MPI_COMM_WORLD);
        if (strcmp(what, "gather") == 0) code = MPI_Gather(in, n, MPI_INT, out, n, MPI_INT, 0, MPI_COMM_WORLD);
        if (code != MPI_SUCCESS) MPI_Error_class(code, &class);
    }
    printf("rank %d: %s\n", me, class == MPI_SUCCESS ? "no error" : class == MPI_ERR_TRUNCATE ? "truncated" : "error");
    fflush(stdout);
    MPI_Finalize();
    return class != MPI_SUCCESS;
}
