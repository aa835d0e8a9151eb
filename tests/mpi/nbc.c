/* LibNBC's interface as a program in C uses it: every operation against MPI's own, many under way at once, wrong
 * arguments, hints, handles in any order, and schedules built by hand.
 *
 *   mpirun -n P nbc [FOLDER]    with a folder, schedules are saved there for `rubato verify --file` */
#include "rubato/nbc.h"
#include "rubato/nbc_schedule.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_ranks = 64, many = 120 };

static int me = 0;
static int ranks = 1;
static int checked = 0;

static void fail(const char* what, int line) {
    printf("rank %d of %d: line %d: %s\n", me, ranks, line, what);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}
#define REQUIRE(condition) ((condition) ? (void)++checked : fail(#condition, __LINE__))
#define OK(call) ((call) == NBC_OK ? (void)++checked : fail(#call " failed", __LINE__))

static int* numbers(int n, int seed) {
    int* const all = malloc(sizeof(int) * (size_t)(n + 1));
    for (int i = 0; i < n; ++i) all[i] = (me * 131 + i * 7 + seed * 17) % 1000;
    return all;
}

static int same(const int* a, const int* b, int n) { return memcmp(a, b, sizeof(int) * (size_t)n) == 0; }

/* A tool in front of one function. */
static int barriers = 0;
int NBC_Ibarrier(MPI_Comm comm, NBC_Handle* handle) {
    ++barriers;
    return PNBC_Ibarrier(comm, handle);
}

/* x -> a x + b, composed: associative, does not commute. */
static void compose(void* left, void* right, int* n, MPI_Datatype* type) {
    const int* const l = left;
    int* const r = right;
    (void)type;
    for (ptrdiff_t i = 0; i < *n; ++i) {
        const int a = l[2 * i] * r[2 * i] % 997;
        const int b = (l[2 * i + 1] * r[2 * i] + r[2 * i + 1]) % 997;
        r[2 * i] = a;
        r[2 * i + 1] = b;
    }
}

static void with_roots(int n, MPI_Comm comm) {
    NBC_Handle h;
    for (int root = 0; root < ranks; ++root) {
        const int wide = n * ranks;
        int *in = numbers(wide, root), *mine = numbers(wide, 1), *theirs = numbers(wide, 1);
        memcpy(mine, in, sizeof(int) * (size_t)wide);
        memcpy(theirs, in, sizeof(int) * (size_t)wide);
        OK(NBC_Ibcast(mine, n, MPI_INT, root, comm, &h));
        OK(NBC_Wait(&h, MPI_STATUS_IGNORE));
        MPI_Bcast(theirs, n, MPI_INT, root, comm);
        REQUIRE(same(mine, theirs, wide));

        OK(NBC_Ireduce(in, mine, n, MPI_INT, MPI_SUM, root, comm, &h));
        OK(NBC_Wait(&h));
        MPI_Reduce(in, theirs, n, MPI_INT, MPI_SUM, root, comm);
        REQUIRE(same(mine, theirs, wide));

        OK(NBC_Igather(in, n, MPI_INT, mine, n, MPI_INT, root, comm, &h));
        OK(NBC_Wait(&h));
        MPI_Gather(in, n, MPI_INT, theirs, n, MPI_INT, root, comm);
        REQUIRE(same(mine, theirs, wide));

        OK(NBC_Iscatter(in, n, MPI_INT, mine, n, MPI_INT, root, comm, &h));
        OK(NBC_Wait(&h));
        MPI_Scatter(in, n, MPI_INT, theirs, n, MPI_INT, root, comm);
        REQUIRE(same(mine, theirs, wide));

        /* Chunks of different sizes, in reverse; counts are given at the root alone. */
        int counts[most_ranks], places[most_ranks], total = 0;
        for (int r = ranks - 1; r >= 0; --r) counts[r] = r % 3 * n / 2, places[r] = total, total += counts[r];
        int *big = numbers(total, 3), *mine_v = numbers(total, 4), *theirs_v = numbers(total, 4);
        OK(NBC_Igatherv(in, counts[me], MPI_INT, mine_v, me == root ? counts : NULL, me == root ? places : NULL,
                        MPI_INT, root, comm, &h));
        OK(NBC_Wait(&h));
        MPI_Gatherv(in, counts[me], MPI_INT, theirs_v, counts, places, MPI_INT, root, comm);
        REQUIRE(same(mine_v, theirs_v, total));
        OK(NBC_Iscatterv(big, me == root ? counts : NULL, me == root ? places : NULL, MPI_INT, mine, counts[me],
                         MPI_INT, root, comm, &h));
        OK(NBC_Wait(&h));
        MPI_Scatterv(big, counts, places, MPI_INT, theirs, counts[me], MPI_INT, root, comm);
        REQUIRE(same(mine, theirs, wide));
        free(in), free(mine), free(theirs), free(big), free(mine_v), free(theirs_v);
    }
}

