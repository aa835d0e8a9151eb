// Sends a text of one rank to all.
#pragma once

#include "mpi/datatype.hpp"

#include <string>

namespace rubato::mpi {

/// Collective over `comm`, which must be ours: that rank's text. By PMPI, so that other tools do not see it.
inline std::string broadcast(MPI_Comm comm, std::string text, int from = 0) {
    auto length = static_cast<std::int64_t>(text.size());
    check(PMPI_Bcast(&length, 1, MPI_INT64_T, from, comm), "MPI_Bcast");
    text.resize(static_cast<std::size_t>(length));
    check(PMPI_Bcast(text.data(), static_cast<int>(length), MPI_CHAR, from, comm), "MPI_Bcast");
    return text;
}

}  // namespace rubato::mpi
