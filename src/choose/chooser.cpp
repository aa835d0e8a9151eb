#include "parts.hpp"
#include "rubato/layout.hpp"

#include <algorithm>
#include <bit>

namespace rubato {
namespace {

/// All of them together take little memory; a program that has more of them has no habits that could be kept.
constexpr std::size_t most_choices = 1024;

std::int64_t rounded_size(std::int64_t bytes) {
    const int width = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(bytes)));
    const int dropped = std::max(width - 2, 0);
    return bytes >> dropped << dropped;
}

void round_arrivals(std::vector<time_ns>& arrivals, time_ns quantum) {
    if (arrivals.empty()) return;
    const time_ns earliest = std::ranges::min(arrivals);
    for (time_ns& t : arrivals) t = std::min((t - earliest + quantum / 2) / quantum * quantum, longest_time);
    if (std::ranges::max(arrivals) == time_ns{}) arrivals.clear();
}

}  // namespace

const algorithm* chooser::best(problem& p, std::int64_t chunk) {
    problem similar = p;
    const std::int64_t size = rounded_size(chunk);
    round_arrivals(similar.arrivals, std::max(segment_time(model_, size) / 2, time_ns{1}));
    similar.segments = 1;
    similar.round_time = {};
    key k{static_cast<std::int64_t>(p.what),
          p.ranks,
          p.root.value,
          p.commutative,
          p.idempotent,
          size,
          static_cast<std::int64_t>(p.radix.size()),
          static_cast<std::int64_t>(p.hosts.size())};
    k.insert(k.end(), p.radix.begin(), p.radix.end());
    k.insert(k.end(), p.hosts.begin(), p.hosts.end());
    for (const time_ns t : similar.arrivals) k.push_back(t.count());
    auto found = made_.find(k);
    if (found == made_.end()) {
        if (made_.size() >= most_choices) made_.clear();
        const std::vector<candidate> ranked =
            choose(similar, size, model_, candidates_for(similar, size, model_, early_));
        const choice made = ranked.empty() ? choice{nullptr, 0} : choice{ranked.front().use, ranked.front().segment};
        found = made_.emplace(std::move(k), made).first;
    }
    const auto& [use, segment] = found->second;
    if (use == nullptr) return nullptr;
    p.segments = pieces(chunk, segment);
    p.round_time = round_time_of(*use, p, chunk, model_);
    return use;
}

}  // namespace rubato
