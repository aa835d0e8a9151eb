// Pictures of costs: which way is best where, and which ways nothing beats.
#pragma once

#include "rubato/core.hpp"

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::schedules {

/// A field for every column and row, in the colour of what is best there.
struct cost_map {
    std::string title{};
    std::string subtitle{};
    std::string column_title{};
    std::string row_title{};
    std::vector<std::string> columns{};
    std::vector<std::string> rows{};   ///< the first is drawn at the bottom
    std::vector<std::string> names{};  ///< of what may be best
    std::vector<std::size_t> best{};   ///< of each field, row by row: a number in `names`
};
RUBATO_API std::string draw_map(const cost_map& m);

/// "a", "b", ..., "z", "aa", ...: the letters of the fields of a map.
RUBATO_API std::string map_letter(std::size_t i);

struct three_costs {
    std::string name{};
    double time_ns = 0;
    double energy_j = 0;
    double memory = 0;
    bool on_front = false;
    std::array<std::string, 3> texts{};  ///< time, energy and memory for people
};

/// Time across, energy upwards, memory as area. Those of the front have numbers and stand in a list beside it.
RUBATO_API std::string draw_front(std::string_view title, std::string_view subtitle,
                                  const std::vector<three_costs>& all);

}  // namespace rubato::schedules
