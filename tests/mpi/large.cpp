// Vectors of more than 2 GiB and of more elements than an int counts: nothing overflows. Needs about 12 GiB for 2
// ranks.
#include "rubato/mpi.hpp"

#include <fmt/format.h>

#include <array>
#include <vector>

namespace {

using namespace rubato;

constexpr std::int64_t n = (std::int64_t{1} << 31) + 12345;

int me = 0;
int ranks = 1;

void expect(bool right, const char* what) {
    if (right) return;
    fmt::print(stderr, "large: rank {}: {} is wrong\n", me, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

std::uint8_t value(std::int64_t i, int rank) {
    return static_cast<std::uint8_t>((i * 31 + (i >> 20) + rank * 7L) & 0x7f);
}

bool all_are(const std::vector<std::uint8_t>& data, std::int64_t first, std::int64_t count, int rank, bool maximum) {
    for (std::int64_t i = 0; i < count; ++i) {
        std::uint8_t want = value(i, rank);
        for (int r = 0; maximum && r < ranks; ++r) want = std::max(want, value(i, r));
        if (data[static_cast<std::size_t>(first + i)] != want) return false;
    }
    return true;
}

void run() {
    mpi::communicator world(MPI_COMM_WORLD);
    std::vector<std::uint8_t> data(static_cast<std::size_t>(n));
    const auto fill = [&] {
        for (std::int64_t i = 0; i < n; ++i) data[static_cast<std::size_t>(i)] = value(i, me);
    };
    fill();
    world.bcast("bcast/binomial", data.data(), n, MPI_UINT8_T, 0);
    expect(all_are(data, 0, n, 0, false), "a broadcast in one piece");
    fill();
    mpi::selection three("bcast/chain");
    three.segments = 3;
    world.bcast(three, data.data(), n, MPI_UINT8_T, 1);
    expect(all_are(data, 0, n, 1, false), "a broadcast in three pieces");
    {
        // One element with a gap, which MPI_Pack does not take.
        constexpr int half = static_cast<int>(n / 2);
        constexpr int gap = 8;
        const std::array<int, 2> counts{half, static_cast<int>(n - half - gap)};
        const std::array<MPI_Aint, 2> places{0, half + gap};
        MPI_Datatype with_gap = MPI_DATATYPE_NULL;
        MPI_Type_create_hindexed(2, counts.data(), places.data(), MPI_UINT8_T, &with_gap);
        MPI_Type_commit(&with_gap);
        fill();
        world.bcast("bcast/binomial", data.data(), 1, with_gap, 0);
        MPI_Type_free(&with_gap);
        for (std::int64_t i = 0; i < n; ++i) {
            const bool in_gap = i >= half && i < half + gap;
            if (data[static_cast<std::size_t>(i)] != value(i, in_gap ? me : 0)) expect(false, "an element with a gap");
        }
    }
    {
        fill();
        std::vector<std::uint8_t> sum(me == 0 ? static_cast<std::size_t>(n) : 0);
        world.reduce("reduce/binomial", data.data(), sum.data(), n, MPI_UINT8_T, MPI_MAX, 0);
        expect(me != 0 || all_are(sum, 0, n, 0, true), "a reduction");
    }
    {
        const std::int64_t chunk = n / ranks + 1;
        std::vector<std::uint8_t> whole(me == 0 ? static_cast<std::size_t>(chunk * ranks) : 0);
        world.gather("gather/binomial", data.data(), chunk, MPI_UINT8_T, whole.data(), chunk, MPI_UINT8_T, 0);
        for (int r = 0; me == 0 && r < ranks; ++r) expect(all_are(whole, r * chunk, chunk, r, false), "a gather");
    }
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    try {
        run();
    } catch (const std::exception& e) {
        fmt::print(stderr, "large: {}\n", e.what());
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (me == 0) fmt::print("{} elements are right\n", n);
    MPI_Finalize();
}
