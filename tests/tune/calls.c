/* calls COLLECTIVE BYTES TIMES: makes that many calls, and checks their results. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
    int me, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int count = atoi(argv[2]) / (int)sizeof(int);
    int* in = malloc(sizeof(int) * (size_t)count);
    int* out = malloc(sizeof(int) * (size_t)count);
    int wrong = 0;
    for (int t = 0; t < atoi(argv[3]); ++t) {
        for (int i = 0; i < count; ++i) in[i] = me + i % 7, out[i] = -1;
        if (strcmp(argv[1], "bcast") == 0) {
            MPI_Bcast(in, count, MPI_INT, 0, MPI_COMM_WORLD);
            for (int i = 0; i < count; ++i) wrong |= in[i] != i % 7;
            continue;
        }
        if (strcmp(argv[1], "reduce") == 0)
            MPI_Reduce(in, out, count, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
        else
            MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        if (me > 0 && strcmp(argv[1], "reduce") == 0) continue;
        for (int i = 0; i < count; ++i) wrong |= out[i] != ranks * (ranks - 1) / 2 + ranks * (i % 7);
    }
    free(in);
    free(out);
    if (wrong) printf("wrong results on rank %d\n", me);
    MPI_Finalize();
    return wrong;
}
