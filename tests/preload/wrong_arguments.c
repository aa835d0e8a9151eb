/* wrong_arguments REPEATS [COLLECTIVE...]: every wrong argument of every blocking collective. For each it prints the
   error class that each rank gets, how often the communicator's error handler was called if that is not once, and a
   checksum of what a right call gives afterwards. Each wrong call is made REPEATS times, with right ones between, and
   must give the same each time. What is printed with the drop-in must be what is printed without. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_ranks = 16, n = 5000, longer = 100 };

enum what {
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
    exscan,
    scatterv,
    gatherv,
    allgatherv,
    alltoallv,
    reduce_scatter,
    collectives
};
static const char* const names[] = {"barrier",       "bcast",      "reduce",
                                    "allreduce",     "scatter",    "gather",
                                    "allgather",     "alltoall",   "reduce_scatter_block",
                                    "scan",          "exscan",     "scatterv",
                                    "gatherv",       "allgatherv", "alltoallv",
                                    "reduce_scatter"};

/* As MPI has them; what has one buffer, count or type for both sides has those of recv. */
struct call {
    enum what what;
    void *send, *recv;
    int sends, recvs;
    int *send_counts, *send_places, *recv_counts, *recv_places;
    MPI_Datatype send_type, recv_type;
    MPI_Op op;
    int root;
    MPI_Comm comm;
};

static int me, ranks;
static int *in, *out;
static int counts[most_ranks], places[most_ranks], other_counts[most_ranks];
static MPI_Comm beside; /* what the ranks tell each other of the outcome */
static MPI_Comm used, half, between;
static MPI_Datatype uncommitted;
static MPI_Op own_op;
static int handled;

static void add(void* from, void* to, int* length, MPI_Datatype* type) {
    (void)type;
    for (int i = 0; i < *length; ++i) ((int*)to)[i] += ((const int*)from)[i];
}

static void count_error(MPI_Comm* comm, int* code, ...) {
    (void)comm, (void)code;
    ++handled;
}

