// When the steps of a run began and ended: a transport in front of another one.
#pragma once

#include "engine/execute/engine.hpp"
#include "rubato/clock.hpp"

namespace rubato::engine {

class recording final : public transport {
public:
    /// Steps that have ended are added to `ended`.
    recording(transport& to, const common_clock& clock, std::vector<recorded_step>& ended)
        : to_(to), clock_(clock), ended_(ended) {}

    void send(std::uint32_t step, const std::byte* data, std::int64_t units, rank to, std::uint32_t message) override {
        begin(step, step_kind::send, to);
        to_.send(step, data, units, to, message);
    }
    void recv(std::uint32_t step, std::byte* data, std::int64_t units, rank from, std::uint32_t message) override {
        begin(step, step_kind::recv, from);
        to_.recv(step, data, units, from, message);
    }
    void poll(std::vector<std::uint32_t>& completed, bool wait) override {
        const std::size_t before = completed.size();
        to_.poll(completed, wait);
        end(std::span(completed).subspan(before));
    }
    void take(std::vector<std::uint32_t>& completed) override {
        const std::size_t before = completed.size();
        to_.take(completed);
        end(std::span(completed).subspan(before));
    }
    void combine(const std::byte* left, std::byte* into, std::int64_t units) override {
        const time_ns begun = clock_.now();
        to_.combine(left, into, units);
        ended_.push_back({step_kind::combine, -1, {begun, clock_.now()}});
    }
    void copy(const std::byte* from, std::byte* to, std::int64_t units) override {
        const time_ns begun = clock_.now();
        to_.copy(from, to, units);
        ended_.push_back({step_kind::copy, -1, {begun, clock_.now()}});
    }

private:
    void begin(std::uint32_t step, step_kind kind, rank peer) {
        if (begun_.size() <= step) begun_.resize(step + 1);
        begun_[step] = {kind, peer.value, {clock_.now(), {}}};
    }
    void end(std::span<const std::uint32_t> completed) {
        const time_ns now = clock_.now();
        for (const std::uint32_t step : completed) {
            ended_.push_back(begun_[step]);
            ended_.back().when.end = now;
        }
    }

    transport& to_;
    const common_clock& clock_;
    std::vector<recorded_step>& ended_;
    std::vector<recorded_step> begun_{};  // by step
};

}  // namespace rubato::engine
