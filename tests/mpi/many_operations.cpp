// mpirun -n P many_operations [N]: very many operations on one communicator, hundreds of them under way, so that tags
// are used again and again. Results are checked.
#include "rubato/mpi.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <deque>

namespace {

using namespace rubato;

struct started {
    int in = 0;
    int out = 0;
    mpi::request request{};
};

void fail(const std::string& what) {
    fmt::print(stderr, "many_operations: {}\n", what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

}  // namespace

int main(int argc, char** argv) {
    int level = 0;
    int me = 0;
    int ranks = 1;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const long long all = argc > 1 ? std::atoll(argv[1]) : 100000;
    constexpr std::size_t most = 400;
    try {
        mpi::communicator ours(MPI_COMM_WORLD);
        std::deque<started> under_way;
        const auto end_first = [&](long long number) {
            started& s = under_way.front();
            s.request.wait();
            const int first = static_cast<int>(number - static_cast<long long>(under_way.size()));
            if (s.out != ranks * first + ranks * (ranks - 1) / 2) fail(fmt::format("operation {} is wrong", first));
            under_way.pop_front();
        };
        for (long long i = 0; i < all; ++i) {
            started& s = under_way.emplace_back();
            s.in = static_cast<int>(i) + me;
            s.request =
                ours.start("allreduce/recursive_doubling", mpi::call::allreduce(&s.in, &s.out, 1, MPI_INT, MPI_SUM));
            // Ranks have different numbers of them under way.
            while (under_way.size() > most / static_cast<std::size_t>(1 + me % 3)) end_first(i + 1);
        }
        while (!under_way.empty()) end_first(all);
    } catch (const std::exception& e) {
        fail(e.what());
    }
    if (me == 0) fmt::print("{} ranks: {} operations, up to {} under way\n", ranks, all, most);
    MPI_Finalize();
    return 0;
}
