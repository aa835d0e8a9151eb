/* handler_race: a thread sets the error handler of MPI_COMM_WORLD again and again, and asks for it, while another one
 * makes collectives on new communicators. What was set stays: the thread sees no other handler, and an error in the end
 * calls the one that was set last.
 *
 * With MPICH Rubato may replace MPI_ERRORS_ARE_FATAL by a handler of its own, at its first call on a communicator. In a
 * program with MPI_THREAD_MULTIPLE it replaces no other. So the thread sets MPI_ERRORS_ARE_FATAL, too, and does not ask
 * for the handler then. */
#include <mpi.h>

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { n = 4096, rounds = 150, questions = 2 };
static MPI_Errhandler first, second;
static int of_first, of_second;
static long sets, others;
static atomic_int has_begun, is_over;

static void note_first(MPI_Comm* comm, int* code, ...) { (void)comm, (void)code, ++of_first; }
static void note_second(MPI_Comm* comm, int* code, ...) { (void)comm, (void)code, ++of_second; }

/* Whether it is still there is of interest where no other may take its place. */
static void set(MPI_Errhandler handler, int stays) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    for (int i = 0; i < questions; ++i) {
        MPI_Errhandler now;
        MPI_Comm_get_errhandler(MPI_COMM_WORLD, &now);
        others += stays && now != handler;
        MPI_Errhandler_free(&now);
    }
    ++sets;
}

static void* set_handlers(void* unused) {
    while (!is_over) {
        set(MPI_ERRORS_ARE_FATAL, 0);
        set(first, 1);
        set(MPI_ERRORS_ARE_FATAL, 0);
        set(second, 1);
        has_begun = 1;
#ifndef MPICH_VERSION /* a rank that waits in a collective gives way to all that compute */
        usleep(20);
#endif
    }
    return unused;
}

int main(int argc, char** argv) {
    static int in[n], out[n];
    const MPI_Datatype types[] = {MPI_INT, MPI_FLOAT};
    const MPI_Op ops[] = {MPI_SUM, MPI_MAX, MPI_MIN, MPI_PROD};
    int me, ranks, level;
    pthread_t setting;
    MPI_Comm comm;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_create_errhandler(note_first, &first);
    MPI_Comm_create_errhandler(note_second, &second);
    pthread_create(&setting, NULL, set_handlers, NULL);
    while (!has_begun) sched_yield();
    for (int k = 0; k < rounds; ++k) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        for (int i = 0; i < (k == 0 ? 50 : 2); ++i) /* of a few calls mode auto decides nothing */
            MPI_Allreduce(in, out, n, types[i % 2], ops[(i + k) % 4], comm);
        MPI_Bcast(in, n, MPI_INT, k % ranks, comm);
        MPI_Comm_free(&comm);
    }
    is_over = 1;
    pthread_join(setting, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    of_first = of_second = 0;
    MPI_Bcast(in, n, MPI_INT, ranks, MPI_COMM_WORLD);
    printf("rank %d: %ld set, %ld others seen, %s\n", me, sets, others,
           of_first == 0 && of_second == 1 ? "right" : "another handler was called");
    MPI_Finalize();
    return others != 0 || of_first != 0 || of_second != 1;
}
