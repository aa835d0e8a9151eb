// GOAL (Hoefler, Siebert & Lumsdaine 2009), in which LogGOPSim takes schedules: text, and the binary form that its
// txt2bin makes of it.
#pragma once

#include "rubato/model.hpp"
#include "schedules/schedule/shapes.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::simulator {

enum class goal_kind : std::uint8_t { send = 1, recv = 2, calc = 3 };  // numbers of the binary form

struct goal_op {
    goal_kind kind = goal_kind::calc;
    std::int32_t peer = 0;
    std::uint32_t tag = 0;
    std::int64_t size = 0;   ///< bytes; of a calc, ns
    std::uint64_t line = 0;  ///< of the text

    bool operator==(const goal_op& o) const {
        return kind == o.kind && peer == o.peer && tag == o.tag && size == o.size;
    }
};

/// `requires`: an operation waits for the end of another one; `irequires`: for its beginning.
struct goal_wait {
    std::uint32_t op = 0;
    std::uint32_t other = 0;
    bool begin = false;

    bool operator==(const goal_wait&) const = default;
};

struct goal_rank {
    std::vector<goal_op> ops{};
    std::vector<goal_wait> waits{};

    bool operator==(const goal_rank&) const = default;
};

struct goal_file {
    std::string name{};
    std::vector<goal_rank> ranks{};
};

/// Reads either form. Throws, naming the line or, of the binary form, rank and operation.
RUBATO_API goal_file read_goal(const std::string& name);
/// The same of what was read already.
RUBATO_API goal_file parse_goal(std::string_view content, const std::string& name);
RUBATO_API std::string goal_text(std::span<const goal_rank> all);
/// What `goal_text` is made of.
std::string goal_head(std::size_t ranks);
std::string goal_text_of(std::int32_t rank, const goal_rank& one);
RUBATO_API std::string goal_binary(std::span<const goal_rank> all);

/// What the ranks do. A receive takes the message that its sender lists in its turn among those of the same two ranks
/// and tag. Throws if there is none, or if operations wait for each other.
RUBATO_API std::vector<schedules::sized_schedule> schedules_of(const goal_file& g);
/// How long the calc of each rank is for which all its other operations wait; 0 where there is none.
RUBATO_API std::vector<time_ns> arrivals_of(const goal_file& g);

/// A rank that begins at that time with a calc, if one is given. Combining takes what the model says, and is `calc`, as
/// is a copy, which takes nothing. An empty message has a byte, for LogGOPSim can send no other. Tags are the numbers
/// of messages.
RUBATO_API goal_rank goal_of(const schedules::sized_schedule& s, std::optional<time_ns> arrival, const model& m);

// The parts of read_goal.
bool is_binary_goal(std::string_view content);
std::vector<goal_rank> parse_goal_text(std::string_view text, const std::string& name);
std::vector<goal_rank> parse_goal_binary(std::string_view content, const std::string& name);
/// Throws if the operation is none of a rank of so many.
void check_goal_op(const goal_op& op, std::int64_t cpu, std::int64_t nic, std::size_t ranks);

inline constexpr std::int64_t most_goal_ranks = 1 << 20;

}  // namespace rubato::simulator
