/* An iterative program with a rank that is late: compute, a collective of many bytes, and a decision of 8 bytes whether
 * to go on. Results are checked; times go to lines that begin with "time".
 *
 *   mpirun -n P straggler WHAT[,WHAT...] BYTES[,BYTES...] ITERATIONS [--compute 20ms] [--late 400ms] [--rank 15]
 *                         [--turn 10] [--spin] [--free] [--apart]
 *
 * WHAT is barrier, bcast, reduce, allreduce, scatter, gather, allgather, alltoall, reduce_scatter_block, scan,
 * scatterv, gatherv, alltoallv, or mixed: a bcast of a quarter of BYTES, a reduce of BYTES to a root that changes every
 * 20 iterations, and an allreduce and a bcast of 8 to 64 bytes. BYTES is the size of the vector, or of all ranks'
 * chunks together. Each WHAT with each BYTES is a loop of its own.
 *
 * --turn N makes another rank late every N iterations, by a fixed sequence. --spin computes, instead of sleeping.
 * --free leaves out the decision, so that ranks may run ahead of each other. --apart leaves it out, and has a barrier
 * before each iteration that is not timed.
 */
#include <mpi.h>

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum kind {
    barrier,
    bcast,
    reduce,
    allreduce,
    scatter,
    gather,
    allgather,
    alltoall,
    reduce_scatter_block,
    scan,
    scatterv,
    gatherv,
    alltoallv,
    mixed
};
static const char* const names[] = {
    "barrier", "bcast",    "reduce",  "allreduce", "scatter", "gather", "allgather", "alltoall", "reduce_scatter_block",
    "scan",    "scatterv", "gatherv", "alltoallv", "mixed"};

struct options {
    int iterations, late_rank, turn, spin, decide, apart;
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
    for (int i = 0; i <= mixed; ++i)
        if (strcmp(names[i], name) == 0) return (enum kind)i;
    wrong("no collective, nor mixed:", name);
    return mixed;
}

static struct options parse(int argc, char** argv, int ranks) {
    struct options o = {0, ranks - 1, 0, 0, 1, 0, 20e-3, 0};
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

/* A collective on its own data. A vector has this many numbers, or a chunk if the collective has one for each rank. */
struct operation {
    enum kind kind; /* of a v-form, the one without v */
    int me, ranks, root, numbers;
    double *data, *result;
    int *counts, *places; /* of a v-form */
};

/* In each iteration one number of 64 grows by one. All are whole, so that sums are exact. */
enum { turns = 64 };
static double part(int rank, int iteration, int i) {
    const int turn = i % turns;
    return (double)(rank + i % 1000 + (iteration < turn ? 0 : (iteration - turn) / turns + 1));
}

/* Only numbers that have grown are set and checked; all are, if the length of a chunk is no multiple of 64. */
static int step(const struct operation* op) { return op->numbers % turns == 0 ? turns : 1; }

static int has_chunks(enum kind k) { return k >= scatter && k <= reduce_scatter_block; }

static int given(const struct operation* op) { /* numbers that this rank sends */
    if (op->kind == barrier || ((op->kind == bcast || op->kind == scatter) && op->me != op->root)) return 0;
    const int to_each = op->kind == scatter || op->kind == alltoall || op->kind == reduce_scatter_block;
    return to_each ? op->numbers * op->ranks : op->numbers;
}

static int got(const struct operation* op) { /* numbers that this rank has afterwards */
    if (op->kind == barrier || ((op->kind == reduce || op->kind == gather) && op->me != op->root)) return 0;
    const int from_each = op->kind == gather || op->kind == allgather || op->kind == alltoall;
    return from_each ? op->numbers * op->ranks : op->numbers;
}

static double expected(const struct operation* op, int iteration, int i) {
    const int mine = op->me * op->numbers;
    const int sender = i / op->numbers;
    const int in_chunk = i % op->numbers;
    const int summed = op->kind == scan ? op->me + 1 : op->ranks; /* the parts of so many ranks */
    const int offsets = summed * (summed - 1) / 2;
    switch (op->kind) {
        case bcast: return part(op->root, iteration, i);
        case scatter: return part(op->root, iteration, mine + i);
        case gather:
        case allgather: return part(sender, iteration, in_chunk);
        case alltoall: return part(sender, iteration, mine + in_chunk);
        case reduce_scatter_block: return summed * part(0, iteration, mine + i) + offsets;
        default: return summed * part(0, iteration, i) + offsets;
    }
}

static enum kind without_v(enum kind k) {
    return k == scatterv ? scatter : k == gatherv ? gather : k == alltoallv ? alltoall : k;
}

static struct operation make_operation(enum kind what, long bytes) {
    const enum kind kind = without_v(what);
    struct operation op = {kind, 0, 0, 0, 0, NULL, NULL, NULL, NULL};
    MPI_Comm_rank(MPI_COMM_WORLD, &op.me);
    MPI_Comm_size(MPI_COMM_WORLD, &op.ranks);
    op.numbers = (int)(bytes / (long)sizeof(double)) / (has_chunks(kind) ? op.ranks : 1);
    if (op.numbers > turns) op.numbers -= op.numbers % turns;
    if (op.numbers == 0) op.numbers = 1;
    const int room = op.numbers * (has_chunks(kind) ? op.ranks : 1);
    op.data = malloc((size_t)room * sizeof *op.data);
    op.result = kind == bcast ? op.data : malloc((size_t)room * sizeof *op.result);
    for (int i = 0; i < room; ++i) op.data[i] = op.result[i] = -1;
    for (int i = 0; i < given(&op); ++i) op.data[i] = part(op.me, -1, i);
    if (kind == what) return op;
    op.counts = malloc((size_t)op.ranks * sizeof *op.counts);
    op.places = malloc((size_t)op.ranks * sizeof *op.places);
    for (int i = 0; i < op.ranks; ++i) op.counts[i] = op.numbers, op.places[i] = i * op.numbers;
    return op;
}

static void free_operation(struct operation* op) {
    if (op->result != op->data) free(op->result);
    free(op->data);
    free(op->counts);
    free(op->places);
}

static void prepare(const struct operation* op, int iteration) {
    const int n = given(op);
    for (int i = iteration % step(op); i < n; i += step(op)) op->data[i] = part(op->me, iteration, i);
}

static void call(const struct operation* op) {
    const int n = op->numbers;
    const MPI_Comm all = MPI_COMM_WORLD;
    double* in = op->data;
    double* out = op->result;
    const int* c = op->counts;
    const int* d = op->places;
    if (c != NULL) {
        if (op->kind == scatter) MPI_Scatterv(in, c, d, MPI_DOUBLE, out, n, MPI_DOUBLE, op->root, all);
        if (op->kind == gather) MPI_Gatherv(in, n, MPI_DOUBLE, out, c, d, MPI_DOUBLE, op->root, all);
        if (op->kind == alltoall) MPI_Alltoallv(in, c, d, MPI_DOUBLE, out, c, d, MPI_DOUBLE, all);
        return;
    }
    switch (op->kind) {
        case barrier: MPI_Barrier(all); break;
        case bcast: MPI_Bcast(in, n, MPI_DOUBLE, op->root, all); break;
        case reduce: MPI_Reduce(in, out, n, MPI_DOUBLE, MPI_SUM, op->root, all); break;
        case allreduce: MPI_Allreduce(in, out, n, MPI_DOUBLE, MPI_SUM, all); break;
        case scatter: MPI_Scatter(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, op->root, all); break;
        case gather: MPI_Gather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, op->root, all); break;
        case allgather: MPI_Allgather(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, all); break;
        case alltoall: MPI_Alltoall(in, n, MPI_DOUBLE, out, n, MPI_DOUBLE, all); break;
        case reduce_scatter_block: MPI_Reduce_scatter_block(in, out, n, MPI_DOUBLE, MPI_SUM, all); break;
        case scan: MPI_Scan(in, out, n, MPI_DOUBLE, MPI_SUM, all); break;
        default: break;
    }
}

