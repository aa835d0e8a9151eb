/* same_bits CALLS [--integers]: allreduces of numbers with full mantissas and many magnitudes, in several sizes. In
   every call one rank is late, for a while the same one. Rank 0 compares digests of the results of all ranks, which
   must have the same bits. */
#define _GNU_SOURCE
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { most = 64, longest = 20000 };

static uint64_t state;

static uint64_t spread(void) {
    uint64_t x = state += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static double number(void) {
    const uint64_t random = spread();
    const double mantissa = 1 + ldexp((double)(random >> 12), -52);
    return ldexp(random & 1 ? -mantissa : mantissa, (int)(random >> 1 & 31) - 16);
}

static uint64_t digest(const void* data, size_t bytes) {
    uint64_t sum = 0xcbf29ce484222325u, word = 0;
    for (size_t i = 0; i < bytes; i += sizeof word) {
        memcpy(&word, (const char*)data + i, sizeof word);
        sum = (sum ^ word) * 0x100000001b3u;
        sum ^= sum >> 29;
    }
    return sum;
}

int main(int argc, char** argv) {
    static double given[longest], result[longest];
    static int64_t integers[longest], sums[longest];
    const int lengths[] = {2048, 3001, 8191, longest}; /* mode auto leaves calls below 16 KiB alone */
    const MPI_Op ops[] = {MPI_SUM, MPI_SUM, MPI_PROD, MPI_MAX};
    const int calls = atoi(argv[1]);
    const int exact = argc > 2 && strcmp(argv[2], "--integers") == 0;
    int me, ranks, differ = 0, wrong = 0;
    uint64_t all[most];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    state = (uint64_t)me << 32;
    for (int call = 0; call < calls; ++call) {
        const int n = lengths[call / 60 % 4];
        for (int i = 0; i < n; ++i) {
            given[i] = number();
            integers[i] = (int64_t)i * (me + 1);
        }
        if (me == call / 20 % ranks) usleep(1000);
        if (exact)
            MPI_Allreduce(integers, sums, n, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
        else
            MPI_Allreduce(given, result, n, MPI_DOUBLE, ops[call % 4], MPI_COMM_WORLD);
        for (int i = 0; i < n; ++i) wrong += exact && sums[i] != (int64_t)i * ranks * (ranks + 1) / 2;
        uint64_t mine = digest(exact ? (void*)sums : (void*)result, (size_t)n * 8);
        MPI_Gather(&mine, 1, MPI_UINT64_T, all, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
        int unlike = 0;
        for (int r = 1; me == 0 && r < ranks; ++r) unlike |= all[r] != mine;
        differ += unlike;
    }
    if (me == 0) printf("%d calls, %d differ, %d wrong numbers\n", calls, differ, wrong);
    MPI_Finalize();
    return 0;
}