static void without_roots(int n, MPI_Comm comm) {
    NBC_Handle h;
    const int wide = n * ranks;
    int *in = numbers(wide, 5), *mine = numbers(wide, 1), *theirs = numbers(wide, 1);
    OK(NBC_Ibarrier(comm, &h));
    OK(NBC_Wait(&h));

    OK(NBC_Iallreduce(in, mine, n, MPI_INT, MPI_MAX, comm, &h));
    OK(NBC_Wait(&h));
    MPI_Allreduce(in, theirs, n, MPI_INT, MPI_MAX, comm);
    REQUIRE(same(mine, theirs, wide));
    OK(NBC_Iallreduce(MPI_IN_PLACE, mine, n, MPI_INT, MPI_SUM, comm, &h));
    OK(NBC_Wait(&h));
    MPI_Allreduce(MPI_IN_PLACE, theirs, n, MPI_INT, MPI_SUM, comm);
    REQUIRE(same(mine, theirs, wide));

    OK(NBC_Iallgather(in, n, MPI_INT, mine, n, MPI_INT, comm, &h));
    OK(NBC_Wait(&h));
    MPI_Allgather(in, n, MPI_INT, theirs, n, MPI_INT, comm);
    REQUIRE(same(mine, theirs, wide));

    OK(NBC_Ialltoall(in, n, MPI_INT, mine, n, MPI_INT, comm, &h));
    OK(NBC_Wait(&h));
    MPI_Alltoall(in, n, MPI_INT, theirs, n, MPI_INT, comm);
    REQUIRE(same(mine, theirs, wide));

    OK(NBC_Iscan(in, mine, n, MPI_INT, MPI_SUM, comm, &h));
    OK(NBC_Wait(&h));
    MPI_Scan(in, theirs, n, MPI_INT, MPI_SUM, comm);
    REQUIRE(same(mine, theirs, wide));
    OK(NBC_Iexscan(in, mine, n, MPI_INT, MPI_SUM, comm, &h));
    OK(NBC_Wait(&h));
    MPI_Exscan(in, theirs, n, MPI_INT, MPI_SUM, comm);
    REQUIRE(me == 0 || same(mine, theirs, wide));

    int counts[most_ranks], places[most_ranks], total = 0;
    for (int r = 0; r < ranks; ++r) counts[r] = (r + 1) % 3 * n / 2, places[r] = total, total += counts[r];
    OK(NBC_Ireduce_scatter(in, mine, counts, MPI_INT, MPI_SUM, comm, &h));
    OK(NBC_Wait(&h));
    MPI_Reduce_scatter(in, theirs, counts, MPI_INT, MPI_SUM, comm);
    REQUIRE(same(mine, theirs, counts[me]));
    OK(NBC_Iallgatherv(in, counts[me], MPI_INT, mine, counts, places, MPI_INT, comm, &h));
    OK(NBC_Wait(&h));
    MPI_Allgatherv(in, counts[me], MPI_INT, theirs, counts, places, MPI_INT, comm);
    REQUIRE(same(mine, theirs, total));

    /* Rank r sends r + s + 1 pieces of data to rank s. */
    int sends[most_ranks], send_places[most_ranks], recvs[most_ranks], recv_places[most_ranks], out = 0, back = 0;
    for (int r = 0; r < ranks; ++r) {
        sends[r] = recvs[r] = (me + r) % 4 * n / 4;
        send_places[r] = out, recv_places[r] = back;
        out += sends[r], back += recvs[r];
    }
    OK(NBC_Ialltoallv(in, sends, send_places, MPI_INT, mine, recvs, recv_places, MPI_INT, comm, &h));
    OK(NBC_Wait(&h));
    MPI_Alltoallv(in, sends, send_places, MPI_INT, theirs, recvs, recv_places, MPI_INT, comm);
    REQUIRE(same(mine, theirs, back));

    /* Each rank is sent data of another type; the types are freed before the end. */
    MPI_Datatype types[most_ranks], strided;
    MPI_Type_vector(2, 1, 2, MPI_INT, &strided);
    MPI_Type_commit(&strided);
    int ones[most_ranks], bytes[most_ranks], wide_bytes[most_ranks];
    int *from = numbers(4 * ranks, 8), *to_mine = numbers(4 * ranks, 9), *to_theirs = numbers(4 * ranks, 9);
    for (int r = 0; r < ranks; ++r) {
        const int gaps = (me + r) % 2;
        types[r] = gaps ? strided : MPI_INT;
        ones[r] = gaps ? 1 : 2;
        bytes[r] = wide_bytes[r] = r * 4 * (int)sizeof(int);
    }
    MPI_Alltoallw(from, ones, bytes, types, to_theirs, ones, wide_bytes, types, comm);
    OK(NBC_Ialltoallw(from, ones, bytes, types, to_mine, ones, wide_bytes, types, comm, &h));
    MPI_Type_free(&strided);
    OK(NBC_Wait(&h));
    REQUIRE(same(to_mine, to_theirs, 4 * ranks));
    free(in), free(mine), free(theirs), free(from), free(to_mine), free(to_theirs);
}

