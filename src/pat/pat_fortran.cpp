// The collectives of rubato/pat.h for Fortran, which has its own handles: an MPI_Fint where C has a pointer or an int
// of another meaning. Buffers are C addresses, so that a program of Fortran 2003 can call these through iso_c_binding.
// The interfaces are in rubato/pat.f90; functions without handles are those of rubato/pat.h itself.
#include "rubato/core.hpp"
#include "rubato/pat.h"

extern "C" {

/// C's MPI_IN_PLACE: Fortran's own is a variable whose address means nothing to C.
RUBATO_API void* PATF_In_place() { return MPI_IN_PLACE; }

RUBATO_API int PATF_Scatter(const void* send, int send_count, MPI_Fint send_type, void* recv, int recv_count,
                            MPI_Fint recv_type, int root, MPI_Fint comm) {
    return PAT_Scatter(send, send_count, MPI_Type_f2c(send_type), recv, recv_count, MPI_Type_f2c(recv_type), root,
                       MPI_Comm_f2c(comm));
}

RUBATO_API int PATF_Scatterv(const void* send, const int* send_counts, const int* displacements, MPI_Fint send_type,
                             void* recv, int recv_count, MPI_Fint recv_type, int root, MPI_Fint comm) {
    return PAT_Scatterv(send, send_counts, displacements, MPI_Type_f2c(send_type), recv, recv_count,
                        MPI_Type_f2c(recv_type), root, MPI_Comm_f2c(comm));
}

RUBATO_API int PATF_Gather(const void* send, int send_count, MPI_Fint send_type, void* recv, int recv_count,
                           MPI_Fint recv_type, int root, MPI_Fint comm) {
    return PAT_Gather(send, send_count, MPI_Type_f2c(send_type), recv, recv_count, MPI_Type_f2c(recv_type), root,
                      MPI_Comm_f2c(comm));
}

RUBATO_API int PATF_Gatherv(const void* send, int send_count, MPI_Fint send_type, void* recv, const int* recv_counts,
                            const int* displacements, MPI_Fint recv_type, int root, MPI_Fint comm) {
    return PAT_Gatherv(send, send_count, MPI_Type_f2c(send_type), recv, recv_counts, displacements,
                       MPI_Type_f2c(recv_type), root, MPI_Comm_f2c(comm));
}

RUBATO_API int PATF_Reduce(const void* send, void* recv, int count, MPI_Fint type, MPI_Fint op, int root,
                           MPI_Fint comm) {
    return PAT_Reduce(send, recv, count, MPI_Type_f2c(type), MPI_Op_f2c(op), root, MPI_Comm_f2c(comm));
}

RUBATO_API int PATF_Bcast(void* data, int count, MPI_Fint type, int root, MPI_Fint comm) {
    return PAT_Bcast(data, count, MPI_Type_f2c(type), root, MPI_Comm_f2c(comm));
}

}  // extern "C"
