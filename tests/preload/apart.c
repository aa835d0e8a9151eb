/* Loaded behind the drop-in: each rank seems to have a host of its own. */
#include <mpi.h>

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm* made) {
    (void)info;
    int me = 0;
    PMPI_Comm_rank(comm, &me);
    return PMPI_Comm_split(comm, type == MPI_UNDEFINED ? type : me, key, made);
}
