// When the steps of a run began and ended: a transport in front of another one.
#pragma once

#include "engine/engine.hpp"
#include "rubato/clock.hpp"

namespace rubato {

class RUBATO_API recording final : public transport {
public:
    /// Steps that have ended are added to `ended`.
    recording(transport& to, const common_clock& clock, std::vector<recorded_step>& ended)
        : to_(to), clock_(clock), ended_(ended) {}

    void send(std::uint32_t step, const std::byte* data, std::int64_t units, rank to, std::uint32_t message) override;
    void recv(std::uint32_t step, std::byte* data, std::int64_t units, rank from, std::uint32_t message) override;
    void poll(std::vector<std::uint32_t>& completed, bool wait) override;
    void take(std::vector<std::uint32_t>& completed) override;
    void combine(const std::byte* left, std::byte* into, std::int64_t units) override;
    void copy(const std::byte* from, std::byte* to, std::int64_t units) override;

private:
    void begin(std::uint32_t step, step_kind kind, rank peer);
    void end(std::span<const std::uint32_t> completed);

    transport& to_;
    const common_clock& clock_;
    std::vector<recorded_step>& ended_;
    std::vector<recorded_step> begun_{};  // by step
};

}  // namespace rubato
