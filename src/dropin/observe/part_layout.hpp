// How a part file lies in memory and on disk, in the machine's own byte order: a head, then records, each with a kind
// and a size. Records are complete once the head's `used` covers them. Counts and times change afterwards; their last
// store marks them as complete: `calls` of sums, `tag` of events.
#pragma once

#include "dropin/observe/recorder.hpp"
#include "dropin/observe/whereabouts.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace rubato::dropin {

inline constexpr std::array<char, 16> magic{'r', 'u', 'b', 'a', 't', 'o', ' ', 'p', 'a', 'r', 't', ' ', '2', '\n'};

struct file_head {
    std::array<char, 16> magic;
    std::uint64_t used;  ///< bytes, this included
};

/// Times came in events without `outside` once.
enum class record_kind : std::uint32_t {
    process = 1,
    clock,
    note,
    site,
    channel,
    sums,
    old_events,
    whereabouts,
    kept,
    calls,
    events = 16
};

struct record_head {
    std::uint32_t kind;
    std::uint32_t bytes;  ///< of the record, this included; a multiple of 8
};

// Texts follow the record in the order in which their lengths are listed.
struct process_part {
    std::int32_t rank;
    std::int32_t ranks;
    std::array<std::uint32_t, 3> lengths;  ///< program, host, library
    std::uint32_t unused;
};

struct clock_part {
    std::int64_t own;
    std::int64_t common;
};

struct note_part {
    std::array<std::uint32_t, 1> lengths;
};

struct site_part {
    std::uint64_t offset;  ///< as in the module's file
    std::uint32_t number;
    std::array<std::uint32_t, 2> lengths;  ///< module, symbol
};

/// Members as arithmetic sequences: most communicators are one.
struct member_run {
    std::int32_t first;
    std::int32_t step;
    std::int32_t count;
};

struct channel_part {
    std::uint64_t calls;
    std::uint64_t lost;     ///< calls for whose sums there was no room
    std::uint32_t number;   ///< of the channel, in this file
    std::uint32_t ordinal;  ///< among those with the same members
    std::uint32_t runs;     ///< that follow
    std::uint32_t unused;
};

/// Tables come in blocks of growing size: of a channel's sums, and of each of its operations' events.
struct block_part {
    std::uint32_t channel;
    std::uint32_t operation;
    std::uint32_t first;
    std::uint32_t count;
    std::uint64_t skipped;  ///< see `kept`; in an operation's first block
};

struct sums {
    std::int64_t bytes;
    std::int64_t time;
    std::int64_t apart;  ///< see part_row
    std::int64_t waited;
    std::uint64_t ended;
    std::uint64_t calls;  ///< 0: not in use
    std::uint32_t site;
    std::int32_t root;
    std::uint32_t channel;
    std::uint32_t number;  ///< among the channel's
    std::uint8_t what;
    std::uint8_t how;
    std::uint8_t size_class;
    std::array<std::uint8_t, 5> unused;
};

struct old_event {
    std::uint64_t tag;  ///< 0: not in use
    std::int64_t arrival;
    std::int64_t exit;
};

struct event {
    std::uint64_t tag;  ///< 0: not in use
    std::int64_t arrival;
    std::int64_t exit;
    std::int64_t outside;  ///< see part_event
};

/// Where every call is kept: how many are, and how many are not, for lack of room.
struct kept_part {
    std::uint64_t calls;
    std::uint64_t missing;
};

/// One of them. Records of kind `calls` hold nothing else.
struct call {
    std::int64_t arrival;
    std::int64_t exit;
    std::int64_t bytes;
    std::uint64_t invocation;
    std::uint32_t channel;
    std::uint32_t row;  ///< counted from 1; 0: not in use
};
inline constexpr std::size_t calls_in_block = 16384;

/// Of an operation. It always gets its first block, the others as long as the channel has room.
inline constexpr std::size_t most_events = 1024;
inline constexpr std::size_t first_block = 16;
inline constexpr std::size_t events_to_share = 8192;
inline constexpr std::size_t most_operations = 1024;
inline constexpr std::uint64_t row_bits = 20;
inline constexpr std::size_t most_rows = std::size_t{1} << row_bits;

/// The first record of a process with a watchdog, followed by the whereabouts of its threads, so that their lines of
/// the cache are whole ones, and by persistent requests.
struct watched_part {
    std::uint32_t threads;  ///< that have called something
    std::uint32_t ends;     ///< rank 0: the program is to end
    std::uint64_t beats;    ///< counted by the process's watchdog while it runs
    std::uint64_t run;      ///< as in `recording`
    std::uint64_t unused;
};
inline constexpr std::size_t most_threads = 64;
inline constexpr std::size_t most_requests = 256;
inline constexpr std::size_t first_thread = sizeof(file_head) + sizeof(record_head) + sizeof(watched_part);
static_assert(first_thread % sizeof(whereabouts::line) == 0);

constexpr std::uint64_t tag_of(std::uint64_t invocation, std::size_t row) { return (invocation + 1) << row_bits | row; }
constexpr std::uint64_t invocation_of(std::uint64_t tag) { return (tag >> row_bits) - 1; }
constexpr std::size_t row_of(std::uint64_t tag) { return tag & (most_rows - 1); }

/// Whether an invocation is kept, with this much skipped. All ranks decide the same. The number is mixed first:
/// otherwise, where two calls alternate, every second number would always be the same call.
constexpr bool kept(std::uint64_t invocation, std::uint64_t skipped) {
    std::uint64_t x = invocation;
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdULL;
    x = (x ^ x >> 33) * 0xc4ceb9fe1a85ec53ULL;
    return ((x ^ x >> 33) & skipped) == 0;
}

constexpr std::uint8_t size_class_of(std::int64_t bytes) {
    return static_cast<std::uint8_t>(std::bit_width(static_cast<std::uint64_t>(std::max<std::int64_t>(0, bytes))));
}

}  // namespace rubato::dropin
