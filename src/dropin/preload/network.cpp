#include "dropin/preload/network.hpp"

#include "base/core/hosts.hpp"
#include "base/core/wire.hpp"
#include "engine/measure/measured_link.hpp"
#include "engine/mpi/private_communicator.hpp"

#include <algorithm>
#include <mutex>

namespace rubato::dropin {
namespace {

/// About how long a measurement takes: of each kind once per process.
constexpr time_ns time_to_measure = std::chrono::milliseconds(8);

struct known_network {
    std::string model{};    // as text; empty if nothing is known
    bool measured = false;  // by this run; else by an earlier one
    bool doubted = false;   // it was, and may be wrong
};

/// What this process knows.
struct known_networks_of_process {
    std::mutex mutex{};
    known_network between{}, within{};

    known_network& of(bool between_hosts) { return between_hosts ? between : within; }
};
known_networks_of_process& known_here() {
    static auto& all = *new known_networks_of_process;
    return all;
}

/// What the ranks know together: what one of them has measured counts more than what rank 0 remembers.
known_network agreed(MPI_Comm comm, known_network mine) {
    const int ranks = engine::size_of(comm);
    // The minimum of each over all ranks.
    struct {
        std::int64_t who_has_measured;
        std::int64_t trusts_memory;
    } said{mine.measured ? engine::rank_in(comm) : ranks, mine.doubted ? 0 : 1};
    engine::check(PMPI_Allreduce(MPI_IN_PLACE, &said, base::numbers_in(said), MPI_INT64_T, MPI_MIN, comm),
                  "MPI_Allreduce");
    const bool measured = said.who_has_measured < ranks;
    if (!measured && said.trusts_memory == 0) return {};
    return {engine::broadcast(comm, std::move(mine.model), measured ? static_cast<int>(said.who_has_measured) : 0),
            measured};
}

/// Between ranks 0 and `other`.
model known_or_measured(MPI_Comm comm, bool between, int other) {
    known_networks_of_process& here = known_here();
    known_network known;
    {
        const std::lock_guard lock(here.mutex);
        known = here.of(between);
    }
    known = agreed(comm, std::move(known));
    if (known.model.empty()) known = {to_string(engine::measure_model(comm, other, time_to_measure)), true};
    model network = parse_model(known.model);
    const std::lock_guard lock(here.mutex);
    here.of(between) = std::move(known);
    return network;
}

}  // namespace

model network_of(MPI_Comm comm, std::span<const std::int32_t> hosts) {
    const auto elsewhere = std::ranges::find_if(hosts, [&](std::int32_t h) { return h != hosts.front(); });
    const bool between = elsewhere != hosts.end();
    return known_or_measured(comm, between, between ? static_cast<int>(elsewhere - hosts.begin()) : 1);
}

std::optional<model> inside_of(MPI_Comm comm, std::span<const std::int32_t> hosts) {
    const auto beside = std::ranges::find(hosts.begin() + 1, hosts.end(), hosts.front());
    if (beside == hosts.end()) return std::nullopt;
    return known_or_measured(comm, false, static_cast<int>(beside - hosts.begin()));
}

void remember_networks(const networks& known) {
    known_networks_of_process& here = known_here();
    const std::lock_guard lock(here.mutex);
    here.between = {known.between};
    here.within = {known.within};
}

void doubt_network(std::span<const std::int32_t> hosts) {
    known_networks_of_process& here = known_here();
    const std::lock_guard lock(here.mutex);
    const auto doubt = [&](bool between) {
        known_network& known = here.of(between);
        known.doubted = !known.measured;
    };
    doubt(base::on_several_hosts(hosts));
    if (base::are_shared(hosts)) doubt(false);
}

networks known_networks() {
    known_networks_of_process& here = known_here();
    const std::lock_guard lock(here.mutex);
    return {.within = here.within.model, .between = here.between.model};
}

}  // namespace rubato::dropin
