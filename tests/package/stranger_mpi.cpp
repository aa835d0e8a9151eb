#include <rubato/mpi.hpp>

#include <cstdio>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int right = 0;
    {
        rubato::mpi::communicator world(MPI_COMM_WORLD);
        const int one = 1;
        int sum = 0;
        world.allreduce("allreduce/ring", &one, &sum, 1, MPI_INT, MPI_SUM);
        right = sum == world.size();
        if (world.rank() == 0) std::printf("the sum is %s\n", right ? "right" : "wrong");
    }
    MPI_Finalize();
    return right ? 0 : 1;
}
