/* unsized BYTES CALLS [spawn]: scatterv, gatherv and alltoallv of some BYTES, whose sizes differ between ranks and, by
   up to two, from call to call; in the middle sizes change for good, and in some calls there is no data. One rank is
   late. All results are checked. With spawn: together with a rank of another world. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { most_ranks = 16 };
static int me, ranks, wrong;

/* Numbers from one rank to another in a call. */
static int size(int usual, int from, int to, int call, int calls) {
    if (call % 17 == 16 || (call % 12 == 5 && from == 0)) return 0;
    if (call > calls / 2) usual /= 5;
    return usual * (2 + (from + 2 * to + call) % 3) / 4;
}
static int number(int from, int to, int call, int i) { return from * 7 + to * 13 + call + i % 1000; }

static void give(int* to, int from_rank, int to_rank, int call, int n) {
    for (int i = 0; i < n; ++i) to[i] = number(from_rank, to_rank, call, i);
}
static void look(const int* at, int from_rank, int to_rank, int call, int n) {
    for (int i = 0; i < n; ++i) wrong += at[i] != number(from_rank, to_rank, call, i);
}

static void calls_on(MPI_Comm comm, int usual, int calls) {
    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &ranks);
    const int room = usual + 1;
    int* const in = malloc(sizeof *in * (size_t)(2 * room * ranks));
    int* const out = in + room * ranks;
    int sends[most_ranks], recvs[most_ranks], places[most_ranks], out_places[most_ranks];
    const struct timespec late = {0, 3000000};
    for (int call = 0; call < calls; ++call) {
        const int root = call % 10 == 9 ? ranks - 1 : 0;
        for (int r = 0; r < ranks; ++r) {
            sends[r] = size(usual, me, r, call, calls);
            recvs[r] = size(usual, r, me, call, calls);
            places[r] = r * room;
            out_places[r] = (ranks + r) * room;
            give(in + places[r], me, r, call, sends[r]);
        }
        if (me == 1) nanosleep(&late, NULL);
        MPI_Gatherv(in + places[root], sends[root], MPI_INT, out, recvs, places, MPI_INT, root, comm);
        for (int r = 0; r < ranks && me == root; ++r) look(out + places[r], r, me, call, recvs[r]);
        MPI_Scatterv(in, sends, places, MPI_INT, out, recvs[root], MPI_INT, root, comm);
        look(out, root, me, call, recvs[root]);
        /* One buffer, of which parts are sent and others received; some ranks may have nothing to send. */
        MPI_Alltoallv(in, sends, places, MPI_INT, in, recvs, out_places, MPI_INT, comm);
        for (int r = 0; r < ranks; ++r) look(out + places[r], r, me, call, recvs[r]);
        /* Others' sizes are known, so there may be an autopilot. */
        int sum[5000], mine[5000];
        for (int i = 0; i < 5000; ++i) mine[i] = me + i;
        MPI_Allreduce(mine, sum, 5000, MPI_INT, MPI_SUM, comm);
        wrong += sum[10] != ranks * (ranks - 1) / 2 + 10 * ranks;
    }
    free(in);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    const int usual = argc > 2 ? atoi(argv[1]) / (int)sizeof(int) : 1, calls = argc > 2 ? atoi(argv[2]) : 1;
    MPI_Comm other, comm = MPI_COMM_WORLD;
    MPI_Comm_get_parent(&other);
    const int spawned = other != MPI_COMM_NULL;
    if (!spawned && argc > 3 && strcmp(argv[3], "spawn") == 0)
        MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &other, MPI_ERRCODES_IGNORE);
    if (other != MPI_COMM_NULL) MPI_Intercomm_merge(other, spawned, &comm);
    calls_on(comm, usual, calls);
    printf("rank %d of %d: %d wrong\n", me, ranks, wrong);
    fflush(stdout);
    if (other != MPI_COMM_NULL) {
        MPI_Comm_free(&comm);
        MPI_Comm_disconnect(&other);
    }
    MPI_Finalize();
    return wrong != 0;
}
