// The program's communicators. What is kept of each is an attribute of it; a thread's last one is found without asking
// MPI.
#pragma once

#include "dropin/observe/recorder.hpp"
#include "dropin/preload/autopilots.hpp"
#include "dropin/preload/journal.hpp"
#include "dropin/preload/remembered_runs.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace rubato::dropin {

/// Counts and displacements as Rubato takes them; the memory is used again by the communicator's next call.
struct wide_chunks {
    std::vector<std::int64_t> counts{};
    std::vector<std::int64_t> places{};

    /// Datatypes are the program's.
    template <class Count, class Place>
    mpi::chunks of(const Count* some_counts, const Place* some_places, const MPI_Datatype* types, int n) {
        counts.assign(some_counts, some_counts + n);
        places.clear();
        if (some_places != nullptr) places.assign(some_places, some_places + n);
        const std::size_t typed = types == nullptr ? 0 : static_cast<std::size_t>(n);
        return {counts, places, {types, typed}};
    }
};

/// Of a v-form.
struct side_chunks {
    wide_chunks sends{}, recvs{};
};

struct communicator_state {
    static constexpr std::size_t most_seen = 16;

    communicator_state() { seen.reserve(most_seen); }
    ~communicator_state() {
        if (channel != nullptr) channel->close();
    }
    communicator_state(const communicator_state&) = delete;
    communicator_state& operator=(const communicator_state&) = delete;

    /// A call that an autopilot could have made has ended. Needs no memory.
    void remember(const seen_call& c) {
        if (c.exit) in_calls += *c.exit - c.arrival;
        const auto of_kind = [&](const seen_call& other) { return other.what.kind() == c.what.kind(); };
        const auto found = std::ranges::find_if(seen, of_kind);
        if (found != seen.end())
            *found = c;
        else if (seen.size() < most_seen)
            seen.push_back(c);
    }

    int rank = 0;
    int size = 1;
    int peers = 1;  ///< ranks of the other group, or of the only one
    engine::degrees neighbours{};
    /// Always native: it has one rank, or is an inter-communicator, or has ranks of another world. These may be without
    /// Rubato or have other settings, so they are told nothing. Equal on all its ranks.
    bool left_alone = false;
    bool inter = false;                            ///< an inter-communicator
    bool whole_world = false;                      ///< all ranks of the world are its ranks
    std::uint64_t meetings = 0;                    ///< if it is not the whole world: how often all ranks have met
    int heard_by = -1;                             ///< the root of the last call, if it got something from all
    bool apart = false;                            ///< not all its ranks are on one host; equal on all its ranks
    dropin::recorder::channel* channel = nullptr;  ///< null: nothing is recorded
    process_pilot* pilot = nullptr;                ///< made when first needed
    /// For persistent requests; as many on all its ranks. Freeing a request is local, and ending an autopilot is not:
    /// so it waits for the next request.
    std::vector<process_pilot*> spare_pilots{};
    /// Calls that an autopilot could have made, before there is one. Equal on all its ranks.
    struct waiting {
        std::uint64_t calls = 0;
        std::uint64_t wait = 0;  ///< so many until ranks agree whether to make one
    };
    time_ns in_calls{};               ///< what this rank has spent in these calls
    waiting sized{}, unsized{};       ///< calls whose sizes all ranks know, and others
    std::int64_t largest_buffer = 0;  ///< on this rank, of calls whose sizes not all know
    std::vector<seen_call> seen{};    ///< of these calls the last of each operation, if there are few
    std::uint32_t persistent = 0;     ///< requests that were made; equal on all its ranks
    side_chunks memory{};             ///< of the current call
};

/// The communicator of a thread's last call.
struct last_communicator {
    MPI_Comm comm{};
    communicator_state* state = nullptr;
    std::uint64_t freed = ~std::uint64_t{0};
};

class communicator_table {
public:
    /// Must live as long as MPI: the attributes refer to it.
    communicator_table(journal& notes, autopilots& pilots, remembered_runs& runs);
    communicator_table(const communicator_table&) = delete;
    communicator_table& operator=(const communicator_table&) = delete;

    /// Made if it is new. Null for what is no communicator, and in mode observe also if something goes wrong. In other
    /// modes that ends the program: ranks decide alike only if all of them have it.
    communicator_state* find(MPI_Comm comm) noexcept {
        if (last.comm == comm && last.freed == freed.load(std::memory_order_acquire)) return last.state;
        return find_or_make(comm);
    }
    /// How often its ranks have waited for each other, in blocking calls.
    std::uint64_t meetings_of(const communicator_state& s) const noexcept {
        return s.meetings + world_meetings_.load(std::memory_order_relaxed);
    }
    /// Two threads at once may count one: that is as good.
    void note_meeting(communicator_state& s) noexcept {
        if (s.whole_world)
            world_meetings_.store(world_meetings_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        else
            ++s.meetings;
    }
    /// How many communicators this process has freed.
    static std::uint64_t frees() { return freed.load(std::memory_order_acquire); }
    /// For a new communicator; collective.
    void prepare(MPI_Comm comm) noexcept {
        pilots_.end_retired();
        communicator_state* const state = find(comm);
        if (state != nullptr && !state->left_alone && pilots_.makes_pilots_early())
            (void)make_pilot(comm, *state, {}, {});
    }
    /// Makes its autopilot, for this call, to which this rank came at `came`; false if it gets none, for now or for
    /// good. Collective.
    bool make_pilot(MPI_Comm comm, communicator_state& state, const engine::call_facts& c, time_ns came) noexcept;
    /// An autopilot for one persistent request, until the result is destroyed; null if there are too many. Collective.
    std::shared_ptr<autopilot> borrow_pilot(MPI_Comm comm, communicator_state& state) noexcept;

private:
    /// MPI calls this when the communicator is freed.
    static int state_deleted(MPI_Comm comm, int keyval, void* value, void* table) noexcept;
    communicator_state* find_or_make(MPI_Comm comm) noexcept;
    std::unique_ptr<communicator_state> inspect(MPI_Comm comm);
    bool agree_on_pilot(MPI_Comm comm, const communicator_state& state, communicator_state::waiting& calls,
                        std::int64_t bytes, time_ns gain);
    struct pilot_settings {
        autopilot::settings how{};
        std::optional<dropin::group> group{};  ///< by which the pilot is remembered
    };
    pilot_settings settings_for(MPI_Comm comm, const communicator_state& state) const;
    process_pilot& new_pilot(MPI_Comm comm, const communicator_state& state, const pilot_settings& by);

    inline static constinit std::atomic<std::uint64_t> freed{0};  // so many: their handles may come again
    inline static constinit thread_local last_communicator last{};

    journal& notes_;
    autopilots& pilots_;
    remembered_runs& runs_;
    std::atomic<std::uint64_t> world_meetings_{0};
    int keyval_ = MPI_KEYVAL_INVALID;
};

}  // namespace rubato::dropin
