/* An iterative program with ranks that are late: compute, collectives of many bytes, and a decision of 8 bytes whether
 * to continue. Results are checked; times go to lines that begin with "time".
 *
 *   mpirun -n P straggler WHAT[,WHAT...] BYTES[,BYTES...] ITERATIONS [--compute 20ms] [--late 400ms] [--rank 15]
 *                         [--turn 10] [--late-ranks 3] [--phases 20] [--pareto] [--replay FILE] [--scale 0.5]
 *                         [--spin] [--free] [--apart]
 *
 * WHAT is barrier, bcast, reduce, allreduce, scatter, gather, allgather, alltoall, reduce_scatter_block, scan,
 * scatterv, gatherv or alltoallv; BYTES is the size of the vector, or of all ranks' chunks together. Or it is several
 * collectives:
 *
 * mixed: a bcast of a quarter of BYTES, a reduce of BYTES to a root that changes every 20 iterations, and an allreduce
 * and a bcast of 8 to 64 bytes.
 *
 * buckets: allreduces of 1/32, 1/16, ... 1/2 of BYTES, and of BYTES.
 *
 * grid: in a grid of ranks, a bcast of BYTES in rows and a reduce of BYTES in columns; each iteration has the next
 * root.
 *
 * sort: an allgather of 8 bytes from each rank, an alltoall of counts, and an alltoallv in which two ranks get six
 * times as much as others.
 *
 * Each WHAT with each BYTES is a loop of its own.
 *
 * Who is late, by --late: --turn N: another rank every N iterations, by a fixed sequence; --late-ranks N: so many
 * ranks;
 * --phases N: only in every other N iterations; --pareto: every rank, by a Pareto time with this mean, new in each
 * iteration.
 * --replay FILE: as in this file, which has a line per iteration and a column per rank, times --scale; the columns of
 * this run are the first ones.
 *
 * --spin computes, instead of sleeping. --free leaves out the decision, so that nothing brings ranks together. --apart
 * leaves it out, and has a barrier before each iteration that is not timed.
 */
#include "straggler_operation.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct options {
    int iterations, late_rank, turn, late_ranks, phases, pareto, spin, decide, apart;
    double compute, late, scale;
    double* recorded; /* of this rank, in each iteration; or NULL */
    int lines;
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
    if (unit == text || number < 0) wrong("no time such as 400ms:", text);
    if (strcmp(unit, "s") == 0) return number;
    if (strcmp(unit, "ms") == 0) return number * 1e-3;
    if (strcmp(unit, "us") == 0) return number * 1e-6;
    if (strcmp(text, "0") != 0) wrong("no time such as 400ms:", text);
    return 0;
}

static int whole_number(const char* text, long least, long most, const char* problem) {
    char* rest = NULL;
    const long number = strtol(text, &rest, 10);
    if (rest == text || *rest != 0 || number < least || number > most) wrong(problem, text);
    return (int)number;
}

static enum kind kind_of(const char* name) {
    for (int i = 0; i <= sort; ++i)
        if (strcmp(names[i], name) == 0) return (enum kind)i;
    wrong("no collective, nor mixed, buckets, grid or sort:", name);
    return mixed;
}

/* How late this rank was in each line of a file, after the first of the ranks of this run. */
static void read_recorded(struct options* o, const char* path, int me, int ranks) {
    FILE* const file = fopen(path, "r");
    if (file == NULL) wrong("cannot read", path);
    enum { longest = 1 << 16 };
    char* const line = malloc(longest);
    while (fgets(line, longest, file) != NULL) {
        if (line[0] == '#' || line[0] == '\n') continue;
        double mine = 0, first = HUGE_VAL;
        int column = 0;
        for (char* word = strtok(line, " \t\n"); word != NULL && column < ranks;
             word = strtok(NULL, " \t\n"), ++column) {
            const double late = seconds(word);
            if (late < first) first = late;
            if (column == me) mine = late;
        }
        if (column < ranks) wrong("a line has fewer columns than there are ranks, in", path);
        o->recorded = realloc(o->recorded, (size_t)(o->lines + 1) * sizeof *o->recorded);
        o->recorded[o->lines++] = mine - first;
    }
    if (o->lines == 0) wrong("no arrivals in", path);
    free(line);
    fclose(file);
}

