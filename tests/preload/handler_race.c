/* handler_race: a thread sets the error handler of MPI_COMM_WORLD again and again, while another one makes collectives
 * of many kinds. What was set last stays: an error calls it. */
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>

enum { n = 2048, times = 3000, rounds = 40 };
static MPI_Errhandler first, second;
static int of_first, of_second;

static void note_first(MPI_Comm* comm, int* code, ...) { (void)comm, (void)code, ++of_first; }
static void note_second(MPI_Comm* comm, int* code, ...) { (void)comm, (void)code, ++of_second; }

static void* set_handlers(void* unused) {
    for (int i = 0; i < times; ++i) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, first);
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, second);
    }
    return unused;
}

int main(int argc, char** argv) {
    static int in[2 * n], out[2 * n];
    const MPI_Datatype types[] = {MPI_INT,     MPI_UNSIGNED, MPI_FLOAT, MPI_SHORT,
                                  MPI_INT32_T, MPI_UINT16_T, MPI_LONG,  MPI_DOUBLE};
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
    for (int k = 0; k < rounds; ++k) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
        for (unsigned t = 0; t < sizeof types / sizeof *types; ++t)
            MPI_Allreduce(in, out, n / 2, types[t], ops[(t + (unsigned)k) % 4], comm);
        MPI_Bcast(in, n, MPI_INT, k % ranks, comm);
        MPI_Comm_free(&comm);
    }
    pthread_join(setting, NULL);
    MPI_Barrier(MPI_COMM_WORLD);
    of_first = of_second = 0;
    MPI_Bcast(in, n, MPI_INT, ranks, MPI_COMM_WORLD);
    printf("rank %d: %s\n", me, of_first == 0 && of_second == 1 ? "right" : "another handler was called");
    MPI_Finalize();
    return of_first != 0 || of_second != 1;
}
