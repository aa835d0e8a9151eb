// The state of each of the program's communicators, in an attribute of it.
#pragma once

#include "observe/recorder.hpp"
#include "preload/autopilot.hpp"
#include "profile/profile.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace rubato::preload {

/// Counts and displacements as Rubato takes them; the memory is used again by the communicator's next call.
struct wide_chunks {
    std::vector<std::int64_t> counts{};
    std::vector<std::int64_t> places{};

    template <class Count, class Place>
    mpi::chunks of(const Count* some_counts, const Place* some_places, int n) {
        counts.assign(some_counts, some_counts + n);
        places.clear();
        if (some_places != nullptr) places.assign(some_places, some_places + n);
        return {counts, places};
    }
};

/// Of a v-form.
struct side_chunks {
    wide_chunks sends{}, recvs{};
};

struct communicator_state {
    communicator_state() = default;
    ~communicator_state() {
        if (channel != nullptr) channel->close();
    }
    communicator_state(const communicator_state&) = delete;
    communicator_state& operator=(const communicator_state&) = delete;

    int rank = 0;
    int size = 1;
    int peers = 1;                                  ///< ranks of the other group, or of the only one
    bool inter = false;                             ///< an inter-communicator: recorded, and always native
    observe::recorder::channel* channel = nullptr;  ///< null: nothing is recorded
    std::unique_ptr<autopilot> pilot{};             ///< made when first needed
    std::uint64_t wait = 0;                         ///< calls until a pilot may be made; equal on all its ranks
    std::uint64_t calls = 0;                        ///< that an autopilot could have made, before there is one
    std::uint64_t number = 0;                       ///< orders communicators with a pilot; equal on all its ranks
    std::optional<profiles::group> group{};         ///< by which its pilot is remembered
    side_chunks memory{};                           ///< of the current call
};

}  // namespace rubato::preload
