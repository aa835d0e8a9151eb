/* program: collectives of every form, on communicators that come and go, while the last rank is late; and wrong calls,
 * whose errors are returned. Each rank says whether its results are right. Any other error that MPI returns ends the
 * program. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#define INIT(name) MPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#endif

enum { elements = 4096, most_ranks = 16 };
static int me, ranks, wrong;
static double in[elements], out[elements];
static int few[most_ranks * elements / 4], many[most_ranks * elements / 4];

static void check(int code, const char* what) {
    if (code == MPI_SUCCESS) return;
    printf("error of %s on rank %d\n", what, me);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 3);
}
#define CHECK(call) check(call, #call)

static void be_late(int microseconds) {
    if (me == ranks - 1) usleep(microseconds);
}

static void sums(MPI_Comm comm, int times) {
    int mine, size;
    MPI_Comm_rank(comm, &mine);
    MPI_Comm_size(comm, &size);
    for (int n = 0; n < times; ++n) {
        for (int i = 0; i < elements; ++i) in[i] = mine + i + n;
        be_late(1000);
        CHECK(MPI_Allreduce(in, out, elements, MPI_DOUBLE, MPI_SUM, comm));
        for (int i = 0; i < elements; ++i) wrong += out[i] != size * (size - 1) / 2 + (double)size * (i + n);
    }
}

static void broadcasts(MPI_Comm comm, int times) {
    int mine, size;
    MPI_Comm_rank(comm, &mine);
    MPI_Comm_size(comm, &size);
    for (int n = 0; n < times; ++n) {
        const int root = n % size;
        for (int i = 0; i < elements; ++i) out[i] = mine == root ? i + n : -1;
        be_late(500);
        CHECK(MPI_Bcast(out, elements, MPI_DOUBLE, root, comm));
        for (int i = 0; i < elements; ++i) wrong += out[i] != i + n;
    }
}

/* Counts that not every rank knows. */
static void gathered(MPI_Comm comm, int times) {
    int mine, size, counts[most_ranks], places[most_ranks], sent[most_ranks], from[most_ranks];
    MPI_Comm_rank(comm, &mine);
    MPI_Comm_size(comm, &size);
    for (int r = 0, at = 0; r < size; at += counts[r++]) {
        counts[r] = 1000 - 100 * r;
        places[r] = at;
    }
    for (int r = 0; r < size; ++r) {
        sent[r] = counts[mine];
        from[r] = r * counts[mine];
    }
    for (int n = 0; n < times; ++n) {
        for (int i = 0; i < size * counts[mine]; ++i) few[i] = 10 * n + mine;
        CHECK(MPI_Gatherv(few, counts[mine], MPI_INT, many, counts, places, MPI_INT, 0, comm));
        for (int r = 0; mine == 0 && r < size; ++r) wrong += many[places[r]] != 10 * n + r;
        be_late(500);
        CHECK(MPI_Alltoallv(few, sent, from, MPI_INT, many, counts, places, MPI_INT, comm));
        for (int r = 0; r < size; ++r) wrong += many[places[r] + counts[r] - 1] != 10 * n + r;
    }
}

static void started(MPI_Comm comm, int times) {
    int mine, size, done;
    static double other[elements];
    MPI_Request r[2];
    MPI_Comm_rank(comm, &mine);
    MPI_Comm_size(comm, &size);
    for (int n = 0; n < times; ++n) {
        for (int i = 0; i < elements; ++i) {
            in[i] = mine + i + n;
            other[i] = mine == 0 ? i - n : -1;
        }
        CHECK(MPI_Iallreduce(in, out, elements, MPI_DOUBLE, MPI_SUM, comm, &r[0]));
        CHECK(MPI_Ibcast(other, elements, MPI_DOUBLE, 0, comm, &r[1]));
        be_late(300);
        CHECK(MPI_Test(&r[n % 2], &done, MPI_STATUS_IGNORE));
        CHECK(MPI_Waitall(2, r, MPI_STATUSES_IGNORE));
        for (int i = 0; i < elements; ++i)
            wrong += (out[i] != size * (size - 1) / 2 + (double)size * (i + n)) + (other[i] != i - n);
    }
}

