/* The PAT calls from C, in the shape of Proficz 2020, Fig. 4: scatter, compute and tell when half is done, gather.
 *
 *   mpirun -n 4 pat_c [ALGORITHM]
 *
 * Rank 0 hands out numbers; every rank counts the steps that each takes to 1 (halve it if it is even, else 3 n + 1).
 * That is more work for some numbers than for others, so ranks are late as in real programs. */
#include <mpi.h>
#include <rubato/pat.h>

#include <stdio.h>
#include <stdlib.h>

enum { iterations = 50, share = 2000 /* numbers per rank */ };

static void check(int code, const char* call) {
    if (code == MPI_SUCCESS) return;
    fprintf(stderr, "pat_c: %s failed with code %d\n", call, code);
    MPI_Abort(MPI_COMM_WORLD, 2);
}

static int steps_to_one(int number) {
    unsigned long long n = (unsigned long long)number;
    int steps = 0;
    for (; n != 1; ++steps) n = n % 2 == 0 ? n / 2 : 3 * n + 1;
    return steps;
}

int main(int argc, char** argv) {
    int provided, me, ranks, wrong = 0;
    /* Rubato may communicate while this thread computes. */
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int* all_numbers = malloc(2 * sizeof(int) * share * (size_t)ranks);
    if (all_numbers == NULL) {
        check(MPI_ERR_NO_MEM, "malloc");
        return 1;
    }
    int* all_steps = all_numbers + (size_t)share * (size_t)ranks;
    int numbers[share], steps[share];

    check(PAT_Init(), "PAT_Init");
    check(PAT_UseAlg(argc > 1 ? argv[1] : "gather/sorted_linear_sync+early"), "PAT_UseAlg");
    /* A promise: each time the computation ends, this gather comes first. So it may begin before. */
    check(PAT_Repeat(1), "PAT_Repeat");
    for (int i = 0; i < iterations; ++i) {
        for (int k = 0; me == 0 && k < share * ranks; ++k) all_numbers[k] = 1 + k + i * share * ranks;
        MPI_Scatter(all_numbers, share, MPI_INT, numbers, share, MPI_INT, 0, MPI_COMM_WORLD);

        check(PAT_ProcessingStart(), "PAT_ProcessingStart");
        for (int k = 0; k < share / 2; ++k) steps[k] = steps_to_one(numbers[k]);
        check(PAT_Edge(0.5), "PAT_Edge");
        for (int k = share / 2; k < share; ++k) steps[k] = steps_to_one(numbers[k]);
        check(PAT_ProcessingEnd(), "PAT_ProcessingEnd");

        check(PAT_Gather(steps, share, MPI_INT, all_steps, share, MPI_INT, 0, MPI_COMM_WORLD), "PAT_Gather");

        for (int k = 0; me == 0 && k < share * ranks; ++k) wrong += all_steps[k] != steps_to_one(all_numbers[k]);
    }
    check(PAT_Finalize(), "PAT_Finalize");

    if (me == 0) printf("%d iterations on %d ranks, %d wrong numbers\n", (int)iterations, ranks, wrong);
    MPI_Bcast(&wrong, 1, MPI_INT, 0, MPI_COMM_WORLD);
    free(all_numbers);
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