static int wrong_numbers(const struct operation* op, int iteration, int by) {
    const int n = got(op);
    int errors = 0;
    for (int i = iteration % by; i < n; i += by) errors += op->result[i] != expected(op, iteration, i);
    return errors;
}

/* What an iteration calls, one after the other. */
struct body {
    enum kind kind;
    int count;
    struct operation operations[4];
};

static struct body make_body(enum kind kind, long bytes, int decide) {
    struct body b = {kind, 0, {{0}}};
    if (kind == mixed) {
        b.operations[b.count++] = make_operation(bcast, bytes / 4);
        b.operations[b.count++] = make_operation(reduce, bytes);
        b.operations[b.count++] = make_operation(allreduce, 64);
        b.operations[b.count++] = make_operation(bcast, 64);
    } else {
        b.operations[b.count++] = make_operation(kind, bytes);
        if (decide) b.operations[b.count++] = make_operation(allreduce, 8);
    }
    return b;
}

static void begin_iteration(struct body* b, int k) {
    if (b->kind == mixed) {
        b->operations[1].root = k / 20 % b->operations[1].ranks;
        b->operations[2].numbers = b->operations[3].numbers = 1 + k % 8;
    }
    for (int i = 0; i < b->count; ++i) prepare(&b->operations[i], k);
}

/* Another rank than before, by a fixed sequence. */
static int another(int rank, int ranks, unsigned* sequence) {
    if (ranks == 1) return rank;
    *sequence = *sequence * 1664525U + 1013904223U;
    return (rank + 1 + (int)((*sequence >> 16) % (unsigned)(ranks - 1))) % ranks;
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
    const int me = body.operations[0].me;
    const int ranks = body.operations[0].ranks;
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
        compute(o->compute + (me == late_rank ? o->late : 0), o->spin);
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
    for (int i = 0; i < body.count; ++i) free_operation(&body.operations[i]);
    free(took);
    return all_errors;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int ranks = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const struct options o = parse(argc, argv, ranks);
    enum { most = 32 };
    enum kind kinds[most];
    long sizes[most];
    int kind_count = 0;
    int size_count = 0;
    for (char* word = strtok(argv[1], ","); word != NULL && kind_count < most; word = strtok(NULL, ","))
        kinds[kind_count++] = kind_of(word);
    for (char* word = strtok(argv[2], ","); word != NULL && size_count < most; word = strtok(NULL, ","))
        sizes[size_count++] = whole_number(word, 8, 1 << 30, "BYTES must be from 8 to 1073741824, not");
    if (kind_count == 0) wrong("no collective, nor mixed:", argv[1]);
    if (size_count == 0) wrong("BYTES must be from 8 to 1073741824, not", argv[2]);

    int errors = 0;
    for (int i = 0; i < kind_count; ++i)
        for (int j = 0; j < size_count; ++j) errors += loop(&o, kinds[i], sizes[j]);
    MPI_Finalize();
    return errors == 0 ? 0 : 1;
}
