// What the sections of docs/reproduction.md share: printing, and the functions that print them.
#pragma once

#include "schedules/clairvoyant/clairvoyant.hpp"

#include <fmt/format.h>

#include <iterator>
#include <string>
#include <string_view>
#include <vector>

namespace reproduction {

/// All that has been printed.
std::string& output();

template <class... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(output()), format, std::forward<Args>(args)...);
}
void print_row(const std::vector<std::string>& cells);
/// A heading and the first row of a table.
void print_head(std::string_view heading, const std::vector<std::string>& cells);
/// Inbound and outbound queue of each rank.
void print_queues(const rubato::schedules::rounds& r, std::int32_t p);

inline double seconds(rubato::time_ns t) { return static_cast<double>(t.count()) * 1e-9; }

// The sections. `pictures`: the folder to draw into, or nothing.
void marendic_2016();
/// `full`: also the tables that the page leaves out.
void marendic_2016_late(const std::string& pictures, bool full);
void proficz_ocetkiewicz_2020();
void proficz_2020_equations();
void proficz_2020_tables();
void hoefler_2014();

}  // namespace reproduction
