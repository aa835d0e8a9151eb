// MPI objects that a program and Rubato hold. Calls are counted where they enter the MPI library: link mpi_counts.cpp,
// which stands in for the calls that Rubato makes.
#pragma once

namespace rubato::testing {

struct mpi_counts {
    long requests = 0;       ///< neither completed nor freed
    long communicators = 0;  ///< made and not freed
    long messages = 0;       ///< sent less received: 0 over all ranks if all were received
};

mpi_counts count_mpi();

}  // namespace rubato::testing
