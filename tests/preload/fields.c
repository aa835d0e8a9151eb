/* fields: MPI_Alltoall from one field of structs into another one. On rank 0 both are fields of the same array, so that
 * both buffers have one address; the other ranks have two arrays. Prints what each rank has. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

enum { n = 4096 };
struct pair {
    int sent, got;
};

static MPI_Datatype field(size_t at) {
    const int length = 1;
    const MPI_Aint displacement = (MPI_Aint)at;
    const MPI_Datatype type = MPI_INT;
    MPI_Datatype one, made;
    MPI_Type_create_struct(1, &length, &displacement, &type, &one);
    MPI_Type_create_resized(one, 0, sizeof(struct pair), &made);
    MPI_Type_free(&one);
    MPI_Type_commit(&made);
    return made;
}

int main(int argc, char** argv) {
    int me, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const size_t all = (size_t)n * (size_t)ranks;
    struct pair* const mine = calloc(all, sizeof *mine);
    struct pair* const other = me == 0 ? mine : calloc(all, sizeof *other);
    MPI_Datatype from = field(offsetof(struct pair, sent)), to = field(offsetof(struct pair, got));
    for (int round = 0; round < 8; ++round) {
        long sum = 0;
        for (size_t i = 0; i < all; ++i) mine[i].sent = (int)i % 1000 + me + round;
        MPI_Alltoall(mine, n, from, other, n, to, MPI_COMM_WORLD);
        for (size_t i = 0; i < all; ++i) sum += other[i].got * (long)(i % 7 + 1);
        printf("rank %d, round %d: %ld\n", me, round, sum);
    }
    MPI_Type_free(&from);
    MPI_Type_free(&to);
    if (other != mine) free(other);
    free(mine);
    MPI_Finalize();
    return 0;
}
