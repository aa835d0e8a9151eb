// Data-parallel training: every rank has the whole network and a part of each batch. Gradients of a layer are summed
// over the ranks while those of the layers before it are computed.
#include "common/application.hpp"
#include "training/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace {

using applications::pace;
using training::batch;
using training::network;

struct options {
    std::int64_t width = 128;
    std::int64_t layers = 6;
    std::int64_t samples = 8;
    std::int64_t steps = 10;
};

constexpr float learning_rate = 0.05F;
constexpr std::size_t most_at_once = 1 << 30;  // in a broadcast

class trainer : public applications::application {
public:
    trainer(const options& o, int me, int ranks)
        : shape_{static_cast<std::size_t>(o.width), static_cast<std::size_t>(o.layers)},
          rate_(learning_rate / static_cast<float>(o.samples * ranks)) {
        std::vector<batch> whole;
        for (std::int64_t step = 0; step < o.steps; ++step) {
            batches_.push_back(training::make_batch(shape_, step, me * o.samples, (me + 1) * o.samples));
            if (me == 0) whole.push_back(training::make_batch(shape_, step, 0, ranks * o.samples));
        }
        wanted_ = me == 0 ? trained_alone(whole) : std::vector<float>(shape_.parameters());
        for (std::size_t at = 0; at < wanted_.size(); at += most_at_once)
            MPI_Bcast(&wanted_[at], static_cast<int>(std::min(most_at_once, wanted_.size() - at)), MPI_FLOAT, 0,
                      MPI_COMM_WORLD);
    }

    void reset() override { network_ = network(shape_); }

    void run(applications::collectives& how, const pace& computing) override {
        const std::size_t layers = shape_.layers;
        // Going back takes twice as long as going forward.
        const double forward_share = 1.0 / 3 / static_cast<double>(layers);
        std::vector<applications::started> sums(layers);
        for (const batch& b : batches_) {
            for (std::size_t l = 0; l < layers; ++l) computing(forward_share, [&] { network_.forward(l, b); });
            for (std::size_t l = layers; l-- > 0;) {
                computing(2 * forward_share, [&] { network_.backward(l, b); });
                if (how.overlaps()) sums[l] = how.start(sum_of(network_.gradients(l)));
            }
            if (!how.overlaps()) sums[0] = how.start(sum_of(network_.gradients()));
            for (std::size_t l = layers; l-- > 0;) {
                sums[l].wait();
                network_.update(l, rate_);
            }
        }
    }

    /// Relative to what training has changed; sums in another order make it 1e-6.
    std::string fault() override {
        const std::vector<float> first = training::first_weights(shape_);
        double difference = 0;
        double size = 0;
        for (std::size_t i = 0; i < wanted_.size(); ++i) {
            difference += std::pow(network_.weights()[i] - wanted_[i], 2);
            size += std::pow(wanted_[i] - first[i], 2);
        }
        const double error = std::sqrt(difference / size);
        return error < 2e-5 ? "" : fmt::format("the weights are off by {:.1e} from those of one rank alone", error);
    }

private:
    static rubato::mpi::call sum_of(std::span<float> gradients) {
        return rubato::mpi::call::allreduce(MPI_IN_PLACE, gradients.data(), static_cast<std::int64_t>(gradients.size()),
                                            MPI_FLOAT, MPI_SUM);
    }

    std::vector<float> trained_alone(const std::vector<batch>& batches) const {
        network alone(shape_);
        for (const batch& b : batches) {
            for (std::size_t l = 0; l < shape_.layers; ++l) alone.forward(l, b);
            for (std::size_t l = shape_.layers; l-- > 0;) alone.backward(l, b);
            for (std::size_t l = 0; l < shape_.layers; ++l) alone.update(l, rate_);
        }
        return {alone.weights().begin(), alone.weights().end()};
    }

    training::shape shape_;
    float rate_;
    std::vector<batch> batches_{};  // this rank's part of each
    std::vector<float> wanted_{};
    network network_{shape_};
};

}  // namespace

int main(int argc, char** argv) {
    options o;
    const auto make = [&] {
        return std::make_unique<trainer>(o, applications::rank_in(MPI_COMM_WORLD),
                                         applications::size_of(MPI_COMM_WORLD));
    };
    return applications::run(
        argc, argv,
        {.name = "training",
         .about = "Data-parallel training whose gradients are summed layer by layer. Start it with mpirun.",
         .footer =
             "A step is a batch. The blocking form sums all gradients in one allreduce. Checked: the weights of every\n"
             "rank are those of a training on one rank with the same batches.\n\n"
             "Examples:\n"
             "  mpirun -n 4 training\n"
             "  mpirun -n 8 training --compute 60ms --slow-rank 3 --slow-by 20ms\n",
         .options = {{"width", &o.width, 1, 1 << 14, "neurons of a layer"},
                     {"layers", &o.layers, 1, 1 << 10, "of the network"},
                     {"samples", &o.samples, 1, 1 << 20, "of a rank in each batch"},
                     {"steps", &o.steps, 1, 1 << 20, "batches"}},
         .calls = {rubato::collective::allreduce},
         .make = make});
}
