// Collects bytes of all ranks of a communicator of ours on rank 0.
#pragma once

#include <mpi.h>

#include <cstddef>
#include <span>
#include <vector>

namespace rubato::preload {

/// All ranks' bytes on rank 0, nothing on others. Collective. Bytes for which rank 0 has no memory are left out.
std::vector<std::vector<std::byte>> gather_bytes(MPI_Comm comm, std::span<const std::byte> mine);

}  // namespace rubato::preload
