// Bytes and texts between the ranks of a communicator of ours.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rubato::preload {

/// Rank 0's text, to all. Collective.
void share(MPI_Comm comm, std::string& text);

/// All ranks' bytes on rank 0, nothing on others. Collective. What rank 0 has no memory for is left out.
std::vector<std::vector<std::byte>> gather_bytes(MPI_Comm comm, std::span<const std::byte> mine);

}  // namespace rubato::preload
