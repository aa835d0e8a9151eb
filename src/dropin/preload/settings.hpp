// The settings of the drop-in: variables of the environment, which `rubato exec` sets. Needs no MPI.
#pragma once

#include "dropin/direct/rules.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/background.hpp"

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::dropin {

/// By name, those that begin with RUBATO_.
using variables = std::map<std::string, std::string, std::less<>>;
variables variables_of_environment();

enum class mode : std::uint8_t { observe, automatic, force, rules };

/// Says who has not come when a collective waits for long.
struct watchdog_settings {
    time_ns limit{};    ///< 0: there is none
    bool ends = false;  ///< the program, once it has said so
};

struct settings {
    dropin::mode mode = mode::observe;
    std::vector<const algorithm*> force{};  ///< of each collective one at most
    std::string rules{};                    ///< a file of them
    dropin::prudence careful{};
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

/// A setting: as people read it, and how it is read.
struct setting_row {
    std::string_view variable;
    std::string_view option;  ///< of `rubato exec`
    std::string_view otherwise;
    std::string_view example;
    std::string_view meaning;
    /// Throws if the value is wrong.
    void (*read)(std::string_view variable, std::string_view value, settings& into);
};
std::span<const setting_row> setting_rows();

/// Throws if a value is wrong.
settings parse_settings(const variables& said);

/// Throws unless it is a plain file, or one could be made, and its parts, or every call, can be kept beside it.
void check_output(const std::string& file, bool every_call);
/// Throws unless it is a plain file here that may be replaced, or that is another user's, or one could be made.
void check_profile(const std::string& file);

// What is decided before MPI_Init, while ranks cannot communicate: whether MPI is asked for a higher thread level than
// the program wants.
//
// The thread level is raised before ranks can talk, so it follows from what the launcher tells every rank: the number
// of ranks, and of those on its host. The answer is the same on all. If MPI provides less on one rank, no rank begins
// early. Raising it costs locks in every call of MPI, which do not show beside a network; in shared memory they do, so
// on one host the program's level stays. The true level is reported.

/// The value of a variable; empty if there is none.
using environment = std::function<std::string_view(const char* name)>;

/// Whether the launcher says that ranks are on more than one host; false if it does not tell. Equal on all ranks.
bool is_between_hosts(const environment& value_of);

/// Whether MPI is asked for MPI_THREAD_MULTIPLE, for the background thread. Wrong settings are reported later.
bool raises_thread_level(const environment& value_of);

}  // namespace rubato::dropin
