// What one process sees of its program's collectives, written into a file as it happens: FILE.parts/RANK. The file is
// mapped, so the records outlive the process, however it ends. part.hpp reads it.
#pragma once

#include "base/files/own_folder.hpp"
#include "dropin/observe/whereabouts.hpp"
#include "rubato/problem.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace rubato::dropin {

struct process {
    std::int32_t rank = 0;  ///< in the world, of `ranks`
    std::int32_t ranks = 1;
    std::string program{};
    std::string host{};
    std::string library{};  ///< MPI's name and version

    bool operator==(const process&) const = default;
};

/// One call. Times are on the process's own clock; of forms that do not block, `exit` is when the call returned.
struct seen {
    collective what = collective::barrier;
    form how = form::blocking;
    std::int32_t root = 0;  ///< rank in the communicator; 0 where there is none
    /// Of the vector, or of one rank's chunk where a buffer has one per rank; for v-forms, of all this rank's chunks.
    std::int64_t bytes = 0;
    const void* site = nullptr;  ///< return address, or null
    time_ns arrival{};
    time_ns exit{};
};

// Parts of the mapped file (part_layout.hpp).
enum class record_kind : std::uint32_t;
struct sums;
struct event;
struct channel_part;
struct watched_part;
struct kept_part;
struct call;
class mapped_file;

struct recording {
    bool watched = false;   ///< by a watchdog: there are whereabouts
    std::uint64_t run = 0;  ///< the same on all ranks, and another one in each run: parts of earlier ones may be there
    /// Every call is kept, in at most so many bytes; without, the times of some.
    std::optional<std::size_t> every_call{};
};

/// Where the recording of a rank lies while the program runs.
std::filesystem::path part_of(const std::filesystem::path& file, std::int32_t rank);
/// The folder of recordings of every call, with a file per rank.
std::filesystem::path calls_folder(const std::filesystem::path& file);
/// Removes the files in it, which are of an earlier run, if it is this user's.
void remove_calls(const std::filesystem::path& file);
/// Of a call that is kept, but was not counted in its communicator.
inline constexpr std::uint64_t no_invocation = ~std::uint64_t{0};

/// Keeps exact sums, and the times of some invocations. open, common_time and note may be called by several threads.
/// Where the disk is full, one line on standard error says so, and only what has room is kept.
class recorder {
public:
    /// Throws if the file cannot be written.
    recorder(const std::filesystem::path& file, const process& who, const recording& how = {});
    ~recorder();

    class channel;
    /// A communicator, by the world ranks of its members in their order. Opening the same members again makes another
    /// channel or, after a close, continues the closed one; all members open and close these in the same order. Valid
    /// as long as the recorder.
    channel& open(std::span<const std::int32_t> members);
    /// When the own clock showed `own`, the common one showed `common`. To be given at the beginning and at the end.
    void common_time(time_ns own, time_ns common);
    /// A JSON object: a decision (notes.hpp); {"model": "..."}, by which to simulate;
    /// {"mode": "..."}; when the run began, or what came from a profile (notes.hpp).
    void note(std::string_view json_line);
    /// Whereabouts of one more thread, until the recorder ends; null if there are too many, or nobody watches. Any
    /// thread.
    whereabouts* add_thread() noexcept;
    /// One more persistent request of a channel; null if there are too many, or nobody watches. Any thread.
    watched_request* add_request(std::uint32_t of_channel, std::uint32_t number) noexcept;
    void remove_request(watched_request& r) noexcept;
    /// Explains the whereabouts of all threads: the places of their calls, and how large the elements of a datatype
    /// are, of which the caller knows some (0: unknown). One thread.
    void explain_threads(const std::function<std::int64_t(std::uint64_t type)>& bytes_of);
    /// The process runs.
    void beat() noexcept;
    /// Rank 0: tells the watchdogs of other ranks that the program is to end.
    void tell_to_end() noexcept;
    /// Other hosts that share the folder see everything so far.
    void sync() noexcept;
    /// The file for rank 0, without the calls of which every one is kept. No thread may record meanwhile.
    std::vector<std::byte> bytes() const;
    /// Removes the file, as the combined file holds everything; or, where every call is kept, moves it to FILE.calls.
    /// Throws if it cannot be moved there; then it stays.
    void finish();
    /// One more call of a row, if every call is kept, whose number among the calls of the communicator may be unknown.
    /// Any thread.
    void keep_call(const sums& row, std::uint64_t invocation, std::int64_t bytes, time_ns arrival,
                   time_ns exit) noexcept;

private:
    /// Zeroed room for a record of this kind, which readers do not see before `publish`; null if there is none. Locked.
    std::byte* allocate(record_kind kind, std::size_t bytes);
    /// The same, for one that begins with a Part.
    template <class Part>
    Part* start(record_kind kind, std::size_t more = 0) {
        return reinterpret_cast<Part*>(allocate(kind, sizeof(Part) + more));
    }
    void publish();
    std::uint32_t site_number(const void* address);

