/* An iterative program with a rank that is always late: compute, a collective of many bytes, and a decision of 8 bytes
 * whether to go on. Results are checked; times go to lines that begin with "time".
 *
 *   mpirun -n P straggler reduce|allreduce|bcast BYTES ITERATIONS [--compute 20ms] [--late 400ms] [--rank 15]
 *                         [--spin] [--free]
 *
 * --spin computes, instead of sleeping; --free leaves out the decision, so that ranks may run ahead of each other.
 */
#include <mpi.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
    const char* what;
    int count, iterations, late_rank, spin, free_running;
    double compute, late;
};

static void wrong(const char* problem, const char* word) {
    int me = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (me == 0) fprintf(stderr, "straggler: %s '%s'\n", problem, word);
    MPI_Finalize();
    exit(2);
}

static double seconds(const char* text) {
    char* unit = NULL;
    const double number = strtod(text, &unit);
    if (strcmp(unit, "s") == 0) return number;
    if (strcmp(unit, "ms") == 0) return number * 1e-3;
    if (strcmp(unit, "us") == 0) return number * 1e-6;
    if (unit == text || strcmp(text, "0") != 0) wrong("no time such as 400ms:", text);
    return 0;
}

static struct options parse(int argc, char** argv, int ranks) {
    struct options o = {"", 0, 0, ranks - 1, 0, 0, 20e-3, 0};
    if (argc < 4) wrong("it needs reduce, allreduce or bcast, BYTES and ITERATIONS, not", argc > 1 ? argv[1] : "");
    o.what = argv[1];
    if (strcmp(o.what, "reduce") != 0 && strcmp(o.what, "allreduce") != 0 && strcmp(o.what, "bcast") != 0)
        wrong("no collective", o.what);
    o.count = atoi(argv[2]) / (int)sizeof(double);
    o.iterations = atoi(argv[3]);
    if (o.count < 1 || o.iterations < 1) wrong("BYTES and ITERATIONS must be numbers above 0:", argv[2]);
    for (int i = 4; i < argc; ++i) {
        const int more = i + 1 < argc;
        if (strcmp(argv[i], "--compute") == 0 && more) {
            o.compute = seconds(argv[++i]);
        } else if (strcmp(argv[i], "--late") == 0 && more) {
            o.late = seconds(argv[++i]);
        } else if (strcmp(argv[i], "--rank") == 0 && more) {
            o.late_rank = atoi(argv[++i]);
        } else if (strcmp(argv[i], "--spin") == 0) {
            o.spin = 1;
        } else if (strcmp(argv[i], "--free") == 0) {
            o.free_running = 1;
        } else {
            wrong("no option", argv[i]);
        }
    }
    return o;
}

static void compute(double duration, int spin) {
    if (spin) {
        const double end = MPI_Wtime() + duration;
        while (MPI_Wtime() < end) continue;
        return;
    }
    struct timespec rest = {(time_t)duration, (long)((duration - floor(duration)) * 1e9)};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR) continue;
}

/* In each iteration one number of 64 grows by one. All are whole, so that sums are exact. */
enum { turns = 64 };
static double part(int rank, int iteration, int i) {
    const int turn = i % turns;
    return (double)(rank + i % 1000 + (iteration < turn ? 0 : (iteration - turn) / turns + 1));
}

static double sum_of_parts(int ranks, int iteration, int i) {
    const int offsets = ranks * (ranks - 1) / 2;
    return ranks * part(0, iteration, i) + offsets;
}

static int by_size(const void* a, const void* b) {
    const double x = *(const double*)a;
    const double y = *(const double*)b;
    return (x > y) - (x < y);
}

static void print_times(double* took, int n, double total) {
    qsort(took, (size_t)n, sizeof *took, by_size);
    printf("time: total_s=%.3f median_ms=%.3f p10_ms=%.3f p90_ms=%.3f\n", total, took[n / 2] * 1e3, took[n / 10] * 1e3,
           took[n - 1 - n / 10] * 1e3);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int me = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const struct options o = parse(argc, argv, ranks);
    const int bcast = strcmp(o.what, "bcast") == 0;
    const int reduce = strcmp(o.what, "reduce") == 0;
    double* data = malloc((size_t)o.count * sizeof *data);
    double* result = malloc((size_t)o.count * sizeof *result);
    double* took = malloc((size_t)o.iterations * sizeof *took);
    for (int i = 0; i < o.count; ++i) data[i] = bcast && me != 0 ? -1 : part(bcast ? 0 : me, -1, i);
    int errors = 0;

    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    double last = begin;
    for (int k = 0; k < o.iterations; ++k) {
        for (int i = k % turns; i < o.count && (!bcast || me == 0); i += turns) data[i] = part(bcast ? 0 : me, k, i);
        compute(o.compute + (me == o.late_rank ? o.late : 0), o.spin);
        if (bcast) {
            MPI_Bcast(data, o.count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        } else if (reduce) {
            MPI_Reduce(data, result, o.count, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        } else {
            MPI_Allreduce(data, result, o.count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        }
        if (!o.free_running) {
            double change = data[0];
            double all = 0;
            MPI_Allreduce(&change, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
        }
        took[k] = MPI_Wtime() - last;
        last += took[k];
        /* What is new, and in the end everything. */
        const int whole = k + 1 == o.iterations;
        for (int i = whole ? 0 : k % turns; i < o.count && (!reduce || me == 0); i += whole ? 1 : turns)
            errors += bcast ? data[i] != part(0, k, i) : result[i] != sum_of_parts(ranks, k, i);
    }
    const double mine = MPI_Wtime() - begin;
    double total = 0;
    int all_errors = 0;
    MPI_Reduce(&mine, &total, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Allreduce(&errors, &all_errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0) {
        printf("%s of %d bytes, %d ranks, %d iterations: %d wrong numbers\n", o.what, o.count * (int)sizeof(double),
               ranks, o.iterations, all_errors);
        print_times(took, o.iterations, total);
    }
    free(took);
    free(result);
    free(data);
    MPI_Finalize();
    return all_errors == 0 ? 0 : 1;
}
