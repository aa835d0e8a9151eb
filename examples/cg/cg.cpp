// Conjugate gradients on a 3-D Poisson problem: Hoefler 2008, V.1.7. While faces are under way, the points inside are
// multiplied. Dot products are needed at once, so nothing overlaps with them.
#include "cg/block.hpp"
#include "common/application.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace {

using applications::pace;
using vector = std::vector<double>;

struct options {
    std::int64_t nx = 64;
    std::int64_t ny = 32;
    std::int64_t nz = 32;
    std::int64_t iterations = 1000;
};

constexpr double tolerance = 1e-9;

/// -Laplace u = 0 with u = 1 at the border of the grid, so u = 1 everywhere. Values at the border are on the right.
class solver : public applications::application {
public:
    explicit solver(const options& o)
        : iterations_(o.iterations),
          block_({o.nx, o.ny, o.nz}, MPI_COMM_WORLD),
          halo_(block_),
          x_(block_.places()),
          r_(block_.places()),
          q_(block_.places()),
          v_(block_.places()),
          right_(block_.places()) {
        for (std::size_t f = 0; f < 6; ++f)
            if (block_.neighbour(f) == MPI_PROC_NULL)
                each_point(block_.own_face(f), [&](std::int64_t p) { right_[index(p)] += 1; });
    }

    MPI_Comm comm() const override { return block_.comm(); }

    void reset() override {
        std::ranges::fill(x_, 0);
        std::ranges::fill(v_, 0);
        r_ = right_;  // the residual of x = 0
        q_ = right_;
        done_ = 0;
    }

    void run(applications::collectives& how, const pace& computing) override {
        const double first = dot(r_, r_);
        double gamma = first;
        for (; done_ < iterations_ && gamma > tolerance * tolerance * first; ++done_) {
            multiply(how, computing);
            // The product and what follows take about as long as each other.
            double here = 0;
            computing(0.15, [&] { here = inner_product(v_, q_); });
            const double alpha = gamma / applications::sum_over(comm(), here);
            computing(0.25, [&] {
                for (std::size_t p = 0; p < x_.size(); ++p) {
                    x_[p] += alpha * q_[p];
                    r_[p] -= alpha * v_[p];
                }
                here = inner_product(r_, r_);
            });
            const double next = applications::sum_over(comm(), here);
            computing(0.1, [&] {
                for (std::size_t p = 0; p < x_.size(); ++p) q_[p] = r_[p] + next / gamma * q_[p];
            });
            gamma = next;
        }
        converged_ = gamma <= tolerance * tolerance * first;
    }

    /// The residual that the iteration carries along is the true one only if every product was right.
    std::string fault() override {
        q_ = x_;
        halo_.exchange(q_);
        apply(block_.inner());
        for (const cg::range& face : block_.border()) apply(face);
        double off = 0;
        double far = 0;
        each_point(whole(), [&](std::int64_t p) {
            off += std::pow(right_[index(p)] - v_[index(p)] - r_[index(p)], 2);
            far = std::max(far, std::abs(x_[index(p)] - 1));
        });
        const double relative = std::sqrt(applications::sum_over(comm(), off) / dot(right_, right_));
        if (!(relative < 1e-10)) return fmt::format("the residual is off by {:.1e}", relative);
        if (converged_ && !(far < 1e-6)) return fmt::format("the solution is off by {:.1e}", far);
        if (done_ == 0) return "nothing was computed";
        return {};
    }

private:
    static std::size_t index(std::int64_t p) { return static_cast<std::size_t>(p); }
    cg::range whole() const { return {{1, 1, 1}, {block_.size()[0] + 1, block_.size()[1] + 1, block_.size()[2] + 1}}; }

    template <class F>
    void each_point(const cg::range& r, F&& f) const {
        cg::each_row(r, [&](std::int64_t i, std::int64_t j) {
            for (std::int64_t k = r.low[2]; k < r.high[2]; ++k) f(block_.at(i, j, k));
        });
    }

    // Over the layer, too: it is 0 in one of the factors.
    static double inner_product(const vector& a, const vector& b) {
        return std::transform_reduce(a.begin(), a.end(), b.begin(), 0.0);
    }
    double dot(const vector& a, const vector& b) const { return applications::sum_over(comm(), inner_product(a, b)); }

    void multiply(applications::collectives& how, const pace& computing) {
        const cg::extents& n = block_.size();
        double inside = 1;
        for (const std::int64_t each : n)
            inside *= std::max(0.0, static_cast<double>(each - 2) / static_cast<double>(each));
        halo_.start(how, q_);
        computing(0.5 * inside, [&] { apply(block_.inner()); });
        halo_.finish(q_);
        computing(0.5 * (1 - inside), [&] {
            for (const cg::range& face : block_.border()) apply(face);
        });
    }

    /// v = A q at some points.
    void apply(const cg::range& r) {
        const auto [across_i, across_j, across_k] = block_.stride();
        each_row(r, [&, this, di = across_i, dj = across_j, dk = across_k](std::int64_t i, std::int64_t j) {
            const double* q = &q_[index(block_.at(i, j, 0))];
            double* v = &v_[index(block_.at(i, j, 0))];
            for (std::int64_t k = r.low[2]; k < r.high[2]; ++k)
                v[k] = 6 * q[k] - q[k - di] - q[k + di] - q[k - dj] - q[k + dj] - q[k - dk] - q[k + dk];
        });
    }

    std::int64_t iterations_;
    cg::block block_;
    cg::halo halo_;
    vector x_, r_, q_, v_, right_;
    std::int64_t done_ = 0;
    bool converged_ = false;
};

}  // namespace

int main(int argc, char** argv) {
    options o;
    return applications::run(
        argc, argv,
        {.name = "cg",
         .about = "Conjugate gradients on a 3-D grid with an overlapped neighbour exchange. Start it with mpirun.",
         .footer =
             "Solves -Laplace u = 0 with u = 1 at the border. A step is an iteration. Checked: the residual after the "
             "last\n"
             "iteration is the one that the iterations computed, and once they have converged u is 1 everywhere.\n\n"
             "Examples:\n"
             "  mpirun -n 8 cg\n"
             "  mpirun -n 2 cg --nx 512 --iterations 50 --repetitions 20\n",
         .options = {{"nx", &o.nx, 1, 1 << 20, "points in the dimension that is cut first"},
                     {"ny", &o.ny, 1, 1 << 20, "in the second"},
                     {"nz", &o.nz, 1, 1 << 20, "in the third"},
                     {"iterations", &o.iterations, 1, 1 << 30, "the most that are made if it does not converge"}},
         .calls = {rubato::collective::neighbor_alltoallv},
         .make = [&] { return std::make_unique<solver>(o); }});
}