static void own_operator(void) {
    MPI_Op op;
    MPI_Datatype pair;
    NBC_Handle h;
    MPI_Op_create(compose, 0, &op);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    for (int ring = 0; ring < 2; ++ring) { /* a ring is not for it: Rubato chooses another way */
        MPI_Comm comm;
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
        if (ring) {
            MPI_Info info;
            MPI_Info_create(&info);
            MPI_Info_set(info, NBC_ALLREDUCE_ALG_INFO_KEY, NBC_ALLREDUCE_ALG_RING);
            OK(NBC_Comm_set_info(comm, info));
            MPI_Info_free(&info);
        }
        int *in = numbers(200, 2), *mine = numbers(200, 3), *theirs = numbers(200, 3);
        OK(NBC_Iallreduce(in, mine, 100, pair, op, comm, &h));
        OK(NBC_Wait(&h));
        MPI_Allreduce(in, theirs, 100, pair, op, comm);
        REQUIRE(same(mine, theirs, 200));
        OK(NBC_Iscan(in, mine, 100, pair, op, comm, &h));
        OK(NBC_Wait(&h));
        MPI_Scan(in, theirs, 100, pair, op, comm);
        REQUIRE(same(mine, theirs, 200));
        free(in), free(mine), free(theirs);
        MPI_Comm_free(&comm);
    }
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
}

