#include "training/network.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace training {

batch make_batch(const shape& s, std::int64_t step, std::int64_t begin, std::int64_t end) {
    batch b;
    for (std::int64_t sample = begin; sample < end; ++sample) {
        std::seed_seq seed{step, sample};
        std::mt19937 random(seed);
        std::uniform_real_distribution<float> value(-1, 1);
        const std::size_t first = b.inputs.size();
        for (std::size_t i = 0; i < s.width; ++i) b.inputs.push_back(value(random));
        // Something to learn: each output follows from two inputs.
        for (std::size_t i = 0; i < s.width; ++i)
            b.targets.push_back(std::sin(2 * b.inputs[first + i]) * b.inputs[first + (i + 1) % s.width]);
    }
    return b;
}

std::vector<float> first_weights(const shape& s) {
    std::mt19937 random(1);
    const float most = 1 / std::sqrt(static_cast<float>(s.width));
    std::uniform_real_distribution<float> value(-most, most);
    std::vector<float> weights(s.parameters());
    for (float& w : weights) w = value(random);
    return weights;
}

void network::forward(std::size_t layer, const batch& b) {
    const std::size_t n = shape_.width;
    const std::span<const float> in = input_of(layer, b);
    const float* weights = &weights_[layer * shape_.of_layer()];
    const float* biases = weights + n * n;
    std::vector<float>& out = outputs_[layer];
    out.resize(in.size());
    for (std::size_t sample = 0; sample < in.size(); sample += n) {
        float* to = &out[sample];
        std::copy_n(biases, n, to);
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t o = 0; o < n; ++o) to[o] += weights[i * n + o] * in[sample + i];
        if (layer + 1 < shape_.layers)
            for (std::size_t o = 0; o < n; ++o) to[o] = std::tanh(to[o]);
    }
}

void network::backward(std::size_t layer, const batch& b) {
    const std::size_t n = shape_.width;
    const std::span<const float> in = input_of(layer, b);
    const std::vector<float>& out = outputs_[layer];
    if (layer + 1 == shape_.layers) {
        errors_.resize(out.size());
        for (std::size_t i = 0; i < out.size(); ++i) errors_[i] = out[i] - b.targets[i];
    } else {
        for (std::size_t i = 0; i < out.size(); ++i) errors_[i] *= 1 - out[i] * out[i];
    }
    const float* weights = &weights_[layer * shape_.of_layer()];
    const std::span<float> gradients_here = gradients(layer);
    float* of_weights = gradients_here.data();
    float* of_biases = of_weights + n * n;
    std::ranges::fill(gradients_here, 0);
    std::vector<float> before(errors_.size());
    for (std::size_t sample = 0; sample < out.size(); sample += n) {
        const float* error = &errors_[sample];
        for (std::size_t o = 0; o < n; ++o) of_biases[o] += error[o];
        for (std::size_t i = 0; i < n; ++i) {
            float sum = 0;
            for (std::size_t o = 0; o < n; ++o) {
                of_weights[i * n + o] += in[sample + i] * error[o];
                sum += weights[i * n + o] * error[o];
            }
            before[sample + i] = sum;
        }
    }
    errors_ = std::move(before);
}

void network::update(std::size_t layer, float rate) {
    const std::span<const float> by = gradients(layer);
    float* weights = &weights_[layer * shape_.of_layer()];
    for (std::size_t i = 0; i < by.size(); ++i) weights[i] -= rate * by[i];
}

}  // namespace training
