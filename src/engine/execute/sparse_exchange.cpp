#include "engine/execute/sparse_exchange.hpp"

#include <algorithm>
#include <bit>

namespace rubato::engine {
namespace {

constexpr int tries = 2;

}  // namespace

std::vector<incoming> sparse_exchange::take() {
    std::ranges::stable_sort(received_, {}, [](const incoming& i) { return i.from.value; });
    return std::move(received_);
}

std::size_t sparse_choice::next() const {
    const auto found = known_.find(last_ ? last_->own : kind{});
    const experience e = found != known_.end() ? found->second : experience{};
    // The time of the last one is not known yet, but it was tried.
    std::array<int, ways> tried = e.tried;
    if (last_ && last_->after == last_->own) ++tried[last_->way];
    const auto least = std::ranges::min_element(tried);
    if (*least < tries) return static_cast<std::size_t>(least - tried.begin());
    std::size_t best = 0;
    for (std::size_t w = 1; w < ways; ++w)
        if (e.tried[best] == 0 || (e.tried[w] > 0 && e.time[w] < e.time[best])) best = w;
    return best;
}

void sparse_choice::ended(std::size_t way, const size& s, time_ns before) {
    if (last_) {
        experience& e = known_[last_->after];
        time_ns& t = e.time[last_->way];
        // The best of the tries; later, slowly what it takes now.
        const int n = e.tried[last_->way]++;
        t = n == 0 ? before : n < tries ? std::min(t, before) : t + (before - t) / 4;
    }
    const auto logarithm = [](std::int64_t n) {
        return static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n)));
    };
    last_ = exchange{last_ ? last_->own : kind{}, {logarithm(s.partners), logarithm(s.bytes)}, way};
}

}  // namespace rubato::engine
