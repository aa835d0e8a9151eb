// How a collective passes lateness on.
//
// Where every order is given, a step ends at the latest end of what it waits for, plus its own time. So each rank
// leaves at the maximum, over all ranks, of an arrival and a delay: the longest way through the schedule from one
// rank's arrival to another's exit. These delays are a matrix over (max, +), computed once. After that a call of a loop
// costs P * P additions, whoever is late and however many calls are played, and ranks may be ahead of each other as far
// as the schedule lets them.
//
// Exact under hockney. Under the other models each interface serves messages in the schedule's order, not in that of
// arrival, and the processor is free: it only adds o. A message within a host takes no interface to the network.
#pragma once

#include "rubato/layout.hpp"
#include "rubato/model.hpp"
#include "rubato/schedule.hpp"

#include <optional>
#include <span>
#include <vector>

namespace rubato::simulator {

class RUBATO_API response {
public:
    /// In ns: small enough that no arrival makes it count.
    static constexpr std::int64_t never = INT64_MIN / 4;

    explicit response(std::size_t ranks) : ranks_(ranks), delays_(9 * ranks * ranks, never) {}

    std::size_t ranks() const { return ranks_; }
    /// The row of a state: of each state before the call, how much later this one is; or `never`, if it does not wait
    /// for it.
    std::span<std::int64_t> delays(std::size_t state) {
        return std::span(delays_).subspan(state * 3 * ranks_, 3 * ranks_);
    }

    /// Three states of each rank, in ns: when each arrives, when each interface is free to send, and to receive. After
    /// it: when each leaves, and the same.
    void pass(std::span<const std::int64_t> before, std::span<std::int64_t> after) const;
    /// When the ranks leave that arrive so, if their interfaces are free.
    void leave(std::span<const std::int64_t> arrivals, std::span<std::int64_t> exits) const;

    bool operator==(const response&) const = default;

private:
    std::size_t ranks_;
    std::vector<std::int64_t> delays_;
};

/// Ranks that share hosts: each host has one interface to the network, which is its first rank's here.
struct shared_hosts {
    std::span<const std::int32_t> hosts{};  ///< of each rank; empty: each rank has its own
    const model* inside = nullptr;          ///< what messages within a host cost; null: as much as others
    /// In which order ranks use their host's interface follows from arrivals like these; empty: all together.
    std::span<const time_ns> arrivals{};
};

/// Of the schedules of all ranks. Nothing if computing it would take too long, or gigabytes, or if they deadlock where
/// messages wait for their receivers.
RUBATO_API std::optional<response> response_of(std::span<const schedule> all, const layout& sizes, const model& m,
                                               const shared_hosts& where = {});

}  // namespace rubato::simulator
