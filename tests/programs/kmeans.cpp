// Clusters of points: centres by broadcast, sums by allreduce in every second iteration and by reduce-scatter and
// allgather in the others. Coordinates are whole numbers, so that sums are exact in any order and results equal to the
// last bit.
//
//   mpirun -n P kmeans [POINTS] [ITERATIONS]
#include <mpi.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr int centres = 48;
constexpr int dimensions = 64;
constexpr int columns = dimensions + 1;  // the last counts points

class points {
public:
    points(int n, int seed) : coordinates_(static_cast<std::size_t>(n) * dimensions) {
        auto state = static_cast<std::uint32_t>(seed) * 2654435761U + 1;
        for (double& x : coordinates_) {
            state = state * 1664525U + 1013904223U;
            x = static_cast<double>(state >> 22);
        }
    }
    std::size_t size() const { return coordinates_.size() / dimensions; }
    const double* operator[](std::size_t i) const { return &coordinates_[i * dimensions]; }

private:
    std::vector<double> coordinates_;
};

std::size_t nearest(const double* point, const std::vector<double>& centre) {
    std::size_t best = 0;
    double least = INFINITY;
    for (std::size_t c = 0; c < centres; ++c) {
        double distance = 0;
        for (std::size_t d = 0; d < dimensions; ++d) {
            const double away = point[d] - centre[c * dimensions + d];
            distance += away * away;
        }
        if (distance < least) {
            least = distance;
            best = c;
        }
    }
    return best;
}

/// Sums of all ranks, each rank adding up its share.
void sum_by_shares(std::vector<double>& sums, int me, int ranks) {
    std::vector<int> counts;
    std::vector<int> places;
    const int all = static_cast<int>(sums.size());
    for (int r = 0; r < ranks; ++r) {
        places.push_back(all / ranks * r);
        counts.push_back(r + 1 < ranks ? all / ranks : all - places.back());
    }
    std::vector<double> share(static_cast<std::size_t>(counts[static_cast<std::size_t>(me)]));
    MPI_Reduce_scatter(sums.data(), share.data(), counts.data(), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    MPI_Allgatherv(share.data(), static_cast<int>(share.size()), MPI_DOUBLE, sums.data(), counts.data(), places.data(),
                   MPI_DOUBLE, MPI_COMM_WORLD);
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    int me = 0;
    int ranks = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int n = argc > 1 ? std::atoi(argv[1]) : 1000;
    const int iterations = argc > 2 ? std::atoi(argv[2]) : 20;

    const points mine(n / ranks + (me < n % ranks ? 1 : 0), me);
    std::vector<double> centre(centres * dimensions);
    if (me == 0)
        for (std::size_t i = 0; i < centre.size(); ++i) centre[i] = mine[i / dimensions][i % dimensions];

    for (int iteration = 0; iteration < iterations; ++iteration) {
        MPI_Bcast(centre.data(), static_cast<int>(centre.size()), MPI_DOUBLE, 0, MPI_COMM_WORLD);
        std::vector<double> sums(centres * columns);
        for (std::size_t i = 0; i < mine.size(); ++i) {
            double* sum = &sums[nearest(mine[i], centre) * columns];
            for (std::size_t d = 0; d < dimensions; ++d) sum[d] += mine[i][d];
            sum[dimensions] += 1;
        }
        if (iteration % 2 == 0) {
            MPI_Allreduce(MPI_IN_PLACE, sums.data(), static_cast<int>(sums.size()), MPI_DOUBLE, MPI_SUM,
                          MPI_COMM_WORLD);
        } else {
            sum_by_shares(sums, me, ranks);
        }
        for (std::size_t c = 0; c < centres; ++c)
            for (std::size_t d = 0; d < dimensions; ++d)
                if (sums[c * columns + dimensions] > 0)
                    centre[c * dimensions + d] = std::floor(sums[c * columns + d] / sums[c * columns + dimensions]);
    }
    if (me == 0) {
        double all = 0;
        for (const double x : centre) all += x;
        std::printf("%d clusters, first at %.0f %.0f %.0f, sum %.0f\n", centres, centre[0], centre[1], centre[2], all);
    }
    MPI_Finalize();
    return 0;
}
