/* A program whose last collectives are called when it exits: what was destroyed then must not be written to. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { most = 64, length = 4096 };

static int gather(void) {
    int me, ranks, counts[most], places[most], sum = 0;
    int* const own = malloc(length * sizeof *own);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int* const all = malloc((size_t)ranks * length * sizeof *all);
    for (int r = 0; r < ranks; ++r) counts[r] = length, places[r] = r * length;
    for (int i = 0; i < length; ++i) own[i] = me + i;
    MPI_Allgatherv(own, length, MPI_INT, all, counts, places, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < ranks * length; ++i) sum += all[i] != i / length + i % length;
    free(own);
    free(all);
    return sum;
}

static void at_exit(void) {
    enum { blocks = 200 };
    long* mine[blocks];
    int wrong = 0;
    for (int i = 0; i < blocks; ++i) {
        mine[i] = malloc((size_t)(i + 1) * sizeof *mine[i]);
        for (int k = 0; k <= i; ++k) mine[i][k] = 42;
    }
    for (int i = 0; i < 4; ++i) wrong += gather();
    for (int i = 0; i < blocks; ++i)
        for (int k = 0; k <= i; ++k) wrong += mine[i][k] != 42;
    printf("%d wrong numbers\n", wrong);
    MPI_Finalize();
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    atexit(at_exit);
    return gather() == 0 ? 0 : 1;
}
