// What a collective costs apart from time: rounds, messages, bytes, energy, descriptor memory.
#pragma once

#include "rubato/layout.hpp"
#include "rubato/model.hpp"

#include <span>
#include <vector>

namespace rubato {

struct rank_cost {
    std::int64_t messages = 0;  ///< sent
    std::int64_t bytes = 0;     ///< sent
    std::int64_t scratch = 0;   ///< bytes of scratch memory
};

struct cost {
    std::int64_t rounds = 0;  ///< messages on the longest chain of steps that wait for each other
    std::int64_t messages = 0;
    std::int64_t bytes = 0;
    std::vector<rank_cost> ranks{};
};

/// `layouts`: one for all ranks, or one per rank; its units are bytes.
RUBATO_API cost count_cost(std::span<const schedule> all, std::span<const layout> layouts);
/// Energy in joules of an operation that takes `run_time` (Hoefler & Moor 2014, sec. 2).
RUBATO_API double energy(const model& m, const cost& c, time_ns run_time);
/// Descriptor memory of the rank that needs most, in bytes.
RUBATO_API std::int64_t descriptor_memory(const model& m, const cost& c);

}  // namespace rubato
