/* growth [COUNT]: makes, uses and frees communicators, datatypes and operators again and again, each kind some thousand
 * times or COUNT times. What is not freed of each takes 32 bytes at least, so memory would grow in every round. MPI
 * libraries keep blocks for messages: they grow in some, and less and less. Prints what the last four fifths of COUNT
 * took. */
#include <malloc.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { count = 4096, first = 500, round = 1024, rounds = 5, allowed = 24 * round };
static int in[count], out[count], me;

static void use_communicator(void) {
    MPI_Comm comm;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int i = 0; i < 3; ++i) MPI_Allreduce(in, out, count, MPI_INT, MPI_SUM, comm);
    MPI_Comm_free(&comm);
}

static void use_group(void) {
    MPI_Comm comm;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &comm);
    MPI_Bcast(in, 8, MPI_INT, 0, comm);
    MPI_Comm_free(&comm);
}

static void use_datatype(void) {
    MPI_Datatype pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    MPI_Bcast(in, count / 2, pair, 0, MPI_COMM_WORLD);
    MPI_Type_free(&pair);
#ifndef MPICH_VERSION /* it keeps 64 bytes of each at the root */
    MPI_Datatype with_gap;
    MPI_Type_vector(2, 1, 2, MPI_INT, &with_gap);
    MPI_Type_commit(&with_gap);
    MPI_Bcast(in, count / 3, with_gap, 0, MPI_COMM_WORLD);
    MPI_Type_free(&with_gap);
#endif
}

static void add(void* from, void* to, int* n, MPI_Datatype* type) {
    (void)type;
    for (int i = 0; i < *n; ++i) ((int*)to)[i] += ((int*)from)[i];
}

static void use_operator(void) {
    MPI_Op op;
    MPI_Op_create(add, 1, &op);
    MPI_Reduce(in, out, count, MPI_INT, op, 0, MPI_COMM_WORLD);
    MPI_Allreduce(in, out, 8, MPI_INT, op, MPI_COMM_WORLD);
    MPI_Op_free(&op);
}

static long in_use(void) {
    MPI_Barrier(MPI_COMM_WORLD); /* nobody runs ahead, and keeps messages for others */
    const struct mallinfo2 now = mallinfo2();
    return (long)(now.uordblks + now.hblkhd);
}

/* Bytes that it took. */
static long growth_of(void (*use)(void), long times) {
    const long before = in_use();
    for (long i = 0; i < times; ++i) {
        use();
        if (i % 64 == 0) MPI_Barrier(MPI_COMM_WORLD);
    }
    return in_use() - before;
}

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        void (*use)(void);
    } all[] = {{"communicators", use_communicator},
               {"groups", use_group},
               {"datatypes", use_datatype},
               {"operators", use_operator}};
    const long times = argc > 1 ? atol(argv[1]) : 0;
    int wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (unsigned k = 0; k < sizeof all / sizeof *all; ++k) {
        int grown = 1;
        if (times > 0) {
            growth_of(all[k].use, times / 5);
            long more = growth_of(all[k].use, times - times / 5);
            MPI_Allreduce(MPI_IN_PLACE, &more, 1, MPI_LONG, MPI_MAX, MPI_COMM_WORLD);
            if (me == 0) printf("%s %ld\n", all[k].name, more);
            continue;
        }
        growth_of(all[k].use, first);
        for (int r = 0; r < rounds && grown; ++r) {
            const long more = growth_of(all[k].use, round);
            printf("rank %d, %s: %ld bytes more after %d\n", me, all[k].name, more, round);
            grown = more > allowed;
            MPI_Allreduce(MPI_IN_PLACE, &grown, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        }
        wrong += grown;
    }
    MPI_Finalize();
    return wrong != 0;
}
