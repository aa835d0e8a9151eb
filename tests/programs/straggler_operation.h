/* The collectives that straggler calls, each on its own data, whose results are checked. */
#ifndef STRAGGLER_OPERATION_H
#define STRAGGLER_OPERATION_H

#include <mpi.h>

#include <stdlib.h>

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
    skewed, /* alltoallv: two ranks get more */
    mixed,
    buckets,
    grid,
    sort
};
static const char* const names[] = {
    "barrier", "bcast",    "reduce",  "allreduce", "scatter", "gather", "allgather", "alltoall", "reduce_scatter_block",
    "scan",    "scatterv", "gatherv", "alltoallv", "skewed",  "mixed",  "buckets",   "grid",     "sort"};

/* A collective on its own data. A vector has this many numbers, or a chunk if the collective has one for each rank. */
struct operation {
    enum kind kind; /* of a v-form, the one without v */
    MPI_Comm comm;
    int me, ranks, root, numbers;
    int moves;           /* the root, so that it has what another one sent before */
    int own, place, all; /* numbers of this rank's chunk, of those before it, of all chunks: where chunks differ */
    double *data, *result;
    int *counts, *places;         /* of a v-form */
    int *own_counts, *own_places; /* of one whose chunks differ: what comes here */
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
    return to_each ? op->all : op->numbers;
}

static int got(const struct operation* op) { /* numbers that this rank has afterwards */
    if (op->kind == barrier || ((op->kind == reduce || op->kind == gather) && op->me != op->root)) return 0;
    const int from_each = op->kind == gather || op->kind == allgather || op->kind == alltoall;
    return from_each ? op->own * op->ranks : op->numbers;
}

static double expected(const struct operation* op, int iteration, int i) {
    const int mine = op->place;
    const int sender = i / op->own;
    const int in_chunk = i % op->own;
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
    return k == scatterv ? scatter : k == gatherv ? gather : k == alltoallv || k == skewed ? alltoall : k;
}

static int chunks_of(enum kind what, int rank, int ranks) {
    return what == skewed && (rank == 1 || rank == ranks / 2) ? 6 : 1;
}

static struct operation make_operation(enum kind what, long bytes, MPI_Comm comm) {
    const enum kind kind = without_v(what);
    struct operation op = {kind, comm, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL};
    MPI_Comm_rank(comm, &op.me);
    MPI_Comm_size(comm, &op.ranks);
    op.numbers = (int)(bytes / (long)sizeof(double)) / (has_chunks(kind) ? op.ranks : 1);
    if (op.numbers > turns) op.numbers -= op.numbers % turns;
    if (op.numbers == 0) op.numbers = 1;
    for (int i = 0; i < op.ranks; ++i) {
        if (i == op.me) op.place = op.all;
        op.all += op.numbers * chunks_of(what, i, op.ranks);
    }
    op.own = op.numbers * chunks_of(what, op.me, op.ranks);
    const int most = op.all > op.own * op.ranks ? op.all : op.own * op.ranks;
    const int room = has_chunks(kind) ? most : op.numbers;
    op.data = malloc((size_t)room * sizeof *op.data);
    op.result = kind == bcast ? op.data : malloc((size_t)room * sizeof *op.result);
    for (int i = 0; i < room; ++i) op.data[i] = op.result[i] = -1;
    for (int i = 0; i < given(&op); ++i) op.data[i] = part(op.me, -1, i);
    if (kind == what) return op;
    const size_t table = (size_t)op.ranks * sizeof *op.counts;
    op.counts = malloc(table);
    op.places = malloc(table);
    op.own_counts = malloc(table);
    op.own_places = malloc(table);
    for (int i = 0, at = 0; i < op.ranks; at += op.counts[i++]) {
        op.counts[i] = op.numbers * chunks_of(what, i, op.ranks), op.places[i] = at;
        op.own_counts[i] = op.own, op.own_places[i] = i * op.own;
    }
    return op;
}

static void free_operation(struct operation* op) {
    if (op->result != op->data) free(op->result);
    free(op->data);
    free(op->counts);
    free(op->places);
    free(op->own_counts);
    free(op->own_places);
}

static void prepare(const struct operation* op, int iteration) {
    const int n = given(op);
    const int by = op->moves ? 1 : step(op);
    for (int i = iteration % by; i < n; i += by) op->data[i] = part(op->me, iteration, i);
}

static void call(const struct operation* op) {
    const int n = op->numbers;
    const MPI_Comm all = op->comm;
    double* in = op->data;
    double* out = op->result;
    const int* c = op->counts;
    const int* d = op->places;
    if (c != NULL) {
        if (op->kind == scatter) MPI_Scatterv(in, c, d, MPI_DOUBLE, out, n, MPI_DOUBLE, op->root, all);
        if (op->kind == gather) MPI_Gatherv(in, n, MPI_DOUBLE, out, c, d, MPI_DOUBLE, op->root, all);
        if (op->kind == alltoall)
            MPI_Alltoallv(in, c, d, MPI_DOUBLE, out, op->own_counts, op->own_places, MPI_DOUBLE, all);
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

#endif
