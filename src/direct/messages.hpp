// What ranks tell each other on a board. Fixed width and without padding: the bytes are what is sent.
#pragma once

#include "direct/director.hpp"
#include "direct/rules.hpp"

#include <array>
#include <cstring>
#include <type_traits>

namespace rubato::direct {

/// Of a sampled call and of this rank's process.
struct told_sample {
    time_ns arrival{};
    time_ns exit{};
    time_ns next{};        ///< arrival at the call after it
    time_ns exchanging{};  ///< how long the last exchange kept the rank busy
    time_ns spent_elsewhere{};
    std::int64_t free_duels_elsewhere = 0;
    time_ns has_run{};
    std::int64_t largest_buffer = 0;  ///< where not all ranks know the sizes
};

/// What a choice found: plans, the best first.
struct told_choice {
    struct plan {
        std::int64_t algorithm = 0;  ///< number in algorithms()
        std::int64_t segment = 0;    ///< bytes
        time_ns round_time{};
        time_ns tail{};
    };
    time_ns took{};
    time_ns measured{};        ///< how long the network was measured for it
    time_ns incumbent_tail{};  ///< 0 if it cannot be simulated
    time_ns plain_tail{};      ///< of the best plan that does not begin early; 0 if there is none
    time_ns blind_tail{};      ///< likewise, of those that know nothing of arrivals
    std::int64_t count = 0;
    std::array<plan, free_duels> plans{};
};

template <class Message>
std::span<const std::byte> bytes_of(const Message& m) {
    static_assert(std::has_unique_object_representations_v<Message>);
    return std::as_bytes(std::span(&m, 1));
}

/// One from every rank, or the one that a rank told all.
template <class Message>
std::vector<Message> messages_in(std::span<const std::byte> bytes) {
    static_assert(std::is_trivially_copyable_v<Message>);
    std::vector<Message> all(bytes.size() / sizeof(Message));
    std::memcpy(all.data(), bytes.data(), all.size() * sizeof(Message));
    return all;
}

}  // namespace rubato::direct
