// A 3-D FFT with an overlapped transpose: Hoefler 2008, V.1.6. Each rank has planes of the cube, transforms them in two
// dimensions, and sends rows of each plane to all ranks; while they are under way it transforms the next planes. At
// last it has all planes of its rows, and transforms them in the third dimension.
#include "common/application.hpp"
#include "fft/transform.hpp"
#include "rubato/pipeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <random>

namespace {

using applications::pace;
using fft::signal;

struct options {
    std::int64_t size = 64;
    std::int64_t tile = 4;
    std::int64_t window = 3;
};

std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
fftwf_complex* raw(fft::complex* at) { return reinterpret_cast<fftwf_complex*>(at); }

/// Planes on their way, each cut into the rows for each rank.
struct tile_buffer {
    signal sent{};
    signal received{};
    std::int64_t first = 0;
    std::int64_t planes = 0;
    applications::started transpose{};
};

/// Random numbers a, b, c for each dimension, and the transforms of them. The signal is a(z) b(y) c(x): so is its
/// transform the product of theirs, and any rank knows what each element must be.
struct line {
    signal values{};
    signal transformed{};

    line(std::int64_t n, std::uint32_t seed) {
        std::mt19937 random(seed);
        std::uniform_real_distribution<float> value(-1, 1);
        for (std::int64_t i = 0; i < n; ++i) {
            const float real = value(random);
            values.emplace_back(real, value(random));
        }
        transformed = fft::reference(values);
    }
};

class transform : public applications::application {
public:
    transform(const options& o, int me, int ranks)
        : n_(o.size),
          mine_(o.size / ranks),
          ranks_(ranks),
          first_(me * mine_),
          tile_(o.tile),
          window_(o.window),
          z_(n_, 1),
          y_(n_, 2),
          x_(n_, 3),
          input_(index(mine_ * n_ * n_)),
          plane_(index(n_ * n_)),
          result_(index(n_ * mine_ * n_)) {
        for (std::int64_t z = 0; z < mine_; ++z)
            for (std::int64_t y = 0; y < n_; ++y)
                for (std::int64_t x = 0; x < n_; ++x)
                    input_[index((z * n_ + y) * n_ + x)] =
                        z_.values[index(first_ + z)] * y_.values[index(y)] * x_.values[index(x)];
        const int n = static_cast<int>(n_);
        const int lines = static_cast<int>(mine_ * n_);
        // Planes of odd sizes are not aligned as FFTW aligns memory.
        constexpr unsigned flags = FFTW_ESTIMATE | FFTW_UNALIGNED | FFTW_PRESERVE_INPUT;
        planar_.reset(fftwf_plan_dft_2d(n, n, raw(input_.data()), raw(plane_.data()), FFTW_FORWARD, flags));
        last_.reset(fftwf_plan_many_dft(1, &n, lines, raw(result_.data()), nullptr, lines, 1, raw(result_.data()),
                                        nullptr, lines, 1, FFTW_FORWARD, flags));
    }

    void reset() override { std::ranges::fill(result_, fft::complex(std::numeric_limits<float>::quiet_NaN())); }

    void run(applications::collectives& how, const pace& computing) override {
        if (!how.overlaps()) return run({mine_, 1}, how, computing);
        if (tile_ > 0) return run({std::min(tile_, mine_), window_}, how, computing);
        // The first run of a form is not timed.
        auto found = shapes_.find(how.how());
        if (found == shapes_.end()) found = shapes_.emplace(how.how(), search(how, computing)).first;
        run(found->second, how, computing);
    }

    std::string found() const override {
        std::string all;
        for (const auto& [how, shape] : shapes_)
            all += fmt::format("{}{}: tile {}, window {}", all.empty() ? "" : "; ", name_of(how), shape.tile,
                               shape.window);
        return all;
    }