/* Many under way at once, waited for in many orders. */
static void at_once(int how) {
    static NBC_Handle handles[many];
    int *in[many], *out[many];
    int index, flag, left = many;
    for (int i = 0; i < many; ++i) {
        in[i] = numbers(50, i), out[i] = numbers(50, 0);
        OK(NBC_Iallreduce(in[i], out[i], 50, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &handles[i]));
    }
    if (how == 0) OK(NBC_Waitall(many, handles, MPI_STATUSES_IGNORE));
    for (int i = 0; how == 1 && i < many; ++i) OK(NBC_Wait(&handles[(i * 7 + me) % many], MPI_STATUS_IGNORE));
    for (; how == 2 && left > 0; --left) {
        OK(NBC_Waitany(many, handles, &index, MPI_STATUS_IGNORE));
        REQUIRE(index >= 0 && index < many);
    }
    for (flag = 0; how == 3 && !flag;) OK(NBC_Testall(many, handles, &flag, MPI_STATUSES_IGNORE));
    while (how == 4 && left > 0) {
        OK(NBC_Testany(many, handles, &index, &flag, MPI_STATUS_IGNORE));
        left -= flag;
    }
    for (int i = 0; how == 5 && i < many; ++i) {
        while (NBC_Test(&handles[i]) == NBC_CONTINUE) continue;
        OK(NBC_Testold(&handles[i])); /* of nothing */
    }
    for (int i = 0; how == 6 && i < many; ++i)
        for (flag = 0; !flag;) OK(NBC_Test(&handles[i], &flag, MPI_STATUS_IGNORE));
    OK(NBC_Waitany(many, handles, &index, MPI_STATUS_IGNORE));
    REQUIRE(index == MPI_UNDEFINED);
    OK(NBC_Testany(many, handles, &index, &flag, MPI_STATUS_IGNORE));
    REQUIRE(index == MPI_UNDEFINED && flag);
    for (int i = 0; i < many; ++i) {
        int theirs[50];
        MPI_Allreduce(in[i], theirs, 50, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        REQUIRE(same(out[i], theirs, 50));
        free(in[i]), free(out[i]);
    }
}

static void hints(void) {
    MPI_Comm comm;
    MPI_Info info, back;
    char value[MPI_MAX_INFO_VAL + 1];
    int found = 0, size = 0;
    void* steps = NULL;
    NBC_Handle h;
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Info_create(&info);
    static const char* const names[] = {"bcast/linear", "bcast/binomial", "bcast/chain"};
    for (int a = 0; a < 3; ++a) {
        int* const data = numbers(100, a);
        const char text[] = {(char)('0' + a), '\0'};
        MPI_Info_set(info, NBC_BCAST_ALG_INFO_KEY, text);
        OK(NBC_Comm_set_info(comm, info));
        OK(NBC_Comm_get_info(comm, &back));
        MPI_Info_get(back, NBC_BCAST_ALG_INFO_KEY, MPI_MAX_INFO_VAL, value, &found);
        REQUIRE(found && strcmp(value, text) == 0);
        MPI_Info_free(&back);
        OK(NBC_Ibcast(data, 100, MPI_INT, 0, comm, &h));
        OK(NBC_Get_schedule(&h, &steps, &size));
        REQUIRE(size > 0 && strncmp(steps, names[a], strlen(names[a])) == 0);
        OK(NBC_Wait(&h));
        REQUIRE(NBC_Get_schedule(&h, &steps, &size) == NBC_BAD_SCHED);
        free(data);
    }
    MPI_Info_set(info, NBC_BCAST_ALG_INFO_KEY, "3");
    REQUIRE(NBC_Comm_set_info(comm, info) == NBC_INVALID_PARAM);
    REQUIRE(NBC_Comm_set_info(comm, MPI_INFO_NULL) == NBC_INVALID_PARAM);
    MPI_Info_free(&info);
    MPI_Comm_free(&comm);
}

/* Refused on all ranks alike; then the communicator works as before. */
static void wrong_arguments(void) {
    NBC_Handle h;
    int *data = numbers(100, 1), *out = numbers(100 * ranks, 1), flag = 0, index = 0;
    REQUIRE(NBC_Ibcast(data, -1, MPI_INT, 0, MPI_COMM_WORLD, &h) == NBC_INVALID_PARAM);
    OK(NBC_Wait(&h)); /* of nothing */
    REQUIRE(NBC_Ibcast(data, 1, MPI_INT, ranks, MPI_COMM_WORLD, &h) == NBC_INVALID_PARAM);
    REQUIRE(NBC_Ibcast(data, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD, &h) == NBC_DATATYPE_NOT_SUPPORTED);
    REQUIRE(NBC_Ibcast(data, 1, MPI_INT, 0, MPI_COMM_NULL, &h) == NBC_INVALID_PARAM);
    REQUIRE(NBC_Ibcast(data, 1, MPI_INT, 0, MPI_COMM_WORLD, NULL) == NBC_INVALID_PARAM);
    REQUIRE(NBC_Ibcast_inter(data, 1, MPI_INT, 0, MPI_COMM_WORLD, &h) == NBC_NOT_IMPLEMENTED);
    REQUIRE(NBC_Iallreduce(data, out, 1, MPI_INT, MPI_OP_NULL, MPI_COMM_WORLD, &h) == NBC_OP_NOT_SUPPORTED);
    REQUIRE(NBC_Iallreduce(data, data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &h) == NBC_INVALID_PARAM);
    REQUIRE(NBC_Ialltoallv(data, NULL, NULL, MPI_INT, out, NULL, NULL, MPI_INT, MPI_COMM_WORLD, &h) ==
            NBC_INVALID_PARAM);
    REQUIRE(NBC_Ialltoallw(data, NULL, NULL, NULL, out, NULL, NULL, NULL, MPI_COMM_WORLD, &h) == NBC_INVALID_PARAM);
    REQUIRE(NBC_Wait(NULL, MPI_STATUS_IGNORE) == NBC_INVALID_PARAM);
    REQUIRE(NBC_Test(&h, NULL, MPI_STATUS_IGNORE) == NBC_INVALID_PARAM);
    REQUIRE(NBC_Waitall(-1, &h, MPI_STATUSES_IGNORE) == NBC_INVALID_PARAM);
    REQUIRE(NBC_Waitany(2, NULL, &index, MPI_STATUS_IGNORE) == NBC_INVALID_PARAM);
    REQUIRE(NBC_Testall(1, NULL, &flag, MPI_STATUSES_IGNORE) == NBC_INVALID_PARAM);
    REQUIRE(NBC_Operation(out, data, data, MPI_OP_NULL, MPI_INT, 1) == NBC_OP_NOT_SUPPORTED);
    OK(NBC_Iallgather(data, 100, MPI_INT, out, 100, MPI_INT, MPI_COMM_WORLD, &h));
    OK(NBC_Wait(&h));
    REQUIRE(same(out + (ptrdiff_t)100 * me, data, 100));
    free(data), free(out);
}

/* Against MPI's own, on a line of ranks and on a graph whose edges go one way. */
static void neighbours_on(MPI_Comm comm, int n, int has_weights) {
    NBC_Handle h;
    int ins = 0, outs = 0, weighted = -1, sources[2], destinations[2], weights[2], more[2];
    OK(NBC_Comm_neighbors_count(comm, &ins, &outs, &weighted));
    REQUIRE(ins <= 2 && outs <= 2 && weighted == has_weights);
    OK(NBC_Comm_neighbors(comm, ins, sources, weights, outs, destinations, more));
    if (has_weights) REQUIRE(weights[0] == 5 && more[0] == 5);
    int *in = numbers(2 * n, 1), *mine = numbers(2 * n, 2), *theirs = numbers(2 * n, 2);
    OK(NBC_Ineighbor_allgather(in, n, MPI_INT, mine, n, MPI_INT, comm, &h));
    MPI_Neighbor_allgather(in, n, MPI_INT, theirs, n, MPI_INT, comm);
    OK(NBC_Wait(&h));
    REQUIRE(same(mine, theirs, 2 * n));
    OK(NBC_Ineighbor_alltoall(in, n, MPI_INT, mine, n, MPI_INT, comm, &h));
    OK(NBC_Wait(&h));
    MPI_Neighbor_alltoall(in, n, MPI_INT, theirs, n, MPI_INT, comm);
    REQUIRE(same(mine, theirs, 2 * n));
    memset(mine, 0, sizeof(int) * 2 * (size_t)n), memset(theirs, 0, sizeof(int) * 2 * (size_t)n);
    OK(NBC_Ineighbor_xchg(in, n, MPI_INT, mine, n, MPI_INT, comm, &h));
    OK(NBC_Wait(&h));
    MPI_Neighbor_alltoall(in, n, MPI_INT, theirs, n, MPI_INT, comm);
    REQUIRE(same(mine, theirs, 2 * n));

    int sends[2], recvs[2], places[2] = {n, 0}, all[2] = {n, n};
    MPI_Aint bytes[2] = {(MPI_Aint)sizeof(int) * n, 0};
    MPI_Datatype types[2], pair;
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    for (int i = 0; i < outs; ++i) sends[i] = (me + destinations[i] + 3) % 3 * n / 4;
    for (int i = 0; i < ins; ++i) recvs[i] = (me + sources[i] + 3) % 3 * n / 4;
    OK(NBC_Ineighbor_allgatherv(in, n, MPI_INT, mine, all, places, MPI_INT, comm, &h));
    OK(NBC_Wait(&h));
    MPI_Neighbor_allgatherv(in, n, MPI_INT, theirs, all, places, MPI_INT, comm);
    REQUIRE(same(mine, theirs, 2 * n));
    OK(NBC_Ineighbor_alltoallv(in, sends, places, MPI_INT, mine, recvs, places, MPI_INT, comm, &h));
    OK(NBC_Wait(&h));
    MPI_Neighbor_alltoallv(in, sends, places, MPI_INT, theirs, recvs, places, MPI_INT, comm);
    REQUIRE(same(mine, theirs, 2 * n));
    memset(mine, 0, sizeof(int) * 2 * (size_t)n), memset(theirs, 0, sizeof(int) * 2 * (size_t)n);
    OK(NBC_Ineighbor_xchgv(in, sends, places, MPI_INT, mine, recvs, places, MPI_INT, comm, &h));
    OK(NBC_Wait(&h));
    MPI_Neighbor_alltoallv(in, sends, places, MPI_INT, theirs, recvs, places, MPI_INT, comm);
    REQUIRE(same(mine, theirs, 2 * n));
    memset(mine, 0, sizeof(int) * 2 * (size_t)n), memset(theirs, 0, sizeof(int) * 2 * (size_t)n);
    for (int i = 0; i < outs; ++i) sends[i] /= 2;
    for (int i = 0; i < ins; ++i) recvs[i] /= 2;
    types[0] = types[1] = pair;
    MPI_Neighbor_alltoallw(in, sends, bytes, types, theirs, recvs, bytes, types, comm);
    OK(NBC_Ineighbor_alltoallw(in, sends, bytes, types, mine, recvs, bytes, types, comm, &h));
    MPI_Type_free(&pair);
    OK(NBC_Wait(&h));
    REQUIRE(same(mine, theirs, 2 * n));
    free(in), free(mine), free(theirs);
}

static void neighbours(void) {
    MPI_Comm line, ring, graph;
    NBC_Handle h;
    const int no = 0, yes = 1, next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
    const int to[2] = {me, next}, from[2] = {before, me}, edges = ranks > 1 ? 2 : 1, weights[2] = {5, 5};
    int some = 0, a = me, b = -1;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &no, 0, &line);
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &yes, 0, &ring);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, edges, from, weights, edges, to, weights, MPI_INFO_NULL, 0, &graph);
    for (int n = 1; n <= 5000; n += 4999) {
        neighbours_on(line, n, 0);
        neighbours_on(graph, n, 1);
    }
    for (int by = -2; by <= 2; ++by) { /* along the ring, and on the line, where nothing comes from outside */
        OK(NBC_Icart_shift_xchg(&a, 1, MPI_INT, &b, 1, MPI_INT, 0, by, ring, &h));
        OK(NBC_Wait(&h));
        REQUIRE(b == ((me - by) % ranks + ranks) % ranks);
        b = -1;
        OK(NBC_Icart_shift_xchg(&a, 1, MPI_INT, &b, 1, MPI_INT, 0, by, line, &h));
        OK(NBC_Wait(&h));
        REQUIRE(b == (me - by >= 0 && me - by < ranks ? me - by : -1));
    }
    REQUIRE(NBC_Ineighbor_alltoall(&a, 1, MPI_INT, &b, 1, MPI_INT, MPI_COMM_WORLD, &h) == NBC_INVALID_TOPOLOGY_COMM);
    REQUIRE(NBC_Comm_neighbors_count(MPI_COMM_WORLD, &some, &some, &some) == NBC_INVALID_TOPOLOGY_COMM);
    REQUIRE(NBC_Icart_shift_xchg(&a, 1, MPI_INT, &b, 1, MPI_INT, 0, 1, graph, &h) == NBC_INVALID_TOPOLOGY_COMM);
    MPI_Comm_free(&line), MPI_Comm_free(&ring), MPI_Comm_free(&graph);
}

