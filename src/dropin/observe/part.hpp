// What a recorder has written, read again.
//
// Mapped memory, so the kernel keeps what was stored, whatever ends the program. A record is complete before the head
// counts it, and the last store of an event marks it as complete; a reader trusts no number in it. Space is allocated
// before it is mapped, so a full disk raises no signal. Sums are exact, times are samples: at most 1024 invocations of
// an operation are kept; then half are dropped, and only every second is kept, and so on. The mixed number of the
// invocation decides, so all ranks keep the same ones without communication. Parts have a number of their run, as a
// folder may hold those of a killed one.
#pragma once

#include "dropin/observe/recorder.hpp"

#include <map>
#include <optional>

namespace rubato::dropin {

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

/// One of all calls.
struct part_call {
    std::uint64_t invocation = 0;  ///< or no_invocation
    std::size_t channel = 0;
    std::size_t row = 0;
    std::int64_t bytes = 0;
    time_ns arrival{};
    time_ns exit{};
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
    std::map<std::uint32_t, std::uint64_t> starts{};  ///< of persistent requests, where a watchdog looks at them
};

/// A thread of a watched process.
struct part_thread {
    std::size_t number = 0;  ///< in the process
    std::uint64_t turn = 0;  ///< changes with each entry and exit
    bool inside = false;
    time_ns since{};  ///< on the process's own clock
    waiting in = waiting::call;
    collective what = collective::barrier;
    form how = form::blocking;
    std::int32_t root = 0;
    std::size_t channel = 0;  ///< past the end: none
    std::uint64_t invocation = 0;
    std::optional<site> from{};
    std::optional<std::int64_t> bytes{};  ///< that all ranks must give
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
    bool every_call = false;         ///< is to be kept
    std::uint64_t missing = 0;       ///< calls that are not, for lack of room
    std::vector<part_call> calls{};  ///< in the order in which they ended
    std::vector<part_thread>
        threads{};  ///< that have called something, as far as they stood still while they were read

    /// On the common clock, as far as it is known.
    time_ns to_common(time_ns own) const;
};

/// Reads what is valid: a process may have been ended at any time, and disks fail. Nothing if this is not a part.
std::optional<part> decode(std::span<const std::byte> bytes);

/// FILE.parts, given either name.
std::filesystem::path parts_named(const std::filesystem::path& file);
/// The files in FILE.parts or FILE.calls. Throws if one of them, or the folder, belongs neither to this user nor to the
/// owner of FILE: anybody may have put it there, and it would be read instead of FILE.
std::vector<std::filesystem::path> recordings_in(const std::filesystem::path& folder);

/// A file's bytes, which `decode` reads, with or without the calls of which every one is kept. Empty if there is no
/// such file.
std::vector<std::byte> read_part(const std::filesystem::path& file, bool with_calls);
/// The same for what is in memory.
std::vector<std::byte> without_calls(std::span<const std::byte> bytes);

/// Its process, communicators and clock, without what was called. Nothing if there is no such file, or it is not a
/// part.
std::optional<part> glance_at(const std::filesystem::path& file);

// Of a process that runs, and that has a watchdog. What an earlier run has left there is none of `run`.

/// The same, with its threads.
std::optional<part> look_at(const std::filesystem::path& file, std::uint64_t run);
/// Of a thread within a call. While it is there, its turn stays; if it tests for the end of a call, `polls` grows.
struct turn_within {
    std::uint64_t turn = 0;  ///< 0: it is not within a call
    std::optional<std::uint32_t> polls{};

    bool operator==(const turn_within&) const = default;
};
struct glimpse {
    std::uint64_t beats = 0;           ///< how often its watchdog has counted up
    std::vector<turn_within> turns{};  ///< of all threads
};
glimpse glimpse_of(const std::filesystem::path& file, std::uint64_t run);
/// Rank 0's: whether the program is to end.
bool tells_to_end(const std::filesystem::path& file, std::uint64_t run);

}  // namespace rubato::dropin
