// What the drop-in knows of the network.
#pragma once

#include "dropin/profile/profile.hpp"
#include "rubato/model.hpp"

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <span>

namespace rubato::dropin {

/// Collective over `comm`, which must be ours and have at least two ranks: the model of the messages between its hosts
/// or, if it has one host, within that. The first communicator that needs it measures it; its processes keep it.
model network_of(MPI_Comm comm, std::span<const std::int32_t> hosts);
/// Likewise of the messages within a host, as rank 0 and another one there exchange them; nothing if it is alone.
std::optional<model> inside_of(MPI_Comm comm, std::span<const std::int32_t> hosts);

/// What an earlier run has measured between these hosts, or within this one, may be wrong: it is measured when next
/// needed, unless a rank that takes part then has done so in this run.
void doubt_network(std::span<const std::int32_t> hosts);

/// What an earlier run has measured, and what this process knows by now.
void remember_networks(const networks& known);
networks known_networks();

}  // namespace rubato::dropin
