#include "rubato/simulate.hpp"

#include "simulate/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rubato {

std::int64_t whole_ns(double duration) {
    if (!(duration < 1e13))  // so that sums do not overflow; also true of a NaN
        throw error(fmt::format("a step that takes {:.3g} ns", duration), "simulated steps take less than three hours",
                    "check the model and the size");
    return std::llround(duration);
}

namespace {

void mark_inside(program& p, std::span<const std::int32_t> hosts) {
    for (std::uint32_t s = 0; s < p.size(); ++s) {
        linked_step& me = p.steps[s];
        me.inside = me.partner != program::none && hosts[me.rank] == hosts[p.steps[me.partner].rank];
    }
}

template <class Network>
const Network& same_kind(const Network& network, const model* inside) {
    if (inside == nullptr) return network;
    if (const auto* same = std::get_if<Network>(&inside->network)) return *same;
    throw error("hosts whose model is of another kind than the network's", "messages cost the same kind of things",
                "give two of the same kind, such as hockney:...");
}

}  // namespace

simulation simulate(const model& m, std::span<const schedule> all, std::span<const layout> layouts,
                    std::span<const time_ns> arrivals, const simulation_options& options) {
    if (arrivals.size() != all.size())
        throw error(fmt::format("{} arrival times for {} ranks", arrivals.size(), all.size()),
                    "each rank has one arrival time", "give as many times as ranks");
    if (!options.hosts.empty() && options.hosts.size() != all.size())
        throw error(fmt::format("hosts of {} ranks, and there are {}", options.hosts.size(), all.size()),
                    "each rank is on one host", "give a host for each rank");
    simulation result;
    if (all.empty()) return result;
    program p = link(all, layouts);
    const std::int64_t first_arrival = std::ranges::min(arrivals).count();  // no rank knows of the operation before
    for (std::uint32_t s = 0; s < p.size(); ++s) {
        linked_step& me = p.steps[s];
        const bool waits = !options.early || p.original(s).needs_arrival();
        me.ready = waits ? arrivals[me.rank].count() : first_arrival;
    }
    if (options.record_steps) p.begins.resize(p.size());
    if (!options.hosts.empty()) mark_inside(p, options.hosts);
    std::visit([&](const auto& network) { run(network, same_kind(network, options.inside), p); }, m.network);
    p.check_done();

    result.exits.assign(arrivals.begin(), arrivals.end());
    if (options.record_steps) result.steps.resize(all.size());
    for (std::uint32_t s = 0; s < p.size(); ++s) {
        const std::uint32_t r = p.steps[s].rank;
        const time_ns end(p.steps[s].ready);
        result.exits[r] = std::max(result.exits[r], end);
        if (options.record_steps) result.steps[r].push_back({time_ns(p.begins[s]), end});
    }
    return result;
}

}  // namespace rubato
