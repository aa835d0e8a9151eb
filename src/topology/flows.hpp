// Transfers that share a network's cables fairly, as time goes on.
#pragma once

#include "topology/fair_shares.hpp"
#include "topology/routing.hpp"

namespace rubato::topology {

class RUBATO_API flows {
public:
    /// A transfer that is alone needs so long for a byte.
    flows(const routes& r, double ns_per_byte) : routes_(&r), ns_per_byte_(ns_per_byte), shares_(r.net().channels()) {}

    /// Begins now. Some channels must lie between the endpoints, and there must be bytes. `id` is for the caller.
    void start(vertex from, vertex to, double bytes, std::uint64_t id);

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
    };
    std::span<const transfer> under_way();

private:
    void share();

    const routes* routes_;
    double ns_per_byte_;
    fair_shares shares_;
    std::vector<transfer> all_{};
    std::int64_t now_ = INT64_MIN;
    bool changed_ = false;
};

}  // namespace rubato::topology
