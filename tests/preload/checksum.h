/* A program's two buffers, and a checksum of all that it receives. Persistent forms, as the MPI library names them. */
#include <mpi.h>
#include <stdlib.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#define INIT(name) MPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#endif

static int me, elements;
static int *in, *out;
static long sum = 1;

static void fill(void) {
    for (int i = 0; i < elements; ++i) in[i] = (me + 1) * (i % 97 + 1), out[i] = -me;
}

static void make_buffers(int size) {
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    elements = size;
    in = malloc(sizeof(int) * (size_t)elements);
    out = malloc(sizeof(int) * (size_t)elements);
    fill();
}

static void add(void) {
    for (int i = 0; i < elements; ++i) sum = (sum * 31 + out[i]) % 1000003;
    fill();
}

static void finish(MPI_Request* request, int persistent) {
    if (persistent) MPI_Start(request);
    MPI_Wait(request, MPI_STATUS_IGNORE);
    if (persistent) MPI_Request_free(request);
    add();
}
