// What the drop-in knows of the network.
#pragma once

#include "profile/profile.hpp"
#include "rubato/model.hpp"

#include <mpi.h>

#include <cstdint>
#include <span>

namespace rubato::preload {

/// Collective over `comm`, which must be ours and have at least two ranks: the model of the messages between its hosts
/// or, if it has one host, within that. The first communicator that needs it measures it; the process keeps it.
model network_of(MPI_Comm comm, std::span<const std::int32_t> hosts);

/// What need not be measured any more, and what this process knows by now.
void know_networks(const profiles::networks& known);
profiles::networks known_networks();

}  // namespace rubato::preload