static void local_ones(void) {
    int a[2] = {2, 3}, b[2] = {5, 7}, c[2];
    MPI_Op op;
    MPI_Datatype pair;
    MPI_Op_create(compose, 0, &op);
    MPI_Type_contiguous(2, MPI_INT, &pair);
    MPI_Type_commit(&pair);
    OK(NBC_Operation(c, a, b, op, pair, 1)); /* a then b */
    REQUIRE(c[0] == 10 && c[1] == 22);
    OK(NBC_Operation(b, a, b, op, pair, 1));
    REQUIRE(b[0] == 10 && b[1] == 22);
    b[0] = 5, b[1] = 7;
    OK(NBC_Operation(a, a, b, op, pair, 1));
    REQUIRE(a[0] == 10 && a[1] == 22);
    OK(NBC_Copy(a, 1, pair, c, 2, MPI_INT, MPI_COMM_SELF));
    REQUIRE(same(a, c, 2));
    REQUIRE(NBC_Copy(a, 2, MPI_INT, c, 1, MPI_INT, MPI_COMM_SELF) == NBC_INVALID_PARAM);
    MPI_Op_free(&op);
    MPI_Type_free(&pair);
}

/* A communicator that is freed while something is under way on it. */
static void freed(void) {
    MPI_Comm comm;
    NBC_Handle h;
    int *in = numbers(1000, 3), *out = numbers(1000, 4), *theirs = numbers(1000, 4);
    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    OK(NBC_Iallreduce(in, out, 1000, MPI_INT, MPI_SUM, comm, &h));
    MPI_Comm_free(&comm);
    OK(NBC_Wait(&h));
    MPI_Allreduce(in, theirs, 1000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    REQUIRE(same(out, theirs, 1000));
    free(in), free(out), free(theirs);
}

/* Listing A.1 of Hoefler 2008. */
static int dissemination(MPI_Comm comm, NBC_Handle* handle, const char* save) {
    int round = -1, rank, p, res, maxround;
    NBC_Schedule* schedule = malloc(sizeof(NBC_Schedule));
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &p);
    handle->tmpbuf = NULL;
    res = NBC_Sched_create(schedule);
    maxround = (int)ceil(log(p) / log(2) - 1);
    while (round < maxround) {
        round++;
        res |= NBC_Sched_send(NULL, 0, MPI_BYTE, (rank + (1 << round)) % p, schedule);
        res |= NBC_Sched_rcv(NULL, 0, MPI_BYTE, (rank - (1 << round) + p) % p, schedule);
        if (round < maxround) res |= NBC_Sched_barrier(schedule);
    }
    res |= NBC_Sched_commit(schedule);
    if (save != NULL) res |= NBC_Sched_save(schedule, "barrier", NULL, NULL, 0, MPI_BYTE, 0, comm, save);
    res |= NBC_Start(handle, comm, schedule);
    free(schedule);
    return res;
}

