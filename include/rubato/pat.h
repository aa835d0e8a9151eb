/* Arrival-aware collectives for programs in C, after Proficz 2020: the program tells how far its computation is, and
 * ranks that arrive early do not wait for late ones.
 *
 *     MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
 *     PAT_Init();
 *     PAT_UseAlg("gather/sorted_linear_sync+early");
 *     for (...) {
 *         PAT_ProcessingStart();
 *         ...                       half of the computation
 *         PAT_Edge(0.5);
 *         ...                       the other half
 *         PAT_ProcessingEnd();
 *         PAT_Gather(...);          as MPI_Gather
 *     }
 *     PAT_Finalize();
 *
 * All functions return MPI_SUCCESS or an MPI error code, and say on stderr what is wrong and what to do. Before
 * MPI_Init and after MPI_Finalize they end the program, as MPI's own do. They are for one thread at a time. The
 * collectives may be called on any intra-communicator by all its ranks, as MPI's; the first call on a communicator
 * prepares it. */
#ifndef RUBATO_PAT_H
#define RUBATO_PAT_H

#include <mpi.h>

#define RUBATO_PAT_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

/* PAT_Init prepares MPI_COMM_WORLD, and is collective over it. It may be left out: the first collective on a
 * communicator prepares it. With less than MPI_THREAD_MULTIPLE nothing advances while the program computes.
 * Communicators are given back when they are freed, or by PAT_Finalize; both wait for their other ranks. */
RUBATO_PAT_API int PAT_Init(void);
RUBATO_PAT_API int PAT_Finalize(void);

/* The algorithm of one collective from now on, on all ranks alike: an id of `rubato algorithms`, or the name that
 * Proficz 2020 gives it ("gather/BSLS"). NULL: all are left to Rubato, as at the beginning. */
RUBATO_PAT_API int PAT_UseAlg(const char* id);

/* From now on, on all ranks alike: who is late is seen, not predicted. Those who come to a collective whose algorithm
 * (PAT_UseAlg) is named sorted... say so to one of them, and when nobody has come for `patience` seconds it tells all
 * who is there. All wait for that, so it is for large messages. Below 0: no more, as at the beginning. */
RUBATO_PAT_API int PAT_RollCall(double patience);

/* The computation between collectives begins; a fraction of it, above 0 and below 1, is done; it ends. PAT_Edge tells
 * the ranks of the communicator that was used last when this rank will arrive at its next collective there. If all
 * ranks call it, the plan of that collective uses it; otherwise the plan uses how late ranks were before. This matters
 * only for algorithms that use arrivals: those of scatter and gather whose names begin with sorted. Reductions that
 * plan in rounds need the time of a round, which PAT cannot give, and plan as if all ranks arrived together. */
RUBATO_PAT_API int PAT_ProcessingStart(void);
RUBATO_PAT_API int PAT_Edge(double fraction);
RUBATO_PAT_API int PAT_ProcessingEnd(void);

/* A promise, on all ranks: the first collective after each PAT_ProcessingEnd is the same as after the one before, with
 * the same communicator, algorithm, root and sizes, and there is none on that communicator between PAT_ProcessingStart
 * and PAT_ProcessingEnd. Then it is known at PAT_ProcessingStart and may begin there. Without the promise, ranks that
 * have arrived announce it to the others. Breaking the promise is an error; the communicator is not usable after it. */
RUBATO_PAT_API int PAT_Repeat(int yes);

RUBATO_PAT_API int PAT_Scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                               MPI_Datatype recvtype, int root, MPI_Comm comm);
RUBATO_PAT_API int PAT_Gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                              MPI_Datatype recvtype, int root, MPI_Comm comm);
RUBATO_PAT_API int PAT_Reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
                              MPI_Comm comm);
RUBATO_PAT_API int PAT_Bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm);
RUBATO_PAT_API int PAT_Scatterv(const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype,
                                void* recvbuf, int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm);
RUBATO_PAT_API int PAT_Gatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf,
                               const int recvcounts[], const int displs[], MPI_Datatype recvtype, int root,
                               MPI_Comm comm);

#ifdef __cplusplus
}
#endif

#endif
