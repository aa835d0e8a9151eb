/* handlers jump|throw [world]: an error handler of the program, on a communicator of its own or on the world, leaves a
   wrong call by longjmp or, compiled as C++, by an exception; on rank 0 it returns every other time. What follows is
   right on all ranks, also where it is called from deeper functions. */
#include <mpi.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#ifdef __cplusplus
#include <stdexcept>
#endif

enum { n = 6000, calls = 300 };

static int me, ranks, handled, throws;
static jmp_buf back;
static int in[n], out[n];

static void leave(MPI_Comm* comm, int* code, ...) {
    (void)comm, (void)code;
    if (++handled % 2 == 0 && me == 0) return;
#ifdef __cplusplus
    if (throws) throw std::runtime_error("an error");
#endif
    longjmp(back, 1);
}

static void make_wrong_call(int which, MPI_Comm comm) {
    if (which % 2 == 0)
        MPI_Allreduce(in, out, n, MPI_INT, MPI_OP_NULL, comm);
    else
        MPI_Bcast(out, n, MPI_INT, ranks, comm);
}

/* A wrong call, from which the handler comes back here. */
static void go_wrong(int which, MPI_Comm comm) {
#ifdef __cplusplus
    if (throws) {
        try {
            make_wrong_call(which, comm);
        } catch (const std::runtime_error&) {
        }
        return;
    }
#endif
    if (setjmp(back) == 0) make_wrong_call(which, comm);
}

/* A right call, so deep in the stack. */
static int add_up(int depth, int i, MPI_Comm comm) {
    volatile char room[3000];
    int wrong = 0;
    room[depth] = 0;
    if (depth > 0) return add_up(depth - 1, i, comm) + room[depth];
    for (int k = 0; k < n; ++k) in[k] = me + i + k;
    MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm);
    for (int k = 0; k < n; ++k) wrong += out[k] != ranks * (i + k) + ranks * (ranks - 1) / 2;
    out[0] = i;
    MPI_Bcast(out, n, MPI_INT, i % ranks, comm);
    return wrong;
}

int main(int argc, char** argv) {
    MPI_Errhandler handler;
    MPI_Comm comm;
    int wrong = 0;
    throws = argc > 1 && strcmp(argv[1], "throw") == 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_create_errhandler(leave, &handler);
    if (argc > 2)
        comm = MPI_COMM_WORLD;
    else
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Comm_set_errhandler(comm, handler);
    for (int i = 0; i < calls; ++i) {
        if (i % 60 / 2 == 5) go_wrong(i, comm); /* not at first: mode auto waits long where it knows no time of calls */
        wrong += add_up(i % 20, i, comm);
    }
    printf("rank %d: %d errors handled, %d wrong\n", me, handled, wrong);
    MPI_Finalize();
    return wrong != 0;
}
