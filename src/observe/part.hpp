// What a recorder has written, read again.
#pragma once

#include "observe/recorder.hpp"

#include <optional>

namespace rubato::observe {

/// A place in a program: the return address of a call, as the module's file counts. No module: the address itself.
struct site {
    std::string module{};
    std::uint64_t offset = 0;
    std::string symbol{};  ///< of the function, if the module exports it

    auto operator<=>(const site&) const = default;
};

/// Calls whose sums were kept together.
struct part_row {
    site from{};
    collective what = collective::barrier;
    form how = form::blocking;
    std::int32_t root = 0;
    std::uint8_t size_class = 0;
    std::uint64_t calls = 0;  ///< 0: nothing is known
    std::int64_t bytes = 0;
    time_ns time{};
    // Of calls that do not block, and whose end was seen:
    std::uint64_t ended = 0;
    time_ns apart{};   ///< from their return to the call that ended them
    time_ns waited{};  ///< in that call, which may have ended others, too: then a part of it
};

inline constexpr time_ns unknown_time{-1};

struct part_event {
    std::uint64_t invocation = 0;  ///< its number among the calls of the communicator
    std::size_t row = 0;
    time_ns arrival{};
    time_ns exit{};
    time_ns outside = unknown_time;  ///< from the end of the process's call before, on any communicator, to the arrival
};

struct part_channel {
    std::vector<std::int32_t> members{};
    std::uint32_t ordinal = 0;
    std::uint64_t calls = 0;
    std::uint64_t lost = 0;
    std::vector<part_row> rows{};
    /// In the order of invocations, on the process's own clock. For operations that were called often, only some
    /// invocations, chosen by their numbers.
    std::vector<part_event> events{};
};

struct clock_point {
    time_ns own{};
    time_ns common{};
};

struct part {
    process who{};
    std::vector<clock_point> clock{};
    std::vector<std::string> notes{};
    std::vector<part_channel> channels{};

    /// On the common clock, as far as it is known.
    time_ns to_common(time_ns own) const;
};

/// Reads what is valid: a process may have been ended at any time, and disks fail. Nothing if this is not a part.
std::optional<part> decode(std::span<const std::byte> bytes);

}  // namespace rubato::observe
