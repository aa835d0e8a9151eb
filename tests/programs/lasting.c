/* A program that runs for long: collectives of every form, on communicators that are made and freed, while one rank
 * after the other is late. Its memory should not grow. Results are checked.
 *
 *   mpirun -n P lasting SECONDS
 */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { most = 1 << 15 };
static double in[most], out[most];
static int me, ranks;

static void check(int right, const char* what, long round) {
    if (right) return;
    fprintf(stderr, "lasting: %s is wrong on rank %d in round %ld\n", what, me, round);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void sleep_us(long us) {
    const struct timespec t = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

static double sum_of_ranks(int size, long round) {
    return size * (size - 1) / 2. + (double)size * (double)(round % 100);
}

static void fill(int count, double value) {
    for (int i = 0; i < count; ++i) in[i] = value;
}

static void sum(MPI_Comm comm, int count, long round) {
    int mine, size;
    MPI_Comm_rank(comm, &mine);
    MPI_Comm_size(comm, &size);
    fill(count, mine + (double)(round % 100));
    MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm);
    check(out[0] == sum_of_ranks(size, round) && out[count - 1] == out[0], "an allreduce", round);
}

static void spread(MPI_Comm comm, int count, long round) {
    int mine, size;
    MPI_Comm_rank(comm, &mine);
    MPI_Comm_size(comm, &size);
    const int root = (int)(round / 50 % size);
    fill(count, mine == root ? (double)round : -1);
    MPI_Bcast(in, count, MPI_DOUBLE, root, comm);
    check(in[0] == (double)round && in[count - 1] == in[0], "a bcast", round);
}

static void sum_later(MPI_Comm comm, int count, long round) {
    int mine, size;
    MPI_Request request;
    MPI_Comm_rank(comm, &mine);
    MPI_Comm_size(comm, &size);
    fill(count, mine + (double)(round % 100));
    MPI_Iallreduce(in, out, count, MPI_DOUBLE, MPI_SUM, comm, &request);
    sleep_us(200);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(out[0] == sum_of_ranks(size, round) && out[count - 1] == out[0], "an iallreduce", round);
}

static void collect(MPI_Comm comm, int count, long round) {
    int mine, size;
    MPI_Comm_rank(comm, &mine);
    MPI_Comm_size(comm, &size);
    count /= size;
    fill(count, mine);
    MPI_Gather(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, 0, comm);
    for (int r = 0; mine == 0 && r < size; ++r) check(out[r * count] == r, "a gather", round);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const double seconds = argc > 1 ? atof(argv[1]) : 10;
    const double begin = MPI_Wtime();
    long round = 0;
    for (int more = 1; more; ++round) {
        const int late = (int)(round / 20 * 7 % ranks); /* another one every 20 rounds */
        const int count = round % 3 == 0 ? most : most / 8;
        MPI_Comm twin, half;
        if (me == late) sleep_us(3000);
        sum(MPI_COMM_WORLD, count, round);
        spread(MPI_COMM_WORLD, count, round);
        sum_later(MPI_COMM_WORLD, count, round);
        if (round % 10 == 0) {
            MPI_Comm_dup(MPI_COMM_WORLD, &twin);
            MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
            for (int i = 0; i < 12; ++i) {
                if (me == late) sleep_us(1000);
                sum(half, count, round);
                collect(twin, count, round);
            }
            MPI_Comm_free(&half);
            MPI_Comm_free(&twin);
        }
        sleep_us(5000);
        more = MPI_Wtime() - begin < seconds;
        MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    if (me == 0) printf("%s\n", "all results are right");
    if (me == 0) printf("time: rounds=%ld\n", round);
    MPI_Finalize();
    return 0;
}