static const char* class_name(int class) {
    static const struct {
        int class;
        const char* name;
    } known[] = {{MPI_SUCCESS, "success"},       {MPI_ERR_BUFFER, "buffer"},
                 {MPI_ERR_COUNT, "count"},       {MPI_ERR_TYPE, "type"},
                 {MPI_ERR_COMM, "comm"},         {MPI_ERR_RANK, "rank"},
                 {MPI_ERR_ROOT, "root"},         {MPI_ERR_OP, "op"},
                 {MPI_ERR_ARG, "arg"},           {MPI_ERR_OTHER, "other"},
                 {MPI_ERR_TRUNCATE, "truncate"}, {MPI_ERR_INTERN, "intern"},
                 {MPI_ERR_NO_MEM, "memory"},     {MPI_ERR_UNKNOWN, "unknown"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i)
        if (known[i].class == class) return known[i].name;
    return "?";
}

static int is_rooted(enum what w) {
    return w == bcast || w == reduce || w == scatter || w == gather || w == scatterv || w == gatherv;
}
static int reduces(enum what w) {
    return w == reduce || w == allreduce || w == reduce_scatter_block || w == scan || w == exscan ||
           w == reduce_scatter;
}
static int has_send(enum what w) { return w != barrier && w != bcast; }
static int has_send_type(enum what w) { return has_send(w) && !reduces(w); }
static int has_send_counts(enum what w) { return w == scatterv || w == alltoallv; }
static int has_recv_counts(enum what w) {
    return w == gatherv || w == allgatherv || w == alltoallv || w == reduce_scatter;
}

static int make(const struct call* c) {
    switch (c->what) {
        case barrier: return MPI_Barrier(c->comm);
        case bcast: return MPI_Bcast(c->recv, c->recvs, c->recv_type, c->root, c->comm);
        case reduce: return MPI_Reduce(c->send, c->recv, c->recvs, c->recv_type, c->op, c->root, c->comm);
        case allreduce: return MPI_Allreduce(c->send, c->recv, c->recvs, c->recv_type, c->op, c->comm);
        case scatter:
            return MPI_Scatter(c->send, c->sends, c->send_type, c->recv, c->recvs, c->recv_type, c->root, c->comm);
        case gather:
            return MPI_Gather(c->send, c->sends, c->send_type, c->recv, c->recvs, c->recv_type, c->root, c->comm);
        case allgather: return MPI_Allgather(c->send, c->sends, c->send_type, c->recv, c->recvs, c->recv_type, c->comm);
        case alltoall: return MPI_Alltoall(c->send, c->sends, c->send_type, c->recv, c->recvs, c->recv_type, c->comm);
        case reduce_scatter_block:
            return MPI_Reduce_scatter_block(c->send, c->recv, c->recvs, c->recv_type, c->op, c->comm);
        case scan: return MPI_Scan(c->send, c->recv, c->recvs, c->recv_type, c->op, c->comm);
        case exscan: return MPI_Exscan(c->send, c->recv, c->recvs, c->recv_type, c->op, c->comm);
        case scatterv:
            return MPI_Scatterv(c->send, c->send_counts, c->send_places, c->send_type, c->recv, c->recvs, c->recv_type,
                                c->root, c->comm);
        case gatherv:
            return MPI_Gatherv(c->send, c->sends, c->send_type, c->recv, c->recv_counts, c->recv_places, c->recv_type,
                               c->root, c->comm);
        case allgatherv:
            return MPI_Allgatherv(c->send, c->sends, c->send_type, c->recv, c->recv_counts, c->recv_places,
                                  c->recv_type, c->comm);
        case alltoallv:
            return MPI_Alltoallv(c->send, c->send_counts, c->send_places, c->send_type, c->recv, c->recv_counts,
                                 c->recv_places, c->recv_type, c->comm);
        case reduce_scatter: return MPI_Reduce_scatter(c->send, c->recv, c->recv_counts, c->recv_type, c->op, c->comm);
        case collectives: break;
    }
    abort();
}

static struct call right_call(enum what w, MPI_Comm comm) {
    for (int i = 0; i < (n + longer) * ranks; ++i) in[i] = (me + 1) * (i % 97 + 1), out[i] = -me;
    for (int i = 0; i < ranks; ++i) counts[i] = n, places[i] = i * n;
    return (struct call){w, in, out, n, n, counts, places, counts, places, MPI_INT, MPI_INT, MPI_SUM, ranks - 1, comm};
}

static int checksum(void) {
    long sum = 1;
    for (int i = 0; i < n * ranks; ++i) sum = (sum * 31 + out[i]) % 1000003;
    return (int)sum;
}

/* The wrong arguments: to what they apply, and what they do to a right call. */
#define WRONG(name, applies)                                     \
    static int name##_applies(enum what w) { return (applies); } \
    static void name(struct call* c)
#define AT_ROOT (c->root == me)

static int* all_counts(int count) {
    for (int i = 0; i < ranks; ++i) other_counts[i] = count;
    return other_counts;
}

WRONG(recv_type_null, w != barrier) { c->recv_type = MPI_DATATYPE_NULL; }
WRONG(send_type_null, has_send_type(w)) { c->send_type = MPI_DATATYPE_NULL; }
WRONG(recv_type_uncommitted, w != barrier) { c->recv_type = uncommitted, c->op = own_op; }
WRONG(send_type_uncommitted, has_send_type(w)) { c->send_type = uncommitted; }
WRONG(recv_count_negative, w != barrier) { c->recvs = -1, c->recv_counts = all_counts(-1); }
WRONG(send_count_negative, has_send_type(w)) { c->sends = -1, c->send_counts = all_counts(-1); }
WRONG(one_send_count_negative, has_send_counts(w)) { (c->send_counts = all_counts(n))[1] = -n; }
WRONG(one_recv_count_negative, has_recv_counts(w)) { (c->recv_counts = all_counts(n))[1] = -n; }
WRONG(counts_null, has_send_counts(w) || has_recv_counts(w)) { c->send_counts = c->recv_counts = NULL; }
WRONG(places_null, (has_send_counts(w) || has_recv_counts(w)) && w != reduce_scatter) {
    c->send_places = c->recv_places = NULL;
}
WRONG(root_negative, is_rooted(w)) { c->root = -1; }
WRONG(root_null, is_rooted(w)) { c->root = MPI_PROC_NULL; }
WRONG(root_too_large, is_rooted(w)) { c->root = ranks; }
WRONG(op_null, reduces(w)) { c->op = MPI_OP_NULL; }
WRONG(op_of_other_type, reduces(w)) { c->op = MPI_BAND, c->recv_type = MPI_FLOAT; }
WRONG(op_of_pairs, reduces(w)) { c->op = MPI_MAXLOC; }
WRONG(recv_in_place, w != barrier) {
    if ((c->what != scatter && c->what != scatterv) || !AT_ROOT) c->recv = MPI_IN_PLACE;
}
WRONG(both_in_place, has_send(w)) { c->send = c->recv = MPI_IN_PLACE; }
WRONG(aliased, has_send(w)) { c->send = c->recv; }
WRONG(recv_null, w != barrier) { c->recv = NULL; }
WRONG(send_null, has_send(w)) { c->send = NULL; }
WRONG(no_communicator, w != collectives) { c->comm = MPI_COMM_NULL; }
WRONG(in_place_between_groups, has_send(w) && !is_rooted(w)) { c->comm = between, c->send = MPI_IN_PLACE; }
WRONG(root_between_groups, is_rooted(w)) { c->comm = between, c->root = 2 * ranks; }
WRONG(scan_between_groups, w == scan || w == exscan) { c->comm = between; }
/* Messages that are longer than others expect. */
WRONG(longer_from_root, w == bcast || w == scatter || w == scatterv) {
    if (AT_ROOT) c->sends = c->recvs = n + longer, c->send_counts = all_counts(n + longer);
}
WRONG(longer_to_root, w == gather || w == gatherv || w == reduce) {
    if (!AT_ROOT) c->sends = c->recvs = n + longer;
}
#define CASE(name) \
    { #name, name##_applies, name }
static const struct {
    const char* name;
    int (*applies)(enum what);
    void (*change)(struct call*);
} cases[] = {CASE(recv_type_null),
             CASE(send_type_null),
             CASE(recv_type_uncommitted),
             CASE(send_type_uncommitted),
             CASE(recv_count_negative),
             CASE(send_count_negative),
             CASE(one_send_count_negative),
             CASE(one_recv_count_negative),
             CASE(counts_null),
             CASE(places_null),
             CASE(root_negative),
             CASE(root_null),
             CASE(root_too_large),
             CASE(op_null),
             CASE(op_of_other_type),
             CASE(op_of_pairs),
             CASE(recv_in_place),
             CASE(both_in_place),
             CASE(aliased),
             CASE(recv_null),
             CASE(send_null),
             CASE(no_communicator),
             CASE(in_place_between_groups),
             CASE(root_between_groups),
             CASE(scan_between_groups),
             CASE(longer_from_root),
             CASE(longer_to_root)};

/* What the MPI library itself does not survive. Where the root alone is wrong, the others may wait for it: in a scatter
   for ever, in a gather or a reduce unless their messages are so short that they have left. */
static const char* const left_out[] = {
    "scatter send_type_null",
    "scatter send_count_negative",
    "scatter send_null",
    "scatterv send_type_null",
    "scatterv send_type_uncommitted",
    "scatterv send_count_negative",
    "scatterv one_send_count_negative",
    "scatterv counts_null",
    "scatterv places_null",
    "scatterv send_null",
#ifdef MPICH_VERSION
    "scatter send_type_uncommitted",
    "scatter both_in_place",
    "scatterv both_in_place",
    "reduce recv_in_place",
    "reduce both_in_place",
    "reduce aliased",
    "reduce recv_null",
    "gather recv_type_null",
    "gather recv_type_uncommitted",
    "gather recv_count_negative",
    "gather recv_in_place",
    "gather both_in_place",
    "gather recv_null",
    "gatherv recv_type_null",
    "gatherv recv_type_uncommitted",
    "gatherv recv_count_negative",
    "gatherv one_recv_count_negative",
    "gatherv counts_null",
    "gatherv places_null",
    "gatherv recv_in_place",
    "gatherv both_in_place",
    "gatherv recv_null",
    /* It crashes, or hangs, */
    "bcast recv_in_place",
    "bcast longer_from_root",
    "reduce recv_count_negative",
    "allreduce recv_count_negative",
    "reduce_scatter_block recv_count_negative",
    "scan recv_count_negative",
    "exscan recv_count_negative",
    "scatter recv_in_place",
    "scatterv recv_in_place",
    "allgather aliased",
    "allgatherv aliased",
    "allgatherv counts_null",
    "allgatherv places_null",
    "alltoallv counts_null",
    "alltoallv places_null",
    "reduce_scatter counts_null",
    "alltoall in_place_between_groups",
    "allgatherv in_place_between_groups",
    "alltoallv in_place_between_groups",
    /* refuses one buffer, whose parts may be apart, and not on ranks without data, */
    "alltoallv aliased",
    /* and tells senders that their message was too long for another rank. */
    "reduce longer_to_root",
#else
    /* It does not look at buffers that are not there, */
    "bcast recv_null",
    "reduce recv_null",
    "reduce send_null",
    "allreduce recv_null",
    "allreduce send_null",
    "scatter recv_null",
    "gather recv_null",
    "gather send_null",
    "allgather recv_null",
    "allgather send_null",
    "alltoall recv_null",
    "alltoall send_null",
    "reduce_scatter_block recv_null",
    "reduce_scatter_block send_null",
    "scan recv_null",
    "scan send_null",
    "exscan recv_null",
    "exscan send_null",
    "scatterv recv_null",
    "gatherv recv_null",
    "gatherv send_null",
    "allgatherv recv_null",
    "allgatherv send_null",
    "alltoallv recv_null",
    "alltoallv send_null",
    "reduce_scatter recv_null",
    "reduce_scatter send_null",
    /* and crashes. */
    "allgather no_communicator",
    "allgatherv recv_count_negative",
    "allgatherv one_recv_count_negative",
    "allgatherv counts_null",
    "exscan recv_in_place",
    "exscan both_in_place",
    "exscan in_place_between_groups",
    "exscan scan_between_groups",
    "reduce_scatter_block in_place_between_groups",
    "reduce_scatter in_place_between_groups",
#endif
};

static int is_left_out(const char* collective, const char* name) {
    char both[100];
    snprintf(both, sizeof both, "%s %s", collective, name);
    for (size_t i = 0; i < sizeof left_out / sizeof *left_out; ++i)
        if (strcmp(left_out[i], both) == 0) return 1;
    return 0;
}

/* All ranks' numbers, for all. The drop-in does not look at messages between two ranks. */
static void share(int* all, const int* mine, int count) {
    if (me != 0) {
        MPI_Send(mine, count, MPI_INT, 0, 0, beside);
        MPI_Recv(all, count * ranks, MPI_INT, 0, 0, beside, MPI_STATUS_IGNORE);
        return;
    }
    memcpy(all, mine, sizeof(int) * (size_t)count);
    for (int r = 1; r < ranks; ++r) MPI_Recv(all + count * r, count, MPI_INT, r, 0, beside, MPI_STATUS_IGNORE);
    for (int r = 1; r < ranks; ++r) MPI_Send(all, count * ranks, MPI_INT, r, 0, beside);
}

/* Makes a wrong call, then a right one, and describes both on a line. Whether all ranks were alike right or wrong. */
static int try_case(enum what w, size_t k, char* line, size_t room) {
    struct call c = right_call(w, used);
    int mine[2], all[2 * most_ranks], sum, sums[most_ranks], alike = 1;
    cases[k].change(&c);
    handled = 0;
    MPI_Error_class(make(&c), &mine[0]);
    mine[1] = handled;
    share(all, mine, 2);
    for (int r = 0; r < ranks; ++r) alike &= (all[2 * r] == MPI_SUCCESS) == (mine[0] == MPI_SUCCESS);
    if (!alike) { /* messages of ranks that were right may still be on their way */
        MPI_Comm_free(&used);
        MPI_Comm_dup(MPI_COMM_WORLD, &used);
    }
    c = right_call(w, used);
    sum = make(&c) == MPI_SUCCESS ? checksum() : -1;
    share(sums, &sum, 1);
    size_t at = (size_t)snprintf(line, room, "%s, %s:", names[w], cases[k].name);
    for (int r = 0; r < ranks; ++r) {
        at += (size_t)snprintf(line + at, room - at, " %s", class_name(all[2 * r]));
        if (all[2 * r + 1] != (all[2 * r] != MPI_SUCCESS))
            at += (size_t)snprintf(line + at, room - at, " (handler called %d times)", all[2 * r + 1]);
    }
    at += (size_t)snprintf(line + at, room - at, "; then");
    for (int r = 0; r < ranks; ++r) at += (size_t)snprintf(line + at, room - at, " %d", sums[r]);
    return alike;
}

int main(int argc, char** argv) {
    MPI_Errhandler handler;
    int repeats = argc > 1 ? atoi(argv[1]) : 1;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    in = malloc(sizeof(int) * (size_t)((n + longer) * ranks));
    out = malloc(sizeof(int) * (size_t)((n + longer) * ranks));
    MPI_Comm_dup(MPI_COMM_WORLD, &beside);
    MPI_Comm_create_errhandler(count_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
    MPI_Comm_split(MPI_COMM_WORLD, me == 0, me, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, me == 0 ? 1 : 0, 0, &between);
    MPI_Comm_set_errhandler(between, handler);
    MPI_Type_contiguous(1, MPI_INT, &uncommitted);
    MPI_Op_create(add, 1, &own_op);
    MPI_Comm_dup(MPI_COMM_WORLD, &used);
    for (int w = 0; w < collectives; ++w) {
        int asked = argc < 3;
        for (int i = 2; i < argc; ++i) asked |= strcmp(argv[i], names[w]) == 0;
        for (size_t k = 0; asked && k < sizeof cases / sizeof *cases; ++k) {
            static char first[1000], again[1000];
            if (!cases[k].applies((enum what)w) || is_left_out(names[w], cases[k].name)) continue;
            for (int i = 0, alike = 1; i < repeats && alike; ++i) {
                alike = try_case((enum what)w, k, i == 0 ? first : again, sizeof first);
                if (me != 0 || (i > 0 && strcmp(first, again) == 0)) continue;
                printf("%s\n", i == 0 ? first : again);
                fflush(stdout);
            }
        }
    }
    MPI_Comm_free(&used);
    MPI_Finalize();
    return 0;
}
