// Transfers that share a network's cables, as time goes on: fairly, or those of one endpoint in turn.
//
// In turn means as an interface sends that has a queue: a transfer gets what the ones before it leave free. So of those
// that are the first of their endpoints, each has its fair share; then the second ones share what is left, and so on.
#pragma once

#include "topology/fair_shares.hpp"
#include "topology/routing.hpp"

namespace rubato::topology {

class RUBATO_API flows {
public:
    /// A transfer that is alone needs so long for a byte.
    flows(const routes& r, double ns_per_byte) : routes_(&r), ns_per_byte_(ns_per_byte), shares_(r.net().channels()) {}

    /// Begins now. Some channels must lie between the endpoints, and there must be bytes. `id` is for the caller.
    void start(vertex from, vertex to, double bytes, std::uint64_t id, bool in_turn = false);

    static constexpr std::int64_t never = INT64_MAX;
    /// When the next transfer ends, if none begins before.
    std::int64_t next_end();
    /// Time goes on until then, and not beyond the next end. The transfers that have ended are told.
    void run_until(std::int64_t time, std::vector<std::uint64_t>& ended);

    /// The rates of all transfers now under way, and their channels.
    struct transfer {
        std::vector<channel> path{};
        double left = 0;  ///< bytes
        double rate = 0;  ///< share of a channel
        std::uint64_t id = 0;
        bool in_turn = false;
    };
    std::span<const transfer> under_way();

private:
    void share();

    const routes* routes_;
    double ns_per_byte_;
    fair_shares shares_;
    std::vector<transfer> all_{};  // in the order in which they began
    std::vector<std::uint32_t>
        ahead_{};  // of a channel where transfers begin: those in turn, while shares are computed
    std::int64_t now_ = INT64_MIN;
    bool changed_ = false;
};

}  // namespace rubato::topology
