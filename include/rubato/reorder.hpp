// Ranks in an order in which messages meet less on the network's cables: in the plans of a communicator, or for
// programs that let it change, in a communicator of its own.
#pragma once

#include "rubato/core.hpp"

#include <mpi.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rubato::mpi {

/// What is known of the network, and what is to become fast. All but the endpoint are rank 0's, for all ranks.
struct reordering {
    std::string network{};  ///< as `rubato topo` takes it: "fattree:crossbar=36,ports=648", "file:net.txt,tables=t.txt"
    std::string routing{};  ///< of traffic: "modulo", ...; empty: the given tables, or what suits the network
    /// An algorithm ("alltoall/bruck") or a pattern ("neighbours:3") whose messages are to meet as little as possible.
    /// Empty: near ranks follow each other, which suits rings and trees of any kind.
    std::string traffic{};
    /// Where this process is. If no process says it: the endpoint that has the name of its host; or if the network has
    /// no such names, the hosts are its first endpoints, in the order of their lowest ranks.
    std::optional<std::uint32_t> endpoint{};
};

/// Collective: of each rank, its place in that order, for settings::places. The same on all ranks. All of them throw
/// `error` if what one of them gave is wrong.
RUBATO_API std::vector<std::int32_t> places_in(MPI_Comm comm, const reordering& how);

/// Collective: a communicator of the same processes in that order, as MPI_Comm_split makes it, to be freed by the
/// caller.
RUBATO_API MPI_Comm reordered(MPI_Comm comm, const reordering& how);

}  // namespace rubato::mpi
