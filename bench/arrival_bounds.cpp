#include "arrival_bounds.hpp"

#include <algorithm>
#include <vector>

using rubato::time_ns;

time_ns earliest_end(rubato::collective what, std::span<const time_ns> arrivals, std::size_t root, std::int64_t block,
                     const link_speed& l, before_arrival can) {
    const bool scatter = what == rubato::collective::scatter;
    std::vector<time_ns> available;
    for (std::size_t r = 0; r < arrivals.size(); ++r) {
        if (r == root) continue;
        const time_ns sender = arrivals[scatter ? root : r];
        const time_ns receiver = arrivals[scatter ? r : root];
        available.push_back(can == before_arrival::nothing ? std::max(sender, receiver) : sender);
    }
    std::ranges::sort(available);
    const time_ns one(static_cast<time_ns::rep>(l.per_byte * static_cast<double>(block)));
    time_ns link_free = time_ns::min();
    for (const time_ns t : available) link_free = std::max(link_free, t) + one;
    const time_ns arrived = available.empty() ? time_ns{} : link_free + l.latency;
    return std::max(arrived, std::ranges::max(arrivals));
}
