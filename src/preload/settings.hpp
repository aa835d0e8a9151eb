// The settings of the drop-in: variables of the environment, which `rubato exec` sets. Needs no MPI.
#pragma once

#include "rubato/background.hpp"
#include "rubato/problem.hpp"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::preload {

/// By name, those that begin with RUBATO_.
using variables = std::map<std::string, std::string, std::less<>>;
variables variables_of_environment();

/// A row of the table for people.
struct setting_row {
    std::string_view variable;
    std::string_view option;  ///< of `rubato exec`
    std::string_view otherwise;
    std::string_view example;
    std::string_view meaning;
};
std::span<const setting_row> setting_rows();

enum class mode : std::uint8_t { observe, automatic, force, rules };

/// Says who has not come when a collective waits for long.
struct watchdog_settings {
    time_ns limit{};    ///< 0: there is none
    bool ends = false;  ///< the program, once it has said so
};

struct settings {
    preload::mode mode = mode::observe;
    std::string force{};  ///< an algorithm's id
    std::string rules{};  ///< a file of them
    double margin = 0.1;
    double spend = 0.01;
    std::string model{};  ///< empty: measured when it is needed
    rubato::background_settings background{};
    bool reproducible = false;
    std::vector<collective> leave{};
    watchdog_settings watchdog{};
    std::optional<std::size_t> every_call{};  ///< kept, in at most so many bytes per rank
    std::string output{};                     ///< empty: named after the program
    bool remembers = true;                    ///< mode auto: has a profile
    std::string profile{};                    ///< its file; empty: named after the program, in the user's cache
};

/// Throws if a value is wrong.
settings parse_settings(const variables& said);

/// Throws unless it is a plain file, or one could be made, and its parts, or every call, can be kept beside it.
void check_output(const std::string& file, bool every_call);
/// Throws unless it is a plain file here that may be replaced, or that is another user's, or one could be made.
void check_profile(const std::string& file);

}  // namespace rubato::preload
