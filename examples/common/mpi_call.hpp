// A collective by MPI's own functions, as programs call them that know nothing of Rubato. So the drop-in sees them.
#pragma once

#include "rubato/mpi.hpp"

#include <vector>

namespace applications {

class mpi_call {
public:
    /// Makes the call, or starts it. Throws if a count does not fit in MPI's int.
    mpi_call(MPI_Comm comm, const rubato::mpi::call& c, bool blocking);
    mpi_call(const mpi_call&) = delete;
    mpi_call& operator=(const mpi_call&) = delete;

    void wait();

private:
    // MPI reads them until the call has ended.
    std::vector<int> send_counts_, send_places_, recv_counts_, recv_places_;
    MPI_Request request_ = MPI_REQUEST_NULL;
};

}  // namespace applications
