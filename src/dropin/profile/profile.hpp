// What the runs of a program have learned, for its next run: the network, and of each communicator's operations who
// made their calls best.
//
// As a file, it is one JSON object per line, of which "kind" tells what it is: first a profile, which tells how many
// lines there are, then experiences, the latest first. Times are whole nanoseconds.
//
// The key is what plans depend on and what a run knows when it begins: program, ranks, ranks on each host, MPI library.
// Arguments of the program are not in it: what was wrong is measured again. A communicator is named by a hash of its
// members' ranks in the world, as handles differ from run to run. Rank 0 reads the file in MPI_Init and sends its text
// to all, as directors must begin alike. What was learned is taken when an autopilot ends, by the first rank of its
// communicator; rank 0 puts it over what the run has read, and writes it in one step: the last run to end wins. At most
// 4096 experiences and 16 MiB.
#pragma once

#include "dropin/direct/learned.hpp"

#include <nlohmann/json_fwd.hpp>

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::dropin {

// Experiences as JSON objects, also in recordings.
void to_json(nlohmann::json& j, const experience& e);
/// Throws if something is missing, of another kind, or makes no sense. An algorithm need not be one of this version.
void from_json(const nlohmann::json& j, experience& e);

/// Runs with the same key learn from each other.
struct key {
    std::string program{};
    std::int32_t ranks = 0;
    std::vector<std::int32_t> hosts{};  ///< how many ranks are on each, in the order of their first ranks
    std::string library{};              ///< the MPI library and its version

    bool operator==(const key&) const = default;
};

/// How many ranks are on each host, of the host of each rank.
std::vector<std::int32_t> ranks_per_host(std::span<const std::int32_t> host_of_rank);

/// Communicators of the same members, in the same order.
struct group {
    std::uint64_t members = 0;  ///< a hash of their ranks in the world
    std::int32_t size = 0;

    auto operator<=>(const group&) const = default;
};
group group_of(std::span<const std::int32_t> world_ranks);

/// Models as text; empty: not known.
struct networks {
    std::string within{};   ///< a host
    std::string between{};  ///< hosts

    bool empty() const { return within.empty() && between.empty(); }
    bool operator==(const networks&) const = default;
};

struct profile {
    /// What an experience is of.
    struct place {
        group where{};
        simulator::operation what{};

        auto operator<=>(const place&) const = default;
    };
    struct memory {
        experience what{};
        std::int64_t met = 0;  ///< by the last run that met the operation, in seconds since 1970

        bool operator==(const memory&) const = default;
    };

    key of{};
    networks models{};
    std::int64_t written = 0;  ///< in seconds since 1970
    std::int64_t runs = 0;     ///< that wrote it, one after the other
    std::map<place, memory> known{};

    /// In place of what was known of the operation.
    void put(const group& where, experience what, std::int64_t met);
    std::vector<experience> experiences_of(const group& where) const;
    bool operator==(const profile&) const = default;
};

/// More than that is not kept: what was met last stays.
constexpr std::size_t most_experiences = 4096;
constexpr std::size_t most_bytes = std::size_t{16} << 20;

/// Leaves out what was met longest ago, until no more are left than that.
void trim(profile& p, std::size_t most = most_experiences);

/// A file's text, of at most `most_experiences` and about `most_bytes`.
std::string to_text(const profile& p);
/// Throws, in one line that names the file, if the text is not as it was written. Plans that this version does not know
/// are left out.
profile parse(std::string_view text, const std::string& file);
/// The text of a file; throws if there is none, or if it is longer than a profile can be.
std::string text_of(const std::string& file);
/// Throws if a profile is of other runs than these.
void check_key(const profile& p, const key& wanted, const std::string& file);
/// Takes the file's place in one step. Throws if it cannot be; then the file is as it was.
void write(const profile& p, const std::string& file);

// Where profiles lie that nobody has given a place.

/// $XDG_CACHE_HOME/rubato/profiles, or ~/.cache/rubato/profiles. Nothing where there is no home.
std::optional<std::filesystem::path> default_folder();
/// "solver-16-0123456789abcdef", from the program, its ranks and a hash of all of the key.
std::string name_of(const key& k);
/// The file of a name.
std::filesystem::path file_of(const std::filesystem::path& folder, const std::string& name);

/// The names of the profiles in a folder, sorted; none if there is no such folder.
std::vector<std::string> names_in(const std::filesystem::path& folder);

}  // namespace rubato::dropin
