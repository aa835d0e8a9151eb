/* Collectives among the even ranks and among the odd ones, and one whose ranks call it from two places. Placed on a
 * network with two ranks below a switch, even ranks belong together. */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
    int me = 0, value = 1, total = 0;
    MPI_Comm half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
    for (int i = 0; i < 10; ++i) MPI_Allreduce(&value, &total, 1, MPI_INT, MPI_SUM, half);
    for (int i = 0; i < 5; ++i)
        if (me == 0)
            MPI_Bcast(&total, 1, MPI_INT, 0, MPI_COMM_WORLD);
        else
            MPI_Bcast(&total, 1, MPI_INT, 0, MPI_COMM_WORLD);
    printf("rank %d has %d\n", me, total);
    MPI_Comm_free(&half);
    MPI_Finalize();
    return 0;
}
