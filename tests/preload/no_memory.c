/* no_memory ALLOCATIONS: collectives while the drop-in gets no memory after that many allocations, and afterwards. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#define INIT(name) MPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#endif

void fail_after(long allocations); /* of no_memory.cpp */

static int me, ranks, wrong;

static void require(int condition) { wrong += !condition; }

static void use(MPI_Comm comm) {
    int value = me + 1, sum = 0, sizes[3] = {1, 30, 700};
    static int data[700];
    MPI_Request request;
    require(MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, comm) == MPI_SUCCESS && sum == ranks * (ranks + 1) / 2);
    for (int i = 0; i < 3; ++i) {
        data[sizes[i] - 1] = me == 0 ? i : -1;
        require(MPI_Bcast(data, sizes[i], MPI_INT, 0, comm) == MPI_SUCCESS && data[sizes[i] - 1] == i);
    }
    sum = 0;
    require(INIT(Allreduce)(&value, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request) == MPI_SUCCESS);
    require(MPI_Start(&request) == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) == MPI_SUCCESS);
    require(sum == ranks * (ranks + 1) / 2 && MPI_Request_free(&request) == MPI_SUCCESS);
}

int main(int argc, char** argv) {
    const long allocations = atol(argv[1]);
    MPI_Comm known, new;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_dup(MPI_COMM_WORLD, &known);
    fail_after(allocations);
    use(known);
    MPI_Comm_dup(MPI_COMM_WORLD, &new);
    use(new);
    MPI_Comm_free(&new);
    MPI_Comm_free(&known);
    use(MPI_COMM_WORLD);
    fail_after(-1);
    use(MPI_COMM_WORLD);
    MPI_Comm_dup(MPI_COMM_WORLD, &new);
    use(new);
    printf("rank %d: %d wrong\n", me, wrong);
    MPI_Finalize();
    return wrong != 0;
}