    std::string fault() override {
        double difference = 0;
        double size = 0;
        for (std::int64_t z = 0; z < n_; ++z)
            for (std::int64_t y = 0; y < mine_; ++y)
                for (std::int64_t x = 0; x < n_; ++x) {
                    const std::complex<double> want = std::complex<double>(z_.transformed[index(z)]) *
                                                      std::complex<double>(y_.transformed[index(first_ + y)]) *
                                                      std::complex<double>(x_.transformed[index(x)]);
                    difference += std::norm(std::complex<double>(result_[index((z * mine_ + y) * n_ + x)]) - want);
                    size += std::norm(want);
                }
        const double error = std::sqrt(difference / size);
        return error < 1e-5 ? "" : fmt::format("the relative error of the transform is {:.1e}", error);
    }

private:
    rubato::pipeline_shape search(applications::collectives& how, const pace& computing) {
        run({std::min<std::int64_t>(4, mine_), 2}, how, computing);  // opens connections
        return rubato::best_pipeline(mine_, window_, [&](rubato::pipeline_shape s) {
            MPI_Barrier(MPI_COMM_WORLD);
            double took = -MPI_Wtime();
            run(s, how, computing);
            took += MPI_Wtime();
            MPI_Allreduce(MPI_IN_PLACE, &took, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
            return took;
        });
    }

    void run(rubato::pipeline_shape shape, applications::collectives& how, const pace& computing) {
        const std::int64_t tile = shape.tile;
        std::vector<tile_buffer> buffers(index(shape.window));
        for (tile_buffer& b : buffers) {
            b.sent.resize(index(tile * n_ * n_));
            b.received.resize(b.sent.size());
        }
        const double plane_share = 2.0 / 3 / static_cast<double>(mine_);
        rubato::pipeline_tiled_window(
            mine_, tile, buffers,
            [&](std::int64_t i, tile_buffer& to) { computing(plane_share, [&] { fill(i, tile, to); }); },
            [&](tile_buffer& full) {
                const std::int64_t floats = 2 * full.planes * mine_ * n_;
                full.transpose = how.start(rubato::mpi::call::alltoall(full.sent.data(), floats, MPI_FLOAT,
                                                                       full.received.data(), floats, MPI_FLOAT));
            },
            [&](tile_buffer& sent) {
                sent.transpose.wait();
                unpack(sent);
            });
        computing(1.0 / 3, [&] { fftwf_execute(last_.get()); });
    }

    /// Transforms a plane and adds its rows to what goes to their ranks.
    void fill(std::int64_t i, std::int64_t tile, tile_buffer& to) {
        to.first = i / tile * tile;
        to.planes = std::min(tile, mine_ - to.first);
        fftwf_execute_dft(planar_.get(), raw(&input_[index(i * n_ * n_)]), raw(plane_.data()));
        const std::int64_t rows = mine_ * n_;
        for (int r = 0; r < ranks_; ++r)
            std::copy_n(&plane_[index(r * rows)], rows, &to.sent[index((r * to.planes + i - to.first) * rows)]);
    }

    void unpack(const tile_buffer& from) {
        const std::int64_t rows = mine_ * n_;
        for (int r = 0; r < ranks_; ++r)
            std::copy_n(&from.received[index(r * from.planes * rows)], from.planes * rows,
                        &result_[index((r * mine_ + from.first) * rows)]);
    }

    std::int64_t n_;
    std::int64_t mine_;  // planes, and later rows
    int ranks_;
    std::int64_t first_;
    std::int64_t tile_;
    std::int64_t window_;
    line z_, y_, x_;
    signal input_;   // planes of this rank
    signal plane_;   // one that is transformed in two dimensions
    signal result_;  // all planes of this rank's rows
    fft::plan planar_, last_;
    std::map<applications::form, rubato::pipeline_shape> shapes_{};  // if they are looked for
};

std::unique_ptr<applications::application> make(const options& o) {
    const int ranks = applications::size_of(MPI_COMM_WORLD);
    if (o.size % ranks != 0)
        throw rubato::error(fmt::format("a cube of {} planes over {} ranks", o.size, ranks),
                            "each rank has as many planes as the others", "give --size a multiple of the ranks");
    return std::make_unique<transform>(o, applications::rank_in(MPI_COMM_WORLD), ranks);
}

}  // namespace

int main(int argc, char** argv) {
    options o;
    return applications::run(
        argc, argv,
        {.name = "fft3d",
         .about = "A 3-D FFT whose transpose overlaps the transforms of planes. Start it with mpirun.",
         .footer =
             "A step is a transform. The blocking form sends everything in one alltoall. Checked: the signal is a\n"
             "product of one-dimensional ones, so every element of its transform is a product of FFTW's.\n\n"
             "Examples:\n"
             "  mpirun -n 4 fft3d\n"
             "  mpirun -n 2 fft3d --size 128 --tile 8 --window 2 --repetitions 20\n",
         .options = {{"size", &o.size, 1, 1024, "numbers in each dimension, a multiple of the ranks"},
                     {"tile", &o.tile, 0, 1024, "planes that are sent together; 0: each form looks for the best"},
                     {"window", &o.window, 1, 1024, "tiles that are under way at once; with --tile 0, at most"}},
         .calls = {rubato::collective::alltoall},
         .make = [&] { return make(o); }});
}