/* Along a line of ranks, and back: sums in temporary memory. `wrong`: the last rank forgets its own part. */
static int line_allreduce(int* in, int* out, int n, NBC_Handle* handle, const char* save, int wrong) {
    NBC_Schedule schedule;
    int res = NBC_Sched_create(&schedule);
    int* const part = malloc(sizeof(int) * (size_t)(n + 1));
    handle->tmpbuf = part;
    if (me == 0)
        res |= NBC_Sched_copy(in, n, MPI_INT, out, n, MPI_INT, &schedule);
    else {
        res |= NBC_Sched_recv(part, n, MPI_INT, me - 1, &schedule);
        res |= NBC_Sched_barrier(&schedule);
        if (wrong && me == ranks - 1)
            res |= NBC_Sched_copy(part, n, MPI_INT, out, n, MPI_INT, &schedule);
        else
            res |= NBC_Sched_op(out, part, in, n, MPI_INT, MPI_SUM, &schedule);
    }
    if (me + 1 < ranks) {
        res |= NBC_Sched_send(out, n, MPI_INT, me + 1, &schedule);
        res |= NBC_Sched_barrier(&schedule);
        res |= NBC_Sched_recv(out, n, MPI_INT, me + 1, &schedule);
    }
    res |= NBC_Sched_barrier(&schedule);
    if (me > 0) res |= NBC_Sched_send(out, n, MPI_INT, me - 1, &schedule);
    res |= NBC_Sched_commit(&schedule);
    if (save != NULL) res |= NBC_Sched_save(&schedule, "allreduce", in, out, n, MPI_INT, 0, MPI_COMM_WORLD, save);
    return res | NBC_Start(handle, MPI_COMM_WORLD, &schedule);
}

