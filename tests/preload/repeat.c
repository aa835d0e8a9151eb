// repeat CALLS [kill]: the same collectives again and again on two communicators, of which one is freed before the end.
// The last rank is late. With kill, a rank is killed at the end.
#include <mpi.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { count = 8192 };
static double in[count], out[count];

static int wrong_numbers(MPI_Comm comm) {
    int ranks, me, wrong = 0;
    MPI_Comm_size(comm, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    for (int i = 0; i < count; ++i) in[i] = i % 5;
    if (me == ranks - 1) usleep(2000);
    MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm);
    for (int i = 0; i < count; ++i) wrong += out[i] != ranks * (i % 5);
    return wrong;
}

int main(int argc, char** argv) {
    int me, wrong = 0;
    const int calls = argc > 1 ? atoi(argv[1]) : 20;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm reversed;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -me, &reversed);
    for (int i = 0; i < calls; ++i) wrong += wrong_numbers(reversed);
    MPI_Comm_free(&reversed);
    for (int i = 0; i < calls; ++i) wrong += wrong_numbers(MPI_COMM_WORLD);
    if (argc > 2 && strcmp(argv[2], "kill") == 0 && me == 0) raise(SIGKILL);
    printf("%d wrong numbers\n", wrong);
    MPI_Finalize();
    return 0;
}
