/* Gathers whose root is late: what comes of the thread level that the program asks for, and of what a thread could do
 * for the root.
 *
 *   mpirun -n P late_root [funneled]
 *
 * With WINDOWS it also makes one for one-sided communication.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { numbers = 1 << 19, calls = 40 };

int main(int argc, char** argv) {
    int level = -1, provided = -1, me, ranks, wrong = 0;
    if (argc > 1)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
    else
        MPI_Init(&argc, &argv);
    MPI_Query_thread(&level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int* const own = malloc(numbers * sizeof *own);
    int* const all = malloc((size_t)ranks * numbers * sizeof *all);
    for (int k = 0; k < calls; ++k) {
        for (int i = 0; i < numbers; ++i) own[i] = me + i + k;
        const struct timespec delay = {0, 20000000};
        MPI_Barrier(MPI_COMM_WORLD);
        if (me == 0) nanosleep(&delay, NULL);
        MPI_Gather(own, numbers, MPI_INT, all, numbers, MPI_INT, 0, MPI_COMM_WORLD);
        for (int i = 0; me == 0 && i < ranks * numbers; ++i) wrong += all[i] != i / numbers + i % numbers + k;
    }
    const char* const name = level == MPI_THREAD_MULTIPLE ? "multiple" : "less";
    if (argc > 1 && provided != level) wrong = 1;
#ifdef WINDOWS
    MPI_Win window;
    MPI_Win_create(own, numbers * sizeof *own, sizeof *own, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_free(&window);
#endif
    printf("%s, %d wrong\n", name, wrong);
    MPI_Finalize();
    return 0;
}
