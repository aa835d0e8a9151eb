// The kernel of a quantum mechanical program on a real-space grid: Hoefler 2008, V.2.2. Each step applies the operator
// H = v - Laplace / 2 to a function on an irregular region that is cut among the ranks. While points at borders are
// under way, the potential is applied, and the Laplace operator at points inside.
#include "common/application.hpp"
#include "finite_differences/region.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace {

using applications::pace;
using finite_differences::neighbour;
using finite_differences::region;

struct options {
    std::int64_t size = 32;
    std::int64_t steps = 20;
};

/// Of the second derivative, at the point and at distances of 1 to 4.
constexpr std::array<double, finite_differences::reach + 1> coefficients{-205.0 / 72, 8.0 / 5, -1.0 / 5, 8.0 / 315,
                                                                         -1.0 / 560};
/// Small enough for the steps to remain stable.
constexpr double step_size = 0.05;

/// A function on a part of the region.
class field {
public:
    explicit field(const region& r) : region_(r), values_(r.places()), change_(r.own()), potential_(r.own()) {
        for (std::size_t p = 0; p < r.own(); ++p) potential_[p] = 0.5 + 0.01 * (r.at(p).at[0] % 7);
        reset();
    }

    void reset() {
        std::ranges::fill(values_, 0);
        for (std::size_t p = 0; p < region_.own(); ++p) values_[p] = std::sin(1 + 0.37 * region_.number(p));
    }
    double operator[](std::size_t place) const { return values_[place]; }
    double* from(std::int32_t place) { return &values_[static_cast<std::size_t>(place)]; }

    void apply_potential() {
        for (std::size_t p = 0; p < change_.size(); ++p) change_[p] = potential_[p] * values_[p];
    }
    void apply_laplace(std::size_t begin, std::size_t end) {
        for (std::size_t p = begin; p < end; ++p) {
            const auto& around = region_.around(p);
            double sum = 3 * coefficients[0] * values_[p];
            for (std::size_t i = 0; i < around.size(); ++i)
                sum += coefficients[1 + i / 6] * values_[static_cast<std::size_t>(around[i])];
            change_[p] -= 0.5 * sum;
        }
    }
    void advance() {
        for (std::size_t p = 0; p < change_.size(); ++p) values_[p] -= step_size * change_[p];
    }

private:
    const region& region_;
    std::vector<double> values_;  // of all places
    std::vector<double> change_, potential_;
};

class kernel : public applications::application {
public:
    kernel(const options& o, int me, int ranks)
        : steps_(o.steps), region_(static_cast<int>(o.size), me, ranks), field_(region_) {
        std::vector<int> parts;
        for (const neighbour& n : region_.neighbours()) {
            parts.push_back(n.part);
            sends_.push_back(std::ssize(n.sent));
            send_places_.push_back(sent_);
            sent_ += std::ssize(n.sent);
            ghosts_.push_back(n.ghosts);
            ghost_places_.push_back(n.first_ghost);
        }
        buffer_.resize(static_cast<std::size_t>(sent_));
        const int degree = static_cast<int>(parts.size());
        MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, degree, parts.data(), MPI_UNWEIGHTED, degree, parts.data(),
                                       MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &comm_);
        compute_alone(static_cast<int>(o.size));
    }
    ~kernel() override { MPI_Comm_free(&comm_); }
    kernel(const kernel&) = delete;
    kernel& operator=(const kernel&) = delete;

    MPI_Comm comm() const override { return comm_; }
    void reset() override { field_.reset(); }

    void run(applications::collectives& how, const pace& computing) override {
        const double inside = static_cast<double>(region_.inner()) / static_cast<double>(region_.own());
        for (std::int64_t step = 0; step < steps_; ++step) {
            applications::started exchange = start_exchange(how);
            computing(inside, [&] {
                field_.apply_potential();
                field_.apply_laplace(0, region_.inner());
            });
            exchange.wait();
            computing(1 - inside, [&] {
                field_.apply_laplace(region_.inner(), region_.own());
                field_.advance();
            });
        }
    }

    std::string fault() override {
        for (std::size_t p = 0; p < region_.own(); ++p)
            if (!(std::abs(field_[p] - wanted_[p]) <= 1e-12 * std::abs(wanted_[p]) + 1e-15))
                return fmt::format("the value at point {} is {} instead of {}", region_.number(p), field_[p],
                                   wanted_[p]);
        return {};
    }

private:
    applications::started start_exchange(applications::collectives& how) {
        double* to = buffer_.data();
        for (const neighbour& n : region_.neighbours())
            for (const std::int32_t place : n.sent) *to++ = *field_.from(place);
        return how.start(rubato::mpi::call::neighbor_alltoallv(buffer_.data(), {sends_, send_places_}, MPI_DOUBLE,
                                                               field_.from(0), {ghosts_, ghost_places_}, MPI_DOUBLE));
    }

    /// The whole region on this rank; of the result, the points that it has in the parallel computation.
    void compute_alone(int size) {
        const region whole(size, 0, 1);
        field alone(whole);
        for (std::int64_t step = 0; step < steps_; ++step) {
            alone.apply_potential();
            alone.apply_laplace(0, whole.own());
            alone.advance();
        }
        for (std::size_t p = 0; p < region_.own(); ++p)
            wanted_.push_back(alone[static_cast<std::size_t>(region_.number(p))]);
    }

    std::int64_t steps_;
    region region_;
    field field_;
    std::vector<std::int64_t> sends_{}, send_places_{}, ghosts_{}, ghost_places_{};
    std::int64_t sent_ = 0;
    std::vector<double> buffer_{};
    std::vector<double> wanted_{};
    MPI_Comm comm_ = MPI_COMM_NULL;
};

}  // namespace

int main(int argc, char** argv) {
    options o;
    const auto make = [&] {
        return std::make_unique<kernel>(o, applications::rank_in(MPI_COMM_WORLD),
                                        applications::size_of(MPI_COMM_WORLD));
    };
    return applications::run(
        argc, argv,
        {.name = "finite_differences",
         .about =
             "Finite differences on an irregular region with an overlapped neighbour exchange. Start it with mpirun.",
         .footer = "A step applies potential and Laplace operator once. Checked: every value, against a computation on "
                   "one rank.\n\n"
                   "Examples:\n"
                   "  mpirun -n 7 finite_differences\n"
                   "  mpirun -n 2 finite_differences --size 64 --steps 50 --repetitions 20\n",
         .options = {{"size", &o.size, 4, 256, "points in each dimension of the cube around the region"},
                     {"steps", &o.steps, 1, 1 << 20, "that are made"}},
         .calls = {rubato::collective::neighbor_alltoallv},
         .make = make});
}
