#include "preload/network.hpp"

#include "mpi/broadcast.hpp"
#include "network/mpi/link_sweep.hpp"

#include <algorithm>
#include <mutex>

namespace rubato::preload {
namespace {

/// About how long a measurement takes, once per process.
constexpr time_ns time_to_measure = std::chrono::milliseconds(8);

/// What this process has measured, or was told.
struct measured_networks {
    std::mutex mutex{};
    profiles::networks texts{};

    std::string& text(bool between) { return between ? texts.between : texts.within; }
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
        known = measured.text(between);
    }
    known = mpi::broadcast(comm, std::move(known));  // rank 0's, if it has one
    const int other = between ? static_cast<int>(elsewhere - hosts.begin()) : 1;
    model network = known.empty() ? mpi::measure_model(comm, other, time_to_measure) : parse_model(known);
    const std::lock_guard lock(measured.mutex);
    measured.text(between) = to_string(network);
    return network;
}

void know_networks(const profiles::networks& known) {
    measured_networks& measured = all_measured();
    const std::lock_guard lock(measured.mutex);
    measured.texts = known;
}

profiles::networks known_networks() {
    measured_networks& measured = all_measured();
    const std::lock_guard lock(measured.mutex);
    return measured.texts;
}

}  // namespace rubato::preload