static void persistent(MPI_Comm comm, int times) {
    int size;
    MPI_Request r;
    MPI_Comm_size(comm, &size);
    CHECK(INIT(Allreduce)(in, out, elements, MPI_DOUBLE, MPI_MAX, comm, MPI_INFO_NULL, &r));
    for (int n = 0; n < times; ++n) {
        for (int i = 0; i < elements; ++i) in[i] = me + i + n;
        CHECK(MPI_Start(&r));
        CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        for (int i = 0; i < elements; ++i) wrong += out[i] != ranks - 1 + i + n;
    }
    CHECK(MPI_Request_free(&r));
}

static void neighbours(int times) {
    MPI_Comm ring;
    const int periodic = 1;
    CHECK(MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periodic, 0, &ring));
    for (int n = 0; n < times; ++n) {
        few[0] = few[elements / 2] = me;
        CHECK(MPI_Neighbor_alltoall(few, elements / 2, MPI_INT, many, elements / 2, MPI_INT, ring));
        wrong += many[0] != (me + ranks - 1) % ranks || many[elements / 2] != (me + 1) % ranks;
    }
    CHECK(MPI_Comm_free(&ring));
}

/* MPI refuses these, and the program goes on. */
static void wrong_calls(MPI_Comm comm, int times) {
    CHECK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
    for (int n = 0; n < times; ++n) {
        wrong += MPI_Allreduce(in, out, elements, MPI_DOUBLE, MPI_OP_NULL, comm) == MPI_SUCCESS;
        wrong += MPI_Bcast(out, elements, MPI_DOUBLE, ranks, comm) == MPI_SUCCESS;
        sums(comm, 1);
    }
}

#ifdef OPEN_MPI /* others free such a request, and nobody can wait for it any more */
/* Requests that are under way can be neither freed nor cancelled. */
static void refused_requests(MPI_Comm comm, int times) {
    int mine, size;
    MPI_Request r;
    MPI_Comm_rank(comm, &mine);
    MPI_Comm_size(comm, &size);
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
    for (int n = 0; n < times; ++n) {
        for (int i = 0; i < elements; ++i) in[i] = mine + i + n;
        be_late(1000);
        CHECK(MPI_Iallreduce(in, out, elements, MPI_DOUBLE, MPI_SUM, comm, &r));
        (void)MPI_Cancel(&r);
        (void)MPI_Request_free(&r); /* which works if it has ended */
        CHECK(MPI_Wait(&r, MPI_STATUS_IGNORE));
        for (int i = 0; i < elements; ++i) wrong += out[i] != size * (size - 1) / 2 + (double)size * (i + n);
    }
    CHECK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL));
}
#endif

/* Even ranks and odd ones. */
static void between(int times) {
    MPI_Comm half, both;
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half));
    CHECK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 7, &both));
    for (int n = 0; n < times; ++n) {
        int sum = 0, theirs = 0;
        const int mine = me + n;
        CHECK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, both));
        for (int r = 1 - me % 2; r < ranks; r += 2) theirs += r + n;
        wrong += sum != theirs;
    }
    CHECK(MPI_Comm_free(&both));
    CHECK(MPI_Comm_free(&half));
}

int main(int argc, char** argv) {
    MPI_Comm twin, half;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int times = argc > 1 ? atoi(argv[1]) : 20;
    CHECK(MPI_Barrier(MPI_COMM_WORLD));
    sums(MPI_COMM_WORLD, times);
    broadcasts(MPI_COMM_WORLD, times);
    started(MPI_COMM_WORLD, 4);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
    persistent(twin, 3);
    gathered(twin, times / 2);
    CHECK(MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half));
    sums(half, times / 2);
    CHECK(MPI_Comm_free(&half));
    CHECK(MPI_Comm_free(&twin));
    neighbours(3);
    CHECK(MPI_Comm_dup(MPI_COMM_WORLD, &twin));
    sums(twin, 4);
    started(twin, 2);
    wrong_calls(twin, 3);
#ifdef OPEN_MPI
    refused_requests(twin, 3);
#endif
    between(2);
    MPI_Finalize();
    printf("rank %d: %s\n", me, wrong == 0 ? "right" : "wrong");
    return wrong != 0;
}
