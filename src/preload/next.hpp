// The functions that the program would have called without this library: those of the MPI library, or of another tool.
#pragma once

namespace rubato::preload {

/// Ends the program if there is none: then the MPI library is not the one that the program was built for.
void* find_next(const char* name);

/// An entry by MPI_X goes on to the next MPI_X, so that another tool sees it, one by PMPI_X to the next PMPI_X.
template <class F>
F* next_function(F&, const char* name) {
    return reinterpret_cast<F*>(find_next(name));
}

}  // namespace rubato::preload
