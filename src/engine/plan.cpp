#include "rubato/engine.hpp"

namespace rubato {

plan::plan(schedule s) : schedule_(std::move(s)) {
    const std::size_t n = schedule_.steps.size();
    waits_.resize(n);
    first_successor_.assign(n + 1, 0);
    for (std::size_t i = 0; i < n; ++i) {
        const auto on = schedule_.dependencies_of(i);
        waits_[i] = static_cast<std::uint32_t>(on.size());
        for (const std::uint32_t d : on) ++first_successor_[d + 1];
        const step_kind kind = schedule_.steps[i].kind;
        if (kind == step_kind::send) sends_.push_back(static_cast<std::uint32_t>(i));
        if (kind == step_kind::recv) recvs_.push_back(static_cast<std::uint32_t>(i));
    }
    for (std::size_t i = 0; i < n; ++i) first_successor_[i + 1] += first_successor_[i];
    successors_.resize(schedule_.dependencies.size());
    std::vector<std::uint32_t> next(first_successor_.begin(), first_successor_.end() - 1);
    for (std::uint32_t i = 0; i < n; ++i)
        for (const std::uint32_t d : schedule_.dependencies_of(i)) successors_[next[d]++] = i;
}

}  // namespace rubato
