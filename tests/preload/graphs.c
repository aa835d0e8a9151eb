/* graphs EXTRA [twin]: distributed graphs, made one after the other from the world, or a communicator like it, after so
 * many other communicators. */
#include <mpi.h>
#include <stdlib.h>

enum { most = 16 };

int main(int argc, char** argv) {
    int me, ranks, edges[most][most], ones[most * most], all_one[most * most];
    MPI_Comm from = MPI_COMM_WORLD, made;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc > 2) MPI_Comm_dup(MPI_COMM_WORLD, &from);
    for (int i = 0; i < atoi(argv[1]); ++i) MPI_Comm_dup(from, &made);
    for (int i = 0; i < most * most; ++i) ones[i] = 1, all_one[i] = me;
    for (int k = 0; k < 12; ++k) {
        int sources[most], weights[most], count = 0;
        srand((unsigned)k);
        for (int i = 0; i < ranks; ++i)
            for (int j = 0; j < ranks; ++j) edges[i][j] = rand() % 3 == 0 ? 0 : 1 + rand() % 20;
        for (int i = 0; i < ranks; ++i)
            if (edges[i][me] != 0) sources[count] = i, weights[count++] = edges[i][me];
        MPI_Dist_graph_create(from, count, sources, ones, all_one, weights, MPI_INFO_NULL, k % 2, &made);
        MPI_Comm_free(&made);
    }
    MPI_Finalize();
    return 0;
}
