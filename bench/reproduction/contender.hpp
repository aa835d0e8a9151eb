// One reduction of Marendic et al. 2016 with one size, simulated as they measured: 128 ranks of CURIE.
#pragma once

#include "rubato/algorithm.hpp"
#include "rubato/model.hpp"

#include <array>

namespace reproduction {

inline constexpr std::int32_t ranks = 128;
inline constexpr int log_ranks = 7;

const rubato::model& curie();
const rubato::hockney& costs();

struct named_size {
    const char* name;
    std::int64_t bytes;
};
inline constexpr std::array sizes{
    named_size{"128 KiB", 128 << 10}, named_size{"512 KiB", 512 << 10}, named_size{"2 MiB", 2 << 20},
    named_size{"4 MiB", 4 << 20},     named_size{"40 MiB", 40 << 20},
};

/// One algorithm with one size. Schedules that do not depend on arrivals are made once.
class contender {
public:
    /// Without a number of segments, the best number is used.
    contender(std::string_view name, std::int64_t bytes, std::uint32_t segments = 0);

    std::uint32_t segments() const { return segments_; }
    rubato::time_ns balanced() const { return balanced_; }
    rubato::time_ns run(rubato::time_ns delay, rubato::rank late = rubato::rank(ranks - 1));
    double absorption(rubato::time_ns delay);

private:
    std::uint32_t choose_segments();

    const rubato::algorithm& a_;
    std::int64_t bytes_;
    std::uint32_t segments_ = 1;
    rubato::time_ns balanced_{};
    std::vector<rubato::schedule> all_{};
};

}  // namespace reproduction
