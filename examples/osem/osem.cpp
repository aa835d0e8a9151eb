// Image reconstruction by list-mode OSEM: Hoefler 2008, V.2.1. Each subset of the events makes the image better; ranks
// have shares of a subset's events, and sum up their corrections. Meanwhile they compute the rows of the system matrix
// for the next subset, which do not depend on the image.
#include "common/application.hpp"
#include "osem/events.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace {

using applications::pace;
using image = std::vector<double>;

struct options {
    std::int64_t size = 24;
    std::int64_t events = 1200;
    std::int64_t subsets = 4;
    std::int64_t iterations = 2;
};

class reconstruction : public applications::application {
public:
    reconstruction(const options& o, int me, int ranks)
        : size_(static_cast<int>(o.size)),
          events_(o.events),
          subsets_(o.subsets),
          subiterations_(o.iterations * o.subsets),
          mine_(o.events, me, ranks),
          sensitivity_(voxels()),
          wanted_(voxels(), 1),
          correction_(voxels()) {
        if (me == 0) reconstruct_alone();
        for (image* i : {&sensitivity_, &wanted_})
            MPI_Bcast(i->data(), static_cast<int>(i->size()), MPI_DOUBLE, 0, MPI_COMM_WORLD);
    }

    void reset() override { image_.assign(voxels(), 1); }

    void run(applications::collectives& how, const pace& computing) override {
        std::vector<osem::row> rows = make_rows(0, mine_);
        for (std::int64_t l = 0; l < subiterations_; ++l) {
            // Rows take about as long as all that is done with them.
            computing(0.5, [&] {
                std::ranges::fill(correction_, 0);
                for (const osem::row& r : rows) osem::project(r, image_, correction_);
            });
            applications::started sum = how.start(rubato::mpi::call::allreduce(
                MPI_IN_PLACE, correction_.data(), std::ssize(correction_), MPI_DOUBLE, MPI_SUM));
            if (l + 1 < subiterations_) computing(0.5, [&] { rows = make_rows(l + 1, mine_); });
            sum.wait();
            osem::correct(image_, correction_, sensitivity_);
        }
    }

    std::string fault() override {
        for (std::size_t v = 0; v < wanted_.size(); ++v)
            if (!(std::abs(image_[v] - wanted_[v]) <= 1e-8 * wanted_[v] + 1e-12))
                return fmt::format("voxel {} is {} instead of {}", v, image_[v], wanted_[v]);
        return {};
    }

private:
    std::size_t voxels() const { return static_cast<std::size_t>(osem::voxels(size_)); }

    std::vector<osem::row> make_rows(std::int64_t subiteration, const applications::share_of& events) const {
        std::vector<osem::row> rows;
        const std::int64_t first = subiteration % subsets_ * events_;
        for (std::int64_t e = events.begin; e < events.end; ++e) rows.push_back(osem::make_row(first + e, size_));
        return rows;
    }

    /// The sensitivity, and all of the reconstruction on this rank.
    void reconstruct_alone() {
        const applications::share_of all(events_, 0, 1);
        for (std::int64_t l = 0; l < subsets_; ++l)
            for (const osem::row& r : make_rows(l, all))
                for (const osem::crossing& c : r)
                    sensitivity_[static_cast<std::size_t>(c.voxel)] += c.length / static_cast<double>(subsets_);
        for (std::int64_t l = 0; l < subiterations_; ++l) {
            image correction(voxels());
            for (const osem::row& r : make_rows(l, all)) osem::project(r, wanted_, correction);
            osem::correct(wanted_, correction, sensitivity_);
        }
    }

    int size_;
    std::int64_t events_;  // of a subset
    std::int64_t subsets_;
    std::int64_t subiterations_;
    applications::share_of mine_;
    image sensitivity_;
    image wanted_;
    image correction_;
    image image_{};
};

}  // namespace

int main(int argc, char** argv) {
    options o;
    const auto make = [&] {
        return std::make_unique<reconstruction>(o, applications::rank_in(MPI_COMM_WORLD),
                                                applications::size_of(MPI_COMM_WORLD));
    };
    return applications::run(
        argc, argv,
        {.name = "osem",
         .about = "Image reconstruction by list-mode OSEM whose sums overlap the next rows. Start it with mpirun.",
         .footer = "A step is a subset. Checked: every voxel, against a reconstruction on one rank.\n\n"
                   "Examples:\n"
                   "  mpirun -n 4 osem\n"
                   "  mpirun -n 2 osem --size 48 --events 20000 --subsets 8 --repetitions 20\n",
         .options = {{"size", &o.size, 1, 1024, "voxels in each dimension"},
                     {"events", &o.events, 1, 1 << 30, "of a subset"},
                     {"subsets", &o.subsets, 1, 1 << 20, "of all events"},
                     {"iterations", &o.iterations, 1, 1 << 20, "over all subsets"}},
         .calls = {rubato::collective::allreduce},
         .make = make});
}
