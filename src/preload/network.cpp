#include "preload/network.hpp"

#include "mpi/broadcast.hpp"
#include "network/mpi/link_sweep.hpp"

#include <algorithm>
#include <array>
#include <mutex>

namespace rubato::preload {
namespace {

/// About how long a measurement takes, once per process.
constexpr time_ns time_to_measure = std::chrono::milliseconds(20);

/// What this process has measured, within a host and between hosts.
struct measured_networks {
    std::mutex mutex{};
    std::array<std::string, 2> texts{};
};
measured_networks& all_measured() {
    static auto& all = *new measured_networks;
    return all;
}

}  // namespace

model network_of(MPI_Comm comm, std::span<const std::int32_t> hosts) {
    const auto elsewhere = std::ranges::find_if(hosts, [&](std::int32_t h) { return h != hosts.front(); });
    const bool between = elsewhere != hosts.end();
    measured_networks& measured = all_measured();
    std::string known;
    {
        const std::lock_guard lock(measured.mutex);
        known = measured.texts[between ? 1 : 0];
    }
    known = mpi::broadcast(comm, std::move(known));  // rank 0's, if it has one
    const int other = between ? static_cast<int>(elsewhere - hosts.begin()) : 1;
    model network = known.empty() ? mpi::measure_model(comm, other, time_to_measure) : parse_model(known);
    const std::lock_guard lock(measured.mutex);
    measured.texts[between ? 1 : 0] = to_string(network);
    return network;
}

}  // namespace rubato::preload
