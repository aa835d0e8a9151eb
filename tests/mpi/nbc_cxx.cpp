// LibNBC's interface from C++, where NBC_Wait and NBC_Test are overloaded.
#include "rubato/nbc.h"
#include "rubato/nbc_schedule.h"

#include <cstdio>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int me = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int sum = 0;
    bool right = true;
    NBC_Request request;
    for (int i = 0; i < 4; ++i) {
        int flag = 0;
        right &= NBC_Iallreduce(&me, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request) == NBC_SUCCESS;
        if (i == 0) right &= NBC_Wait(&request) == NBC_OK;
        if (i == 1) right &= NBC_Wait(&request, MPI_STATUS_IGNORE) == NBC_OK;
        while (i == 2 && NBC_Test(&request) == NBC_CONTINUE) continue;
        while (i == 3 && flag == 0) right &= NBC_Test(&request, &flag, MPI_STATUS_IGNORE) == NBC_OK;
        right &= sum == ranks * (ranks - 1) / 2;
    }
    if (!right) std::printf("rank %d: wrong\n", me);
    MPI_Finalize();
    return right ? 0 : 1;
}
