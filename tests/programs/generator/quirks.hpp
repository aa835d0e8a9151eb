// Errors of the MPI libraries themselves, which random programs avoid. LIKE_MPICH makes programs with Open MPI that can
// be compared with MPICH's.
#pragma once

#include <mpi.h>

namespace random_program {

#if defined(OPEN_MPI) && !defined(LIKE_MPICH)
constexpr bool like_mpich = false;
#else
constexpr bool like_mpich = true;
#endif

/// MPICH as Debian builds it does not check arguments.
constexpr bool checks_arguments = !like_mpich;
/// MPICH 4.0.2 ends with a segmentation fault in MPI_Reduce, if a root other than rank 0 works in place.
constexpr bool reduces_in_place_anywhere = !like_mpich;
/// MPICH 4.0.2 over UCX truncates or garbles long messages that have gaps on one side.
constexpr bool carries_gaps = !like_mpich;
/// MPICH 4.0.2 combines in the wrong order in MPI_Reduce_scatter_block. MPI_Reduce_scatter, if the operator does not
/// commute and the type has gaps, writes behind its own buffer: of n elements it has n true extents.
constexpr bool scatters_in_order = !like_mpich;

/// After MPI_Ialltoallv in place, Open MPI 4.1.4 now and then truncates the messages of later collectives. A persistent
/// one may give other results than MPI_Alltoallv.
constexpr bool exchanges_in_place_later = like_mpich;

/// MPICH 4.0.2 garbles persistent collectives that move data, and others when they are started again.
constexpr bool persists = !like_mpich;

}  // namespace random_program