static struct options parse(int argc, char** argv, int me, int ranks) {
    struct options o = {0, ranks - 1, 0, 1, 0, 0, 0, 1, 0, 20e-3, 0, 1, NULL, 0};
    if (argc < 4) wrong("it needs a collective, BYTES and ITERATIONS, not", argc > 1 ? argv[1] : "");
    o.iterations = whole_number(argv[3], 1, 100000000, "ITERATIONS must be a number above 0, not");
    for (int i = 4; i < argc; ++i) {
        const int more = i + 1 < argc;
        if (strcmp(argv[i], "--compute") == 0 && more) {
            o.compute = seconds(argv[++i]);
        } else if (strcmp(argv[i], "--late") == 0 && more) {
            o.late = seconds(argv[++i]);
        } else if (strcmp(argv[i], "--rank") == 0 && more) {
            o.late_rank = whole_number(argv[++i], 0, ranks - 1, "--rank must be a rank of this run, not");
        } else if (strcmp(argv[i], "--turn") == 0 && more) {
            o.turn = whole_number(argv[++i], 1, 100000000, "--turn must be a number above 0, not");
        } else if (strcmp(argv[i], "--late-ranks") == 0 && more) {
            o.late_ranks = whole_number(argv[++i], 1, ranks, "--late-ranks must be from 1 to the number of ranks, not");
        } else if (strcmp(argv[i], "--phases") == 0 && more) {
            o.phases = whole_number(argv[++i], 1, 100000000, "--phases must be a number above 0, not");
        } else if (strcmp(argv[i], "--pareto") == 0) {
            o.pareto = 1;
        } else if (strcmp(argv[i], "--replay") == 0 && more) {
            read_recorded(&o, argv[++i], me, ranks);
        } else if (strcmp(argv[i], "--scale") == 0 && more) {
            o.scale = atof(argv[++i]);
            if (o.scale <= 0) wrong("--scale must be a number above 0, not", argv[i]);
        } else if (strcmp(argv[i], "--spin") == 0) {
            o.spin = 1;
        } else if (strcmp(argv[i], "--free") == 0) {
            o.decide = 0;
        } else if (strcmp(argv[i], "--apart") == 0) {
            o.decide = 0;
            o.apart = 1;
        } else {
            wrong("no option, or one without its value:", argv[i]);
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
    if (duration == 0) return;
    struct timespec rest = {(time_t)duration, (long)((duration - floor(duration)) * 1e9)};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR) continue;
}

/* What an iteration calls, one after the other. */
struct body {
    enum kind kind;
    int count;
    struct operation operations[8];
    MPI_Comm row, column; /* of a grid */
};

static void make_grid(struct body* b, long bytes) {
    int size[2] = {0, 0};
    int me = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Dims_create(ranks, 2, size);
    MPI_Comm_split(MPI_COMM_WORLD, me / size[1], me, &b->row);
    MPI_Comm_split(MPI_COMM_WORLD, me % size[1], me, &b->column);
    b->operations[b->count++] = make_operation(bcast, bytes, b->row);
    b->operations[0].moves = 1;
    b->operations[b->count++] = make_operation(reduce, bytes, b->column);
}

static struct body make_body(enum kind kind, long bytes, int decide) {
    struct body b = {kind, 0, {{0}}, MPI_COMM_NULL, MPI_COMM_NULL};
    const MPI_Comm world = MPI_COMM_WORLD;
    switch (kind) {
        case mixed:
            b.operations[b.count++] = make_operation(bcast, bytes / 4, world);
            b.operations[b.count++] = make_operation(reduce, bytes, world);
            b.operations[b.count++] = make_operation(allreduce, 64, world);
            b.operations[b.count++] = make_operation(bcast, 64, world);
            return b;
        case buckets:
            for (long part = 32; part > 0; part /= 2)
                b.operations[b.count++] = make_operation(allreduce, bytes / part, world);
            break;
        case grid: make_grid(&b, bytes); break;
        case sort: {
            int ranks = 0;
            MPI_Comm_size(world, &ranks);
            b.operations[b.count++] = make_operation(allgather, 8L * ranks, world);
            b.operations[b.count++] = make_operation(alltoall, 8L * ranks, world);
            b.operations[b.count++] = make_operation(skewed, bytes, world);
            break;
        }
        default: b.operations[b.count++] = make_operation(kind, bytes, world);
    }
    if (decide) b.operations[b.count++] = make_operation(allreduce, 8, world);
    return b;
}

static void free_body(struct body* b) {
    for (int i = 0; i < b->count; ++i) free_operation(&b->operations[i]);
    if (b->row != MPI_COMM_NULL) MPI_Comm_free(&b->row);
    if (b->column != MPI_COMM_NULL) MPI_Comm_free(&b->column);
}

static void begin_iteration(struct body* b, int k) {
    if (b->kind == mixed) {
        b->operations[1].root = k / 20 % b->operations[1].ranks;
        b->operations[2].numbers = b->operations[3].numbers = 1 + k % 8;
    }
    if (b->kind == grid)
        for (int i = 0; i < 2; ++i) b->operations[i].root = k % b->operations[i].ranks;
    for (int i = 0; i < b->count; ++i) prepare(&b->operations[i], k);
}

/* Another rank than before, by a fixed sequence. */
static int another(int rank, int ranks, unsigned* sequence) {
    if (ranks == 1) return rank;
    *sequence = *sequence * 1664525U + 1013904223U;
    return (rank + 1 + (int)((*sequence >> 16) % (unsigned)(ranks - 1))) % ranks;
}

/* From 0 up, with the mean 1: the same for this rank and iteration in every run. */
static double pareto(int rank, int iteration) {
    unsigned long x =
        0x9e3779b97f4a7c15UL * (unsigned long)(rank + 1) + 0xbf58476d1ce4e5b9UL * (unsigned long)(iteration + 1);
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9UL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebUL;
    const double u = (double)((x ^ (x >> 31)) >> 11 | 1) / (double)(1UL << 53);
    const double late = (pow(u, -1 / 1.5) - 1) / 2;
    return late < 20 ? late : 20;
}

/* How late this rank is. `first` is the late rank, or the first of several. */
static double lateness(const struct options* o, int me, int ranks, int k, int first) {
    if (o->recorded != NULL) return o->scale * o->recorded[k % o->lines];
    if (o->pareto) return o->late * pareto(me, k);
    if (o->phases > 0 && k / o->phases % 2 == 0) return 0;
    for (int i = 0; i < o->late_ranks; ++i)
        if (me == (first + i * ranks / o->late_ranks) % ranks) return o->late;
    return 0;
}

static int by_size(const void* a, const void* b) {
    const double x = *(const double*)a;
    const double y = *(const double*)b;
    return (x > y) - (x < y);
}

static double mean(const double* values, int n) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += values[i];
    return sum / n;
}

