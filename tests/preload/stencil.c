/* stencil ITERATIONS KIND [BYTES [MILLISECONDS]]: a stencil in one dimension. Each iteration exchanges borders with the
 * neighbours, computes for so many milliseconds, and adds up the residual of all ranks, a vector of BYTES. KIND says
 * who computes longer, by four fifths: fine, nobody; slow, rank 2; rotating, each rank in its turn; host, the ranks of
 * the last rank's host. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { cells = 256 };

/* Computing, for as long as it would take: a core for each rank is not needed. */
static void compute(double* field, double* next, int milliseconds) {
    for (int i = 1; i <= cells; ++i) next[i] = (field[i - 1] + field[i + 1]) / 2;
    memcpy(field + 1, next + 1, cells * sizeof *field);
    const struct timespec rest = {0, milliseconds * 1000000L};
    nanosleep(&rest, NULL);
}

static int on_host_of_last(int ranks) {
    char mine[MPI_MAX_PROCESSOR_NAME] = "", last[MPI_MAX_PROCESSOR_NAME];
    int length;
    MPI_Get_processor_name(mine, &length);
    memcpy(last, mine, sizeof last);
    MPI_Bcast(last, sizeof last, MPI_CHAR, ranks - 1, MPI_COMM_WORLD);
    return strcmp(mine, last) == 0;
}

int main(int argc, char** argv) {
    int me, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int iterations = argc > 1 ? atoi(argv[1]) : 100;
    const char* const kind = argc > 2 ? argv[2] : "fine";
    const int numbers = (argc > 3 ? atoi(argv[3]) : 8) / (int)sizeof(double);
    const int usual = argc > 4 ? atoi(argv[4]) : 10;
    const int on_slow_host = strcmp(kind, "host") == 0 && on_host_of_last(ranks);
    double* const residual = calloc((size_t)numbers, sizeof *residual);
    double* const sum = calloc((size_t)numbers, sizeof *sum);
    double field[cells + 2] = {0}, next[cells + 2] = {0};
    field[cells / 2] = me + 1;
    const int left = me > 0 ? me - 1 : MPI_PROC_NULL, right = me + 1 < ranks ? me + 1 : MPI_PROC_NULL;
    for (int i = 0; i < iterations; ++i) {
        MPI_Sendrecv(field + 1, 1, MPI_DOUBLE, left, 0, field + cells + 1, 1, MPI_DOUBLE, right, 0, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv(field + cells, 1, MPI_DOUBLE, right, 1, field, 1, MPI_DOUBLE, left, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        const int late = (strcmp(kind, "slow") == 0 && me == 2) || (strcmp(kind, "rotating") == 0 && me == i % ranks) ||
                         on_slow_host;
        compute(field, next, usual + (late ? usual * 4 / 5 : 0));
        for (int k = 0; k < numbers; ++k) residual[k] = field[1 + k % cells];
        MPI_Allreduce(residual, sum, numbers, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
    if (me == 0) printf("%.6f\n", sum[0]);
    free(residual);
    free(sum);
    MPI_Finalize();
    return 0;
}
