// When the steps of a run began and ended: a transport in front of another one.
#pragma once

#include "engine/engine.hpp"
#include "rubato/clock.hpp"

namespace rubato {

class RUBATO_API recording final : public transport {
public:
    recording(transport& to, const common_clock& clock) : to_(to), clock_(clock) {}

    /// Steps that have ended, in that order.
    const std::vector<recorded_step>& steps() const { return ended_; }
    void clear() { ended_.clear(); }

    void send(std::uint32_t step, const std::byte* data, std::int64_t units, rank to, std::uint32_t message) override;
    void recv(std::uint32_t step, std::byte* data, std::int64_t units, rank from, std::uint32_t message) override;
    void poll(std::vector<std::uint32_t>& completed, bool wait) override;
    void combine(const std::byte* left, std::byte* into, std::int64_t units) override;
    void copy(const std::byte* from, std::byte* to, std::int64_t units) override;

private:
    void begin(std::uint32_t step, step_kind kind, rank peer);

    transport& to_;
    const common_clock& clock_;
    std::vector<recorded_step> begun_{};  // by step
    std::vector<recorded_step> ended_{};
};

}  // namespace rubato
