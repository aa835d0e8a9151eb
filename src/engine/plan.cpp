#include "engine/engine.hpp"

#include <array>
#include <unordered_map>

namespace rubato {
namespace {

constexpr std::size_t ahead = 4;  // receives posted at once from one peer

}  // namespace

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
    struct history {
        std::array<std::uint32_t, ahead> last{none, none, none, none};
        std::size_t count = 0;
    };
    std::unordered_map<std::int32_t, history> peers;
    for (const std::uint32_t r : recvs_) {
        history& h = peers[schedule_.steps[r].peer];
        std::uint32_t& oldest = h.last[h.count++ % ahead];
        gates_.push_back(oldest);
        oldest = r;
    }
    for (std::size_t i = 0; i < n; ++i) first_successor_[i + 1] += first_successor_[i];
    successors_.resize(schedule_.dependencies.size());
    std::vector<std::uint32_t> next(first_successor_.begin(), first_successor_.end() - 1);
    for (std::uint32_t i = 0; i < n; ++i)
        for (const std::uint32_t d : schedule_.dependencies_of(i)) successors_[next[d]++] = i;
}

std::size_t plan::bytes() const {
    const auto of = [](const auto&... vectors) { return (... + (vectors.capacity() * sizeof(vectors[0]))); };
    return sizeof(plan) + of(schedule_.scratch, schedule_.steps, schedule_.first_dependency, schedule_.dependencies,
                             first_successor_, successors_, waits_, sends_, recvs_, gates_);
}

}  // namespace rubato