/* mean_us is the mean over all iterations and ranks. */
static void print_times(const char* what, long bytes, double* took, int n, double total, double mean_time) {
    const double first = mean(took, n < 10 ? n : 10);
    qsort(took, (size_t)n, sizeof *took, by_size);
    printf("time: what=%s bytes=%ld total_s=%.3f median_ms=%.3f p10_ms=%.3f p90_ms=%.3f first_ms=%.3f mean_us=%.3f\n",
           what, bytes, total, took[n / 2] * 1e3, took[n / 10] * 1e3, took[n - 1 - n / 10] * 1e3, first * 1e3,
           mean_time * 1e6);
}

static int loop(const struct options* o, enum kind kind, long bytes) {
    struct body body = make_body(kind, bytes, o->decide);
    int me = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    double* took = malloc((size_t)o->iterations * sizeof *took);
    int errors = 0;
    int late_rank = o->late_rank;
    unsigned sequence = 1;

    MPI_Barrier(MPI_COMM_WORLD);
    const double begin = MPI_Wtime();
    double last = begin;
    for (int k = 0; k < o->iterations; ++k) {
        if (o->turn > 0 && k % o->turn == 0) late_rank = another(late_rank, ranks, &sequence);
        begin_iteration(&body, k);
        if (o->apart) {
            MPI_Barrier(MPI_COMM_WORLD);
            last = MPI_Wtime();
        }
        compute(o->compute + lateness(o, me, ranks, k, late_rank), o->spin);
        for (int i = 0; i < body.count; ++i) call(&body.operations[i]);
        took[k] = MPI_Wtime() - last;
        last += took[k];
        for (int i = 0; i < body.count; ++i) errors += wrong_numbers(&body.operations[i], k, step(&body.operations[i]));
    }
    const double mine[2] = {MPI_Wtime() - begin, mean(took, o->iterations)};
    for (int i = 0; i < body.count; ++i) errors += wrong_numbers(&body.operations[i], o->iterations - 1, 1);

    double total = 0;
    double sum_of_means = 0;
    int all_errors = 0;
    MPI_Reduce(&mine[0], &total, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Reduce(&mine[1], &sum_of_means, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allreduce(&errors, &all_errors, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (me == 0) {
        printf("%s of %ld bytes, %d ranks, %d iterations: %d wrong numbers\n", names[kind], bytes, ranks, o->iterations,
               all_errors);
        print_times(names[kind], bytes, took, o->iterations, total, sum_of_means / ranks);
    }
    free_body(&body);
    free(took);
    return all_errors;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int me = 0, ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const struct options o = parse(argc, argv, me, ranks);
    enum { most = 32 };
    enum kind kinds[most];
    long sizes[most];
    int kind_count = 0;
    int size_count = 0;
    for (char* word = strtok(argv[1], ","); word != NULL && kind_count < most; word = strtok(NULL, ","))
        kinds[kind_count++] = kind_of(word);
    for (char* word = strtok(argv[2], ","); word != NULL && size_count < most; word = strtok(NULL, ","))
        sizes[size_count++] = whole_number(word, 8, 1 << 30, "BYTES must be from 8 to 1073741824, not");
    if (kind_count == 0) wrong("no collective, nor mixed, buckets, grid or sort:", argv[1]);
    if (size_count == 0) wrong("BYTES must be from 8 to 1073741824, not", argv[2]);

    int errors = 0;
    for (int i = 0; i < kind_count; ++i)
        for (int j = 0; j < size_count; ++j) errors += loop(&o, kinds[i], sizes[j]);
    free(o.recorded);
    MPI_Finalize();
    return errors == 0 ? 0 : 1;
}
