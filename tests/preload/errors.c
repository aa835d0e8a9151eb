/* errors one|many: errors return on one communicator, and end the program on the others. Rank 0 broadcasts more than
   rank 1 expects on the one, which rank 1 is told, 20 times; then a wrong root on another one must end the program.
   With many, MPI allows calls of several threads. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { n = 5000, longer = 100 };

int main(int argc, char** argv) {
    static int data[n + longer];
    int me, level, class, told = 0;
    MPI_Comm returns, inherits;
    MPI_Init_thread(&argc, &argv, strcmp(argv[1], "many") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_dup(MPI_COMM_WORLD, &returns);
    MPI_Comm_set_errhandler(returns, MPI_ERRORS_RETURN);
    for (int i = 0; i < 5; ++i) MPI_Bcast(data, n, MPI_INT, 0, returns);
    for (int i = 0; i < 20; ++i) {
        MPI_Error_class(MPI_Bcast(data, me == 0 ? n + longer : n, MPI_INT, 0, returns), &class);
        told += class == MPI_ERR_TRUNCATE;
    }
    if (me == 1) printf("too long: %d of 20\n", told);
    fflush(stdout);
    MPI_Comm_dup(MPI_COMM_WORLD, &inherits);
    MPI_Bcast(data, n, MPI_INT, -1, inherits);
    printf("alive\n");
    MPI_Finalize();
    return 0;
}
