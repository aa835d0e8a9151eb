/* started [CASE]: what a program may do between a non-blocking collective and the wait for it. Exits with 1 if a result
 * is wrong; waits forever if a call waited for another rank, or its end was not told. Two ranks. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { elements = 20000 };
static int me;
static MPI_Request late;

static void fail(const char* what) {
    fprintf(stderr, "rank %d: %s\n", me, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The datatype is freed before the call has ended, and its memory used again. */
static void freed_datatype(void) {
    static int data[2 * elements];
    MPI_Datatype every_second, others[8];
    MPI_Request r;
    for (int i = 0; i < 2 * elements; ++i) data[i] = me == 0 ? i : -1;
    MPI_Type_vector(elements, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    if (me == 0) usleep(100000);
    MPI_Ibcast(data, 1, every_second, 0, MPI_COMM_WORLD, &r);
    MPI_Type_free(&every_second);
    for (int i = 0; i < 8; ++i) {
        MPI_Type_vector(3 + i, 2, 5, MPI_CHAR, &others[i]);
        MPI_Type_commit(&others[i]);
    }
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2 * elements; ++i)
        if (data[i] != (i % 2 == 0 || me == 0 ? i : -1)) fail("a wrong element");
    for (int i = 0; i < 8; ++i) MPI_Type_free(&others[i]);
}

/* Rank 1 starts it after a message that rank 0 sends when it has started it. */
static void no_waiting(void) {
    static double in[elements], out[elements];
    int nothing = 0;
    MPI_Request r;
    if (me == 1) MPI_Recv(&nothing, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < elements; ++i) in[i] = me + i;
    MPI_Iallreduce(in, out, elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r);
    if (me == 0) MPI_Send(&nothing, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    MPI_Wait(&r, MPI_STATUS_IGNORE);
    for (int i = 0; i < elements; ++i)
        if (out[i] != 1 + 2.0 * i) fail("a wrong sum");
}

static void* wait_and_send(void* unused) {
    int nothing = 0;
    MPI_Wait(&late, MPI_STATUS_IGNORE);
    MPI_Send(&nothing, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
    return unused;
}

/* One thread of rank 0 waits for it, while another is in a blocking call that ends only after that. */
static void two_threads(void) {
    static double in[elements], out[elements], more[elements], sum[elements];
    int nothing = 0;
    pthread_t other;
    for (int i = 0; i < elements; ++i) more[i] = -(in[i] = me + i);
    if (me == 1) usleep(100000);
    MPI_Iallreduce(in, out, elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &late);
    if (me == 0) pthread_create(&other, NULL, wait_and_send, NULL);
    if (me == 1) {
        usleep(100000);
        MPI_Wait(&late, MPI_STATUS_IGNORE);
        MPI_Recv(&nothing, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Allreduce(more, sum, elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0) pthread_join(other, NULL);
    for (int i = 0; i < elements; ++i)
        if (out[i] != 1 + 2.0 * i || sum[i] != -out[i]) fail("a wrong sum");
}

/* Only if something goes on with it while the program makes no call: then the last element arrives. */
static void goes_on(void) {
    static double data[50 * elements];
    volatile double* last = &data[50 * elements - 1];
    MPI_Request r;
    data[50 * elements - 1] = me == 0;
    MPI_Ibcast(data, 50 * elements, MPI_DOUBLE, 0, MPI_COMM_WORLD, &r);
    for (int ms = 0; *last == 0 || (me == 0 && ms < 2000); ++ms) {
        if (ms > 20000) fail("nothing goes on while the program computes");
        usleep(1000);
    }
    MPI_Wait(&r, MPI_STATUS_IGNORE);
}

/* The ranks disagree on the length. */
static void too_long(void) {
    static int data[elements];
    MPI_Request r;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    for (int call = 0; call < 2; ++call) {
        if (MPI_Ibcast(data, me == 0 ? elements : elements / 2, MPI_INT, 0, MPI_COMM_WORLD, &r) != MPI_SUCCESS)
            fail("refused at once");
        if ((MPI_Wait(&r, MPI_STATUS_IGNORE) == MPI_SUCCESS) != (me == 0))
            fail("no error on the rank that has too little");
        if (r != MPI_REQUEST_NULL) fail("a request that is left");
    }
}

int main(int argc, char** argv) {
    static const struct {
        const char* name;
        void (*run)(void);
    } cases[] = {{"freed_datatype", freed_datatype},
                 {"no_waiting", no_waiting},
                 {"two_threads", two_threads},
                 {"too_long", too_long}};
    static double in[elements], out[elements];
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    /* A blocking call, so that there is something that makes the others. */
    MPI_Allreduce(in, out, elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Bcast(in, elements, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    for (unsigned i = 0; i < sizeof cases / sizeof *cases; ++i)
        if (argc < 2 || strcmp(argv[1], cases[i].name) == 0) cases[i].run();
    if (argc > 1 && strcmp(argv[1], "goes_on") == 0) goes_on();
    MPI_Finalize();
    return 0;
}
