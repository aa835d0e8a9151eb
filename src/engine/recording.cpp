#include "engine/recording.hpp"

namespace rubato {

void recording::begin(std::uint32_t step, step_kind kind, rank peer) {
    if (begun_.size() <= step) begun_.resize(step + 1);
    begun_[step] = {kind, peer.value, {clock_.now(), {}}};
}

void recording::send(std::uint32_t step, const std::byte* data, std::int64_t units, rank to, std::uint32_t message) {
    begin(step, step_kind::send, to);
    to_.send(step, data, units, to, message);
}

void recording::recv(std::uint32_t step, std::byte* data, std::int64_t units, rank from, std::uint32_t message) {
    begin(step, step_kind::recv, from);
    to_.recv(step, data, units, from, message);
}

void recording::poll(std::vector<std::uint32_t>& completed, bool wait) {
    const std::size_t before = completed.size();
    to_.poll(completed, wait);
    end(std::span(completed).subspan(before));
}

void recording::take(std::vector<std::uint32_t>& completed) {
    const std::size_t before = completed.size();
    to_.take(completed);
    end(std::span(completed).subspan(before));
}

void recording::end(std::span<const std::uint32_t> completed) {
    const time_ns now = clock_.now();
    for (const std::uint32_t step : completed) {
        ended_.push_back(begun_[step]);
        ended_.back().when.end = now;
    }
}

void recording::combine(const std::byte* left, std::byte* into, std::int64_t units) {
    const time_ns begun = clock_.now();
    to_.combine(left, into, units);
    ended_.push_back({step_kind::combine, -1, {begun, clock_.now()}});
}

void recording::copy(const std::byte* from, std::byte* to, std::int64_t units) {
    const time_ns begun = clock_.now();
    to_.copy(from, to, units);
    ended_.push_back({step_kind::copy, -1, {begun, clock_.now()}});
}

}  // namespace rubato