static void built(const char* folder) {
    NBC_Handle handles[many];
    int *in[many], *out[many], theirs[64];
    char barrier[4096], right[4096], wrong[4096];
    NBC_Schedule schedule = NULL;
    snprintf(barrier, sizeof barrier, "%s/barrier.json", folder ? folder : "");
    snprintf(right, sizeof right, "%s/right.json", folder ? folder : "");
    snprintf(wrong, sizeof wrong, "%s/wrong.json", folder ? folder : "");
    for (int i = 0; i < 20; ++i) {
        OK(dissemination(MPI_COMM_WORLD, &handles[i], folder && i == 0 ? barrier : NULL));
        OK(NBC_Wait(&handles[i]));
    }
    for (int i = 0; i < many; ++i) {
        in[i] = numbers(64, i), out[i] = numbers(64, 0);
        OK(line_allreduce(in[i], out[i], 64, &handles[i], folder && i == 0 ? right : NULL, 0));
    }
    for (int i = 0; i < many; ++i) {
        const int which = (i * 7 + me) % many;
        if (i % 3 == 0)
            OK(NBC_Free(&handles[which]));
        else
            while (NBC_Progress(&handles[which]) != NBC_OK) continue;
    }
    for (int i = 0; i < many; ++i) {
        MPI_Allreduce(in[i], theirs, 64, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        REQUIRE(same(out[i], theirs, 64));
    }
    if (folder) {
        OK(line_allreduce(in[0], out[0], 64, &handles[0], wrong, 1));
        OK(NBC_Wait(&handles[0]));
    }
    for (int i = 0; i < many; ++i) free(in[i]), free(out[i]);

    REQUIRE(NBC_Start(&handles[0], MPI_COMM_WORLD, &schedule) == NBC_BAD_SCHED);
    OK(NBC_Sched_create(&schedule));
    REQUIRE(NBC_Start(&handles[0], MPI_COMM_WORLD, &schedule) == NBC_BAD_SCHED); /* not committed */
    REQUIRE(NBC_Sched_send(theirs, -1, MPI_INT, 0, &schedule) == NBC_INVALID_PARAM);
    REQUIRE(NBC_Sched_op(theirs, theirs, theirs, 1, MPI_INT, MPI_OP_NULL, &schedule) == NBC_OP_NOT_SUPPORTED);
    OK(NBC_Sched_send(theirs, 1, MPI_INT, ranks, &schedule));
    OK(NBC_Sched_commit(&schedule));
    REQUIRE(NBC_Sched_send(theirs, 1, MPI_INT, 0, &schedule) == NBC_BAD_SCHED);
    REQUIRE(NBC_Sched_save(&schedule, "no such", theirs, theirs, 1, MPI_INT, 0, MPI_COMM_WORLD, "x") ==
            NBC_INVALID_PARAM);
    REQUIRE(NBC_Sched_save(&schedule, "gatherv", theirs, theirs, 1, MPI_INT, 0, MPI_COMM_WORLD, "x") ==
            NBC_INVALID_PARAM);
    REQUIRE(NBC_Start(&handles[0], MPI_COMM_WORLD, &schedule) == NBC_INVALID_PARAM); /* no such rank */
    OK(NBC_Sched_free(&schedule));
    OK(NBC_Sched_create(&schedule));
    REQUIRE(NBC_Sched_op(theirs, theirs + 1, theirs + 2, 1, MPI_DOUBLE, MPI_BAND, &schedule) == NBC_OP_NOT_SUPPORTED);
    MPI_Datatype raw;
    MPI_Type_vector(2, 1, 2, MPI_INT, &raw);
    REQUIRE(NBC_Sched_send(theirs, 1, raw, 0, &schedule) == NBC_DATATYPE_NOT_SUPPORTED); /* not committed */
    MPI_Type_free(&raw);
    REQUIRE(NBC_Sched_copy(theirs, 3, MPI_INT, theirs + 8, 2, MPI_DOUBLE, &schedule) == NBC_DATATYPE_NOT_SUPPORTED);
    OK(NBC_Sched_copy(theirs, 0, MPI_INT, theirs + 8, 0, MPI_INT, &schedule));
    OK(NBC_Sched_free(&schedule));
    /* The ranks count what one of them is refused. */
    int mine[16], sum[16];
    for (int i = 0; i < 16; ++i) mine[i] = me + i;
    if (me == 0) REQUIRE(NBC_Start(&handles[0], MPI_COMM_WORLD, &schedule) == NBC_BAD_SCHED);
    if (me != 0) {
        OK(NBC_Sched_create(&schedule));
        OK(NBC_Sched_commit(&schedule));
        handles[0].tmpbuf = NULL;
        OK(NBC_Start(&handles[0], MPI_COMM_WORLD, &schedule));
        OK(NBC_Wait(&handles[0]));
    }
    OK(line_allreduce(mine, sum, 16, &handles[0], NULL, 0));
    OK(NBC_Wait(&handles[0]));
    REQUIRE(sum[3] == ranks * 3 + ranks * (ranks - 1) / 2);
}

/* Everybody sends all it has to the rank 2^k places on: right for a maximum, as a value may be counted twice. */
static int spread_maximum(int* in, int* out, int n, NBC_Handle* handle, MPI_Op op, const char* save) {
    NBC_Schedule schedule;
    int res = NBC_Sched_create(&schedule);
    int* const part = malloc(sizeof(int) * (size_t)(n + 1));
    handle->tmpbuf = part;
    res |= NBC_Sched_copy(in, n, MPI_INT, out, n, MPI_INT, &schedule);
    for (int w = 1; w < ranks; w *= 2) {
        res |= NBC_Sched_barrier(&schedule);
        res |= NBC_Sched_send(out, n, MPI_INT, (me + w) % ranks, &schedule);
        res |= NBC_Sched_recv(part, n, MPI_INT, (me - w + ranks) % ranks, &schedule);
        res |= NBC_Sched_barrier(&schedule);
        res |= NBC_Sched_op(out, part, out, n, MPI_INT, op, &schedule);
    }
    res |= NBC_Sched_commit(&schedule);
    if (save != NULL) res |= NBC_Sched_save(&schedule, "allreduce", in, out, n, MPI_INT, 0, MPI_COMM_WORLD, save);
    return res | NBC_Start(handle, MPI_COMM_WORLD, &schedule);
}

static void saved(const char* folder) {
    int in[8], out[8], theirs[8];
    char file[4096];
    NBC_Handle h;
    for (int i = 0; i < 8; ++i) in[i] = (me * 7 + i * 3) % 11;
    snprintf(file, sizeof file, "%s/maximum.json", folder ? folder : "");
    OK(spread_maximum(in, out, 8, &h, MPI_MAX, folder ? file : NULL));
    OK(NBC_Wait(&h));
    MPI_Allreduce(in, theirs, 8, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    REQUIRE(same(out, theirs, 8));
    if (folder == NULL || ranks == 1) return;
    /* One rank has another operator: refused on all of them. */
    REQUIRE((spread_maximum(in, out, 8, &h, me == 1 ? MPI_MIN : MPI_MAX, file) & NBC_OP_NOT_SUPPORTED) != 0);
    OK(NBC_Wait(&h));
    REQUIRE(spread_maximum(in, out, 8, &h, MPI_MAX, "/no/such/folder/x.json") == NBC_INVALID_PARAM);
    OK(NBC_Wait(&h));
    snprintf(file, sizeof file, "%s/twice.json", folder);
    OK(spread_maximum(in, out, 8, &h, MPI_SUM, file));
    OK(NBC_Wait(&h));
}

/* The first use of a communicator waits for all ranks, and meanwhile goes on with what others wait for. */
static void first_use(void) {
    MPI_Comm other;
    NBC_Handle h, later;
    int *in = numbers(3000, 3), *out = numbers(3000, 4), *theirs = numbers(3000, 4);
    MPI_Comm_dup(MPI_COMM_WORLD, &other);
    for (int built = 0; built < 2; ++built) { /* for its messages a schedule needs something more */
        OK(built ? line_allreduce(in, out, 3000, &h, NULL, 0)
                 : NBC_Iallreduce(in, out, 3000, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &h));
        if (me % 2 == 0) OK(NBC_Wait(&h));
        if (built)
            OK(dissemination(other, &later, NULL));
        else
            OK(NBC_Ibarrier(other, &later));
        OK(NBC_Wait(&h));
        OK(NBC_Wait(&later));
        MPI_Allreduce(in, theirs, 3000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        REQUIRE(same(out, theirs, 3000));
    }
    /* Freed with a schedule under way. */
    OK(dissemination(other, &later, NULL));
    MPI_Comm_free(&other);
    OK(NBC_Wait(&later));
    free(in), free(out), free(theirs);
}

int main(int argc, char** argv) {
    int level = 0;
    MPI_Init_thread(&argc, &argv, getenv("NBC_FUNNELED") ? MPI_THREAD_FUNNELED : MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int n = 0; n <= 3000; n = n * 3 + 1) {
        with_roots(n, MPI_COMM_WORLD);
        without_roots(n, MPI_COMM_WORLD);
    }
    REQUIRE(barriers > 0);
    own_operator();
    for (int how = 0; how < 7; ++how) at_once(how);
    hints();
    local_ones();
    neighbours();
    wrong_arguments();
    freed();
    first_use();
    built(argc > 1 ? argv[1] : NULL);
    saved(argc > 1 ? argv[1] : NULL);
    NBC_Reset_times();
    if (me == 0) NBC_Print_times(1);
    if (me == 0) printf("%d checks passed\n", checked);
    MPI_Finalize();
    return 0;
}
