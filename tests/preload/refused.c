/* Reductions that the MPI library may refuse: the drop-in returns what the library does, and the program goes on.
   Prints the class of each error. */
#include <mpi.h>
#include <stdio.h>

enum { n = 6000, rounds = 12 };

int main(int argc, char** argv) {
    static double in[2 * n], out[2 * n];
    int me;
    MPI_Comm comm;
    MPI_Datatype derived;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    MPI_Type_contiguous(2, MPI_INT, &derived);
    MPI_Type_commit(&derived);
    const struct {
        const char* name;
        MPI_Op op;
        MPI_Datatype type;
    } cases[] = {
        {"replace", MPI_REPLACE, MPI_INT},        {"no_op", MPI_NO_OP, MPI_INT},
        {"minloc of int", MPI_MINLOC, MPI_INT},
#ifndef MPICH_VERSION /* it crashes */
        {"and of double", MPI_LAND, MPI_DOUBLE},
#endif
        {"bits of double", MPI_BAND, MPI_DOUBLE}, {"sum of pairs", MPI_SUM, MPI_2INT},
        {"sum of derived", MPI_SUM, derived},     {"max of complex", MPI_MAX, MPI_C_DOUBLE_COMPLEX},
        {"sum of int", MPI_SUM, MPI_INT},
    };
    for (int i = 0; i < rounds; ++i) {
        for (unsigned k = 0; k < sizeof cases / sizeof *cases; ++k) {
            int class, sum = 0;
            for (int j = 0; j < 2 * n; ++j) in[j] = out[j] = 0;
            /* Of these mode auto learns. */
            for (int j = 0; j < 3; ++j) MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm);
            MPI_Error_class(MPI_Allreduce(in, out, n, cases[k].type, cases[k].op, comm), &class);
            if (i == rounds - 1) printf("rank %d, %s: %d\n", me, cases[k].name, class);
            MPI_Allreduce(&me, &sum, 1, MPI_INT, MPI_SUM, comm);
        }
    }
    MPI_Type_free(&derived);
    MPI_Finalize();
    return 0;
}
