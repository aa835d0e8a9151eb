/* neighbours ELEMENTS TIMES: every neighbour collective, and alltoallw, in every form, on a grid and on a graph, so
   many times each, and a checksum of all that was received. */
#include "checksum.h"

#include <stdio.h>
#include <stdlib.h>

enum { most = 64 };
static int ranks, n, chunks;
static int sends[most], recvs[most], send_places[most], recv_places[most], send_bytes[most], recv_bytes[most];
static MPI_Aint far_sends[most], far_recvs[most];
static MPI_Datatype types[most], strided;
static int in_degree, out_degree;

/* The same for both ends of an edge, whichever of several edges between them it is. */
static int uneven(int a, int b) { return b < 0 ? n / 2 : n / 2 * ((a + b) % 3) / 2; }

static void size_chunks(const int* sources, const int* destinations) {
    for (int i = 0; i < out_degree; ++i) sends[i] = uneven(me, destinations[i]);
    for (int i = 0; i < in_degree; ++i) recvs[i] = uneven(me, sources[i]);
    for (int i = 0; i < chunks; ++i) {
        send_places[i] = recv_places[i] = i * n;
        send_bytes[i] = recv_bytes[i] = i * n * (int)sizeof(int);
        far_sends[i] = far_recvs[i] = send_bytes[i];
        types[i] = strided;
    }
}

static void blocking(MPI_Comm comm) {
    MPI_Neighbor_allgather(in, n, MPI_INT, out, n, MPI_INT, comm), add();
    MPI_Neighbor_alltoall(in, n, MPI_INT, out, n, MPI_INT, comm), add();
    for (int i = 0; i < in_degree; ++i) recvs[i] = n;
    MPI_Neighbor_allgatherv(in, n, MPI_INT, out, recvs, recv_places, MPI_INT, comm), add();
}
static void nonblocking(MPI_Comm comm) {
    MPI_Request r;
    MPI_Ineighbor_allgather(in, n, MPI_INT, out, n, MPI_INT, comm, &r), finish(&r, 0);
    MPI_Ineighbor_alltoall(in, n, MPI_INT, out, n, MPI_INT, comm, &r), finish(&r, 0);
    MPI_Ineighbor_allgatherv(in, n, MPI_INT, out, recvs, recv_places, MPI_INT, comm, &r), finish(&r, 0);
}
static void persistent(MPI_Comm comm) {
    MPI_Request r;
    const MPI_Info none = MPI_INFO_NULL;
    INIT(Neighbor_allgather)(in, n, MPI_INT, out, n, MPI_INT, comm, none, &r), finish(&r, 1);
    INIT(Neighbor_alltoall)(in, n, MPI_INT, out, n, MPI_INT, comm, none, &r), finish(&r, 1);
    INIT(Neighbor_allgatherv)(in, n, MPI_INT, out, recvs, recv_places, MPI_INT, comm, none, &r), finish(&r, 1);
}
static void uneven_calls(MPI_Comm comm) {
    MPI_Request r;
    const MPI_Info none = MPI_INFO_NULL;
    MPI_Neighbor_alltoallv(in, sends, send_places, MPI_INT, out, recvs, recv_places, MPI_INT, comm), add();
    MPI_Ineighbor_alltoallv(in, sends, send_places, MPI_INT, out, recvs, recv_places, MPI_INT, comm, &r), finish(&r, 0);
    INIT(Neighbor_alltoallv)(in, sends, send_places, MPI_INT, out, recvs, recv_places, MPI_INT, comm, none, &r);
    finish(&r, 1);
    MPI_Neighbor_alltoallw(in, sends, far_sends, types, out, recvs, far_recvs, types, comm), add();
    MPI_Ineighbor_alltoallw(in, sends, far_sends, types, out, recvs, far_recvs, types, comm, &r), finish(&r, 0);
    INIT(Neighbor_alltoallw)(in, sends, far_sends, types, out, recvs, far_recvs, types, comm, none, &r), finish(&r, 1);
}
static void typed_calls(MPI_Comm comm) {
    MPI_Request r;
    const MPI_Info none = MPI_INFO_NULL;
    for (int i = 0; i < ranks; ++i) sends[i] = recvs[i] = uneven(me, i);
    MPI_Alltoallw(in, sends, send_bytes, types, out, recvs, recv_bytes, types, comm), add();
    MPI_Ialltoallw(in, sends, send_bytes, types, out, recvs, recv_bytes, types, comm, &r), finish(&r, 0);
    INIT(Alltoallw)(in, sends, send_bytes, types, out, recvs, recv_bytes, types, comm, none, &r), finish(&r, 1);
}

static void all_on(MPI_Comm comm, const int* sources, const int* destinations) {
    size_chunks(sources, destinations);
    uneven_calls(comm);
    blocking(comm);
    nonblocking(comm);
    persistent(comm);
    typed_calls(comm);
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    n = atoi(argv[1]);
    chunks = ranks > 4 ? ranks : 4;
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &strided);
    MPI_Type_commit(&strided);
    make_buffers(n * chunks);

    /* A line: its ends have a neighbour that is none. */
    MPI_Comm line, graph;
    const int no = 0;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &no, 0, &line);
    int around[2];
    MPI_Cart_shift(line, 0, 1, &around[0], &around[1]);

    /* One way, to the next one twice and to itself. MPICH 4.0.2 reads too far in alltoallw if more comes than goes. */
    const int next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
    const int to[3] = {next, me, next}, from[3] = {before, me, before};
    const int outs = 3, ins = 3;
    const int weights[3] = {1, 1, 1};
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, ins, from, weights, outs, to, weights, MPI_INFO_NULL, 0, &graph);
    for (int i = 0; i < atoi(argv[2]); ++i) {
        in_degree = out_degree = 2;
        all_on(line, around, around);
        in_degree = ins, out_degree = outs;
        all_on(graph, from, to);
    }
    printf("rank %d: %ld\n", me, sum);
    MPI_Comm_free(&line);
    MPI_Comm_free(&graph);
    MPI_Type_free(&strided);
    MPI_Finalize();
    return 0;
}
