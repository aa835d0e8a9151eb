// overlap COLLECTIVE [BYTES] [REPETITIONS] [sleep|busy]: how much of a non-blocking collective is hidden behind a
// computation that makes no MPI call and takes as long as the blocking one. COLLECTIVE is allreduce, alltoall, bcast or
// gather; bytes are of the vector, or of all chunks. The computation is a sleep, for ranks that share cores, or a loop.
// Results are checked.
//
// overlap_nbc is the same by LibNBC's interface, compiled with OVERLAP_NBC.
#ifdef OVERLAP_NBC
#include "rubato/nbc.h"
#define STARTED(call) NBC_##call
#define NOTHING \
    { NULL, NULL }
typedef NBC_Handle handle;
#else
#include <mpi.h>
#define STARTED(call) MPI_##call
#define NOTHING MPI_REQUEST_NULL
typedef MPI_Request handle;
#endif

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int me, ranks, count;  // elements of the vector or of a chunk
static double *in, *out;

static void wrong(const char* what) {
    fprintf(stderr, "overlap: rank %d: %s\n", me, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void compute(double seconds, int busy) {
    if (busy) {
        const double end = MPI_Wtime() + seconds;
        while (MPI_Wtime() < end) continue;
        return;
    }
    struct timespec t = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&t, NULL);
}

static void prepare(int turn) {
    for (int i = 0; i < count * ranks; ++i) in[i] = me + turn + i % 7;
    memset(out, 0, sizeof(double) * (size_t)(count * ranks));
}

/// What element i of the result is; of rank r's chunk, if there is one for each.
static double expected(const char* what, int turn, int r, int i) {
    if (strcmp(what, "allreduce") == 0) return ranks * (turn + i % 7) + ranks * (ranks - 1) / 2.;
    if (strcmp(what, "alltoall") == 0) return r + turn + (me * count + i) % 7;
    if (strcmp(what, "gather") == 0) return r + turn + i % 7;
    return turn + i % 7;  // bcast
}

static void check(const char* what, int turn) {
    const int chunks = strcmp(what, "alltoall") == 0 || strcmp(what, "gather") == 0 ? ranks : 1;
    const double* const result = strcmp(what, "bcast") == 0 ? in : out;
    if (strcmp(what, "gather") == 0 && me != 0) return;
    for (int r = 0; r < chunks; ++r)
        for (int i = 0; i < count; ++i)
            if (result[r * count + i] != expected(what, turn, r, i)) wrong("a wrong result");
}

static void block(const char* what) {
    if (strcmp(what, "allreduce") == 0) MPI_Allreduce(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    if (strcmp(what, "alltoall") == 0) MPI_Alltoall(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, MPI_COMM_WORLD);
    if (strcmp(what, "bcast") == 0) MPI_Bcast(in, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (strcmp(what, "gather") == 0) MPI_Gather(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

static handle start(const char* what) {
    handle r = NOTHING;
    if (strcmp(what, "allreduce") == 0) STARTED(Iallreduce)(in, out, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &r);
    if (strcmp(what, "alltoall") == 0)
        STARTED(Ialltoall)(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, MPI_COMM_WORLD, &r);
    if (strcmp(what, "bcast") == 0) STARTED(Ibcast)(in, count, MPI_DOUBLE, 0, MPI_COMM_WORLD, &r);
    if (strcmp(what, "gather") == 0)
        STARTED(Igather)(in, count, MPI_DOUBLE, out, count, MPI_DOUBLE, 0, MPI_COMM_WORLD, &r);
    return r;
}

/// The time of one call on the rank that took longest; with a computation of that many seconds, if it is not negative.
static double timed(const char* what, int turn, double seconds, int busy) {
    prepare(turn);
    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    if (seconds < 0) {
        block(what);
    } else {
        handle r = start(what);
        compute(seconds, busy);
        STARTED(Wait)(&r, MPI_STATUS_IGNORE);
    }
    double took = MPI_Wtime() - begin;
    check(what, turn);
    MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return took;
}

static int ascending(const void* a, const void* b) {
    const double x = *(const double*)a, y = *(const double*)b;
    return (x > y) - (x < y);
}

static double median(double* times, int n) {
    qsort(times, (size_t)n, sizeof(double), ascending);
    return times[n / 2];
}

int main(int argc, char** argv) {
#ifdef OVERLAP_NBC
    int level = 0;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
#else
    MPI_Init(&argc, &argv);
#endif
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const char* const what = argc > 1 ? argv[1] : "allreduce";
    const int bytes = argc > 2 ? atoi(argv[2]) : 1 << 20;
    const int n = argc > 3 ? atoi(argv[3]) : 5;
    const int busy = argc > 4 && strcmp(argv[4], "busy") == 0;
    const int chunked = strcmp(what, "alltoall") == 0 || strcmp(what, "gather") == 0;
    count = bytes / (int)sizeof(double) / (chunked ? ranks : 1);
    in = malloc(sizeof(double) * (size_t)(count * ranks));
    out = malloc(sizeof(double) * (size_t)(count * ranks));
    double* const blocking = malloc(sizeof(double) * (size_t)n);
    double* const beside = malloc(sizeof(double) * (size_t)n);
    timed(what, 0, -1, busy);
    for (int i = 0; i < n; ++i) blocking[i] = timed(what, i + 1, -1, busy);
    const double whole = median(blocking, n);
    timed(what, 0, whole, busy);
    for (int i = 0; i < n; ++i) beside[i] = timed(what, i + 1, whole, busy);
    const double total = median(beside, n);
    if (me == 0)
        printf("time: what=%s bytes=%d blocking_ms=%.3f beside_ms=%.3f hidden=%.1f%%\n", what, bytes, whole * 1e3,
               total * 1e3, 100 * (1 - (total - whole) / whole));
    free(in), free(out), free(blocking), free(beside);
    MPI_Finalize();
    return 0;
}
