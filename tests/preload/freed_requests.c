/* Requests of collectives that are freed or cancelled while they are under way, and afterwards. Prints what each call
   returns, and whether the handler of MPI_COMM_WORLD was called. */
#include <mpi.h>
#include <stdio.h>

#ifndef MPICH_VERSION
int MPIX_Allreduce_init(const void*, void*, int, MPI_Datatype, MPI_Op, MPI_Comm, MPI_Info, MPI_Request*);
#define MPI_Allreduce_init MPIX_Allreduce_init
#endif

enum { n = 20000 };

static int me, handled;
static int in[n], out[n];
static MPI_Comm used, beside;

static void count_error(MPI_Comm* comm, int* code, ...) {
    (void)code;
    if (*comm == MPI_COMM_WORLD) ++handled;
}

static void say(const char* what, int code, MPI_Request r) {
    int class;
    MPI_Error_class(code, &class);
    printf("%s: %d, %s, %d\n", what, class, r == MPI_REQUEST_NULL ? "null" : "stays", handled);
    fflush(stdout);
}

/* Rank 1 goes on when rank 0 has said so. */
static void let_go(void) {
    if (me == 0)
        MPI_Send(NULL, 0, MPI_INT, 1, 0, beside);
    else
        MPI_Recv(NULL, 0, MPI_INT, 0, 0, beside, MPI_STATUS_IGNORE);
}

static void finish(MPI_Request* r) {
    int flag = 0;
    while (!flag) MPI_Request_get_status(*r, &flag, MPI_STATUS_IGNORE);
}

static void check(void) {
    int wrong = 0;
    for (int i = 0; i < n; ++i) wrong += out[i] != 2 * i + 1, out[i] = 0;
    if (wrong) printf("rank %d: %d wrong\n", me, wrong);
}

static void start(MPI_Request* r) {
    if (me != 0) let_go();
    MPI_Iallreduce(in, out, n, MPI_INT, MPI_SUM, used, r);
}

int main(int argc, char** argv) {
    MPI_Request r;
    MPI_Errhandler handler;
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_create_errhandler(count_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_dup(MPI_COMM_WORLD, &used);
    MPI_Comm_dup(MPI_COMM_WORLD, &beside);
    for (int i = 0; i < n; ++i) in[i] = i + me;
    MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, used); /* from now on Rubato may make the others, too */
    check();
    start(&r);
    if (me == 0) {
        say("free, under way", MPI_Request_free(&r), r);
        say("cancel, under way", MPI_Cancel(&r), r);
        let_go();
    }
    say("wait", MPI_Wait(&r, MPI_STATUS_IGNORE), r);
    check();
    start(&r);
    if (me == 0) let_go();
    finish(&r);
    if (me == 0) say("cancel, ended", MPI_Cancel(&r), r);
    if (me == 0) say("free, ended", MPI_Request_free(&r), r);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    check();
    MPI_Allreduce_init(in, out, n, MPI_INT, MPI_SUM, used, MPI_INFO_NULL, &r);
    if (me == 0) say("cancel, not started", MPI_Cancel(&r), r);
    for (int i = 0; i < 3; ++i) {
        if (me != 0) let_go();
        MPI_Start(&r);
#ifndef MPICH_VERSION /* it crashes */
        if (me == 0) say("free, started", MPI_Request_free(&r), r);
        if (me == 0) say("cancel, started", MPI_Cancel(&r), r);
#endif
        if (me == 0) let_go();
        MPI_Wait(&r, MPI_STATUS_IGNORE);
        check();
    }
    if (me != 0) let_go();
    MPI_Start(&r);
    if (me == 0) let_go();
    finish(&r);
    check();
    say("free, started and ended", MPI_Request_free(&r), r);
    MPI_Finalize();
    return 0;
}
