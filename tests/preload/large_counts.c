/* large_counts [large]: the calls of MPI 4 that count in MPI_Count, where the library has them, and calls whose
 * elements or counts are spread out, and usual ones. large: with more than 2^31 bytes. Each rank says whether its
 * results are right. */
#include <mpi.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int me, ranks, wrong;

static unsigned char byte_at(long i, int k) { return (unsigned char)(i * 7 + i / 4093 + k); }

/* Elements that begin every `stride` bytes, of `block` bytes. */
static void spread_out(long blocks, long block, long stride) {
    const long bytes = (blocks - 1) * stride + block;
    unsigned char* const data = malloc((size_t)bytes);
    MPI_Datatype type;
    MPI_Type_create_hvector((int)blocks, (int)block, stride, MPI_BYTE, &type);
    MPI_Type_commit(&type);
    for (int k = 0; k < 3; ++k) {
        const int root = k % ranks;
        for (long i = 0; i < bytes; ++i) data[i] = me == root ? byte_at(i, k) : 255;
        if (MPI_Bcast(data, 1, type, root, MPI_COMM_WORLD) != MPI_SUCCESS) ++wrong;
        for (long i = 0; i < bytes; ++i) wrong += data[i] != (me == root || i % stride < block ? byte_at(i, k) : 255);
        if (bytes > 1 << 30) break; /* it takes long */
    }
    MPI_Type_free(&type);
    free(data);
}

/* Several times, so that mode auto can make some of them. */
static void many(int n) {
    double* const data = malloc((size_t)n * sizeof *data);
    for (int k = 0; k < 4; ++k) {
        for (int i = 0; i < n; ++i) data[i] = i % 1000 + me + k;
        MPI_Allreduce(MPI_IN_PLACE, data, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < n; ++i) wrong += data[i] != ranks * (i % 1000 + k) + ranks * (ranks - 1) / 2;
        for (int i = 0; i < n && me != 0; ++i) data[i] = -1;
        MPI_Bcast(data, n, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        for (int i = 0; i < n; ++i) wrong += data[i] != ranks * (i % 1000 + k) + ranks * (ranks - 1) / 2;
    }
    free(data);
}

#if MPI_VERSION >= 4
static void counted(MPI_Count n) {
    unsigned char* const in = malloc((size_t)n);
    unsigned char* const out = malloc((size_t)n);
    const int times = n > 1 << 30 ? 1 : 5;
    for (int k = 0; k < times; ++k) {
        for (MPI_Count i = 0; i < n; ++i) in[i] = byte_at(i, me + k) & 15;
        MPI_Allreduce_c(in, out, n, MPI_UINT8_T, MPI_SUM, MPI_COMM_WORLD);
        for (MPI_Count i = 0; i < n; ++i) {
            unsigned sum = 0;
            for (int r = 0; r < ranks; ++r) sum += byte_at(i, r + k) & 15;
            wrong += out[i] != (unsigned char)sum;
        }
        memset(out, me == 0 ? k : 255, (size_t)n);
        MPI_Bcast_c(out, n, MPI_BYTE, 0, MPI_COMM_WORLD);
        for (MPI_Count i = 0; i < n; ++i) wrong += out[i] != k;
    }
    free(in);
    free(out);
}
#endif

int main(int argc, char** argv) {
    const int large = argc > 1 && strcmp(argv[1], "large") == 0;
    const long kib = 1 << 10;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    spread_out(64, kib, 2 * kib);
    many(large ? 270 * 1000 * 1000 : 16 * 1000);
    if (large) spread_out(2100 * kib, kib, kib + 8);
#if MPI_VERSION >= 4
    counted(64 * kib);
    if (large) counted((MPI_Count)2100 * 1024 * 1024);
#endif
    printf("rank %d: %s\n", me, wrong == 0 ? "right" : "wrong");
    MPI_Finalize();
    return wrong != 0;
}
