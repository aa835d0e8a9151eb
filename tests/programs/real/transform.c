/* A two-dimensional transform by FFTW-MPI, forth and back, with the order of the data transposed between. */
#include <fftw3-mpi.h>
#include <mpi.h>

#include <math.h>
#include <stdio.h>

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    fftw_mpi_init();
    int me = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    const ptrdiff_t rows = 192;
    const ptrdiff_t columns = 320;
    ptrdiff_t mine = 0;
    ptrdiff_t first = 0;
    ptrdiff_t mine_then = 0;
    ptrdiff_t first_then = 0;
    const ptrdiff_t size =
        fftw_mpi_local_size_2d_transposed(rows, columns, MPI_COMM_WORLD, &mine, &first, &mine_then, &first_then);
    fftw_complex* data = fftw_alloc_complex((size_t)size);
    fftw_plan forth = fftw_mpi_plan_dft_2d(rows, columns, data, data, MPI_COMM_WORLD, FFTW_FORWARD,
                                           FFTW_ESTIMATE | FFTW_MPI_TRANSPOSED_OUT);
    fftw_plan back = fftw_mpi_plan_dft_2d(rows, columns, data, data, MPI_COMM_WORLD, FFTW_BACKWARD,
                                          FFTW_ESTIMATE | FFTW_MPI_TRANSPOSED_IN);
    for (int round = 0; round < 20; ++round) {
        for (ptrdiff_t i = 0; i < mine * columns; ++i) {
            const double at = (double)(first * columns + i);
            data[i][0] = sin(0.37 * at + round);
            data[i][1] = cos(0.11 * at);
        }
        fftw_execute(forth);
        double power = 0;
        for (ptrdiff_t i = 0; i < mine_then * rows; ++i) power += data[i][0] * data[i][0] + data[i][1] * data[i][1];
        fftw_execute(back);
        double worst = 0;
        for (ptrdiff_t i = 0; i < mine * columns; ++i)
            worst = fmax(
                worst, fabs(data[i][0] / (double)(rows * columns) - sin(0.37 * (double)(first * columns + i) + round)));
        double sum = 0;
        double largest = 0;
        MPI_Reduce(&power, &sum, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
        MPI_Reduce(&worst, &largest, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
        if (me == 0) printf("round %d: power %.12g, back %s\n", round, sum, largest < 1e-12 ? "exactly" : "wrongly");
    }
    fftw_destroy_plan(forth);
    fftw_destroy_plan(back);
    fftw_free(data);
    MPI_Finalize();
    return 0;
}