    std::filesystem::path path_;
    base::own_folder folder_;
    std::mutex mutex_{};
    watched_part* watched_ = nullptr;
    kept_part* kept_ = nullptr;  ///< null: not every call is kept
    std::size_t room_for_calls_ = 0;
    std::mutex keeping_{};
    call* next_call_ = nullptr;
    call* end_of_calls_ = nullptr;
    std::unique_ptr<mapped_file> file_;
    struct channels_of_members {
        std::uint32_t opened = 0;
        std::vector<channel*> closed{};
    };
    std::map<std::vector<std::int32_t>, channels_of_members> by_members_{};  ///< as the file has them
    std::unordered_map<const void*, std::uint32_t> sites_{};
    std::vector<std::unique_ptr<channel>> channels_{};
    std::atomic<std::int64_t> last_exit_{never};  ///< of the process's calls
    static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::min();
};

/// One more call of a row; any thread.
void add(sums& row, std::int64_t bytes, time_ns time) noexcept;
/// A call that did not block has ended: `apart`, from its return to the call that ended it; `waited`, in that call. Any
/// thread.
void add_end(sums& row, time_ns apart, time_ns waited) noexcept;

/// One thread at a time; different channels are independent.
class recorder::channel {
public:
    /// Returns its row, as row_of does.
    sums* record(const seen& s) noexcept;
    /// The row of such calls, for calls that are only added up; valid as long as the recorder; null if there is no
    /// room.
    sums* row_of(const seen& s) noexcept;
    /// The communicator is freed.
    void close() noexcept;

    std::uint32_t number() const { return number_; }
    /// The number of its next call.
    std::uint64_t calls() const { return calls_; }

private:
    friend class recorder;

    /// Calls whose sums are kept together.
    struct key {
        const void* site;
        std::int32_t root;
        collective what;
        form how;
        std::uint8_t size_class;

        bool operator==(const key&) const = default;
    };
    struct hash {
        std::size_t operator()(const key& k) const noexcept;
    };
    struct entry {
        key of;
        sums* where;
        std::uint32_t operation;
    };
    static constexpr std::size_t block_count = 7;
    /// Calls that are equal on all ranks, apart from the site and the size of a v-form. Of each operation some times
    /// are kept, so that frequent operations leave room for rare ones.
    struct operation {
        std::array<event*, block_count> blocks{};
        std::size_t slots = 0;
        std::size_t next = 0;
        std::uint64_t skipped = 0;
    };

    channel(recorder& home, channels_of_members& alike, std::uint32_t number);
    /// Its place among the rows; past the end if there is no room.
    std::size_t find_or_add(const key& k);
    std::uint32_t operation_of(key k);
    void keep(std::uint64_t invocation, std::size_t row, const seen& s, std::int64_t outside);
    event* slot(std::uint32_t which, std::size_t i);

    recorder& home_;
    channels_of_members& alike_;
    std::uint32_t number_;
    channel_part* mine_ = nullptr;  ///< null: there was no room
    std::uint64_t calls_ = 0;
    std::vector<entry> rows_{};
    std::array<std::uint32_t, 64> recent_{};  ///< rows by hash, counted from 1
    std::unordered_map<key, std::uint32_t, hash> index_{};
    std::vector<operation> operations_{};
    std::unordered_map<key, std::uint32_t, hash> operation_index_{};
    std::size_t events_to_share_;
    std::size_t sums_room_ = 0;  ///< of the last block of sums
    sums* sums_block_ = nullptr;
};

}  // namespace rubato::dropin
