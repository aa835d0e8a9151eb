/* left_alone: counts allocations of memory in small calls, which the drop-in leaves to the MPI library. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

extern void* __libc_malloc(size_t bytes);
static volatile long allocations;

void* malloc(size_t bytes) {
    ++allocations;
    return __libc_malloc(bytes);
}

enum { n = 64, warm = 100, counted = 300 };

int main(int argc, char** argv) {
    static double in[n], out[n];
    long before = 0;
    int me;
    MPI_Comm twin;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_dup(MPI_COMM_WORLD, &twin);
    for (int i = 0; i < warm + counted; ++i) {
        if (i == warm) before = allocations;
        MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_SUM, i % 2 ? twin : MPI_COMM_WORLD);
        MPI_Bcast(in, 1 + i % n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        MPI_Barrier(twin);
    }
    printf("rank %d: %ld\n", me, allocations - before);
    MPI_Comm_free(&twin);
    MPI_Finalize();
    return 0;
}
