// One collective with one number of ranks: the best classic algorithm, and the best arrival-aware one.
#pragma once

#include "rubato/algorithm.hpp"
#include "rubato/model.hpp"
#include "simulator/simulate/bound.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

namespace scale {

inline constexpr std::array<std::string_view, 2> networks{"curie", "ethernet100g"};

/// Bytes of the vector. Where a buffer has a chunk for each rank, the small ones are of a chunk, the others of all.
struct named_size {
    std::string_view name;
    std::int64_t bytes;
};
inline constexpr std::int64_t small = 8;
inline constexpr std::array sizes{named_size{"8 B", small}, named_size{"64 KiB", 64 << 10},
                                  named_size{"16 MiB", 16 << 20}};

/// A network, and how much data.
struct setting {
    std::string_view network{};
    std::string_view size{};
    rubato::model costs{};
    std::int64_t bytes = 0;  ///< of the vector, or of the buffer that has a chunk for each rank
    std::int64_t chunk = 0;  ///< what the collective cuts: the vector, or a chunk of that buffer
};

inline constexpr std::array patterns{"together", "one, t/2", "one, 2 t", "one, 10 t", "1 %, 2 t", "uniform, 2 t"};

/// The algorithm that ends first, with its best number of segments.
struct winner {
    std::string name{};
    rubato::time_ns tail{};
    rubato::time_ns balanced{};  ///< if all ranks arrive together, with the same segments

    double absorbed() const;
};

/// The result of one pattern in one setting.
struct result {
    std::optional<winner> classic{};
    std::optional<winner> aware{};
    std::optional<winner> early{};  ///< aware, and begun before its rank arrives
    rubato::time_ns bound{};        ///< no algorithm has a shorter tail
};

/// The algorithms that are compared. Those that make no sense with many ranks are left out.
struct entrants {
    rubato::collective what;
    std::vector<std::string_view> classic;
    std::vector<std::string_view> aware;
    std::vector<std::string_view> early;
    std::int32_t most_ranks = 1 << 14;
};

std::vector<setting> settings_for(rubato::collective what, std::int32_t ranks);

/// [setting][pattern], settings as settings_for has them. Algorithms whose schedules have too many steps are left out;
/// if no algorithm of a kind is left, its result is empty.
std::vector<std::vector<result>> contest(const entrants& e, std::int32_t ranks);

}  // namespace scale
