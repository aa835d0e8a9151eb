// A small network, trained by hand: layers of equal width with tanh between them, squared error, plain SGD.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

namespace training {

/// So many inputs as outputs and neurons in each layer.
struct shape {
    std::size_t width = 0;
    std::size_t layers = 0;

    std::size_t of_layer() const { return (width + 1) * width; }  // weights, then biases
    std::size_t parameters() const { return layers * of_layer(); }
};

/// Samples, one after the other, of `width` numbers each.
struct batch {
    std::vector<float> inputs{};
    std::vector<float> targets{};
};
/// Samples `begin` to `end` of training step `step`: the same for the same numbers, whoever asks.
batch make_batch(const shape& s, std::int64_t step, std::int64_t begin, std::int64_t end);

std::vector<float> first_weights(const shape& s);

class network {
public:
    explicit network(const shape& s) : shape_(s), weights_(first_weights(s)), gradients_(s.parameters()) {}

    std::span<const float> weights() const { return weights_; }
    /// Of all layers, and of one.
    std::span<float> gradients() { return gradients_; }
    std::span<float> gradients(std::size_t layer) {
        return gradients().subspan(layer * shape_.of_layer(), shape_.of_layer());
    }

    void forward(std::size_t layer, const batch& b);
    /// From the last layer to the first; its gradients are sums over the samples.
    void backward(std::size_t layer, const batch& b);
    void update(std::size_t layer, float rate);

private:
    std::span<const float> input_of(std::size_t layer, const batch& b) const {
        return layer == 0 ? std::span<const float>(b.inputs) : outputs_[layer - 1];
    }

    shape shape_;
    std::vector<float> weights_, gradients_;
    std::vector<std::vector<float>> outputs_ = std::vector<std::vector<float>>(shape_.layers);
    std::vector<float> errors_{};  // of what the layer that was done last would have needed as input
};

}  // namespace training
