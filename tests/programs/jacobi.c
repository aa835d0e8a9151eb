/* Heat in a plate: Jacobi's iteration on rows of a grid, halos by messages, the residual by allreduce, a profile of the
 * columns now and then, and the plate gathered in the end. Prints what came out.
 *
 *   mpirun -n P jacobi [COLUMNS] [ITERATIONS]
 */
#include <mpi.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static int rows_of(int rows, int rank, int ranks) { return rows / ranks + (rank < rows % ranks ? 1 : 0); }

static double* grid(int rows, int columns) { return calloc((size_t)rows * (size_t)columns, sizeof(double)); }

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int me = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int sizes[2] = {argc > 1 ? atoi(argv[1]) : 2500, argc > 2 ? atoi(argv[2]) : 60};
    MPI_Bcast(sizes, 2, MPI_INT, 0, MPI_COMM_WORLD);
    const int n = sizes[0];
    const int all_rows = 64;
    const int rows = rows_of(all_rows, me, ranks);

    /* A row of others' above and below. */
    double* now = grid(rows + 2, n);
    double* next = grid(rows + 2, n);
    double* profile = grid(1, n);
    if (me == 0)
        for (int j = 0; j < n; ++j) now[j] = next[j] = 100.0 * sin(3.14159 * j / n);
    const int above = me > 0 ? me - 1 : MPI_PROC_NULL;
    const int below = me + 1 < ranks ? me + 1 : MPI_PROC_NULL;

    double residual = 0;
    for (int iteration = 1; iteration <= sizes[1]; ++iteration) {
        MPI_Sendrecv(now + n, n, MPI_DOUBLE, above, 1, now + (rows + 1) * n, n, MPI_DOUBLE, below, 1, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        MPI_Sendrecv(now + rows * n, n, MPI_DOUBLE, below, 2, now, n, MPI_DOUBLE, above, 2, MPI_COMM_WORLD,
                     MPI_STATUS_IGNORE);
        double change = 0;
        for (int i = 1; i <= rows; ++i)
            for (int j = 1; j + 1 < n; ++j) {
                const double* at = now + i * n + j;
                next[i * n + j] = 0.25 * (at[-1] + at[1] + at[-n] + at[n]);
                change += (next[i * n + j] - *at) * (next[i * n + j] - *at);
            }
        MPI_Allreduce(&change, &residual, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        double* swap = now;
        now = next;
        next = swap;
        if (iteration % 3 == 0) {
            for (int j = 0; j < n; ++j) profile[j] = 0;
            for (int i = 1; i <= rows; ++i)
                for (int j = 0; j < n; ++j) profile[j] += now[i * n + j];
            MPI_Allreduce(MPI_IN_PLACE, profile, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
        if (me == 0 && iteration % 10 == 0)
            printf("iteration %d: residual %.14g, middle column %.14g\n", iteration, residual, profile[n / 2]);
    }

    int* counts = calloc((size_t)ranks, sizeof(int));
    int* places = calloc((size_t)ranks, sizeof(int));
    for (int r = 0, place = 0; r < ranks; ++r) {
        counts[r] = rows_of(all_rows, r, ranks) * n;
        places[r] = place;
        place += counts[r];
    }
    double* plate = me == 0 ? grid(all_rows, n) : NULL;
    MPI_Gatherv(now + n, rows * n, MPI_DOUBLE, plate, counts, places, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (me == 0) {
        double heat = 0;
        for (int i = 0; i < all_rows * n; ++i) heat += plate[i];
        printf("heat %.14g\n", heat);
    }
    free(plate);
    free(places);
    free(counts);
    free(profile);
    free(next);
    free(now);
    MPI_Finalize();
    return 0;
}
