#include "engine/mpi/c_edge.hpp"

#include "engine/mpi/process.hpp"

#include <cstdio>
#include <cstdlib>

namespace rubato::engine {

int report(const char* name, const std::exception& e, int code) noexcept {
    std::fprintf(stderr, "rubato: %s: %s\n", name, e.what());
    return code;
}

void end_outside_of_mpi(const char* name) noexcept {
    int initialized = 0;
    if (MPI_Initialized(&initialized) == MPI_SUCCESS && initialized != 0 && !is_finalized()) return;
    std::fprintf(stderr,
                 "rubato: %s: called outside of MPI: MPI is not there before MPI_Init and after MPI_Finalize; call it "
                 "between the two\n",
                 name);
    std::fflush(nullptr);
    std::_Exit(2);
}

void check_communicator(MPI_Comm comm) {
    const misuse none(MPI_ERR_COMM, "no communicator", "it is MPI_COMM_NULL or was freed", "pass one that lives");
    // Open MPI accepts a freed communicator, and crashes; but its Fortran number does not lead back to it.
    if (comm == MPI_COMM_NULL || MPI_Comm_f2c(MPI_Comm_c2f(comm)) != comm) throw none;
    int inter = 0;
    if (MPI_Comm_test_inter(comm, &inter) != MPI_SUCCESS) throw none;
    if (inter != 0)
        throw misuse(MPI_ERR_COMM, "an inter-communicator", "Rubato works within one group",
                     "call MPI's own collectives on it");
}

}  // namespace rubato::engine
