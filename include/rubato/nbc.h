/* LibNBC's interface (Hoefler 2008, Appendix C) on Rubato's collectives: programs written for LibNBC compile with
 *
 *     mpicc -I$PREFIX/include -I$PREFIX/include/rubato program.c -L$PREFIX/lib -lrubato_mpi
 *
 *     NBC_Handle handle;
 *     NBC_Iallreduce(send, recv, n, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &handle);
 *     ...                                 compute
 *     NBC_Wait(&handle, MPI_STATUS_IGNORE);
 *
 * With MPI_THREAD_MULTIPLE operations go on while the program computes; with less, in each call of these functions.
 * Any number of operations may be under way on a communicator. All its ranks start them in the same order; NBC and MPI
 * calls do not match each other. Buffers, arrays and a user's own operator with its datatype must stay as they are
 * until the operation has ended. The first operation on a communicator prepares it, which is collective and waits for
 * the other ranks, as MPI_Comm_dup does.
 *
 * Functions return one of the codes below, and say on stderr what is wrong and what to do. Before MPI_Init and after
 * MPI_Finalize they end the program, as MPI's own do. They are for one thread at a time. Statuses are not written.
 *
 * All but the last two have a second name that begins with PNBC_, for tools that put their own in front. In C and C++,
 * NBC_Wait and NBC_Test also take a handle alone, as in LibNBC 1.0; then NBC_Test returns what NBC_Testold does.
 *
 * From Fortran: the same names with `ierr` as last argument, and integers as handles; see docs/libnbc.md. */
#ifndef RUBATO_NBC_H
#define RUBATO_NBC_H

#include <mpi.h>

#define RUBATO_NBC_API __attribute__((visibility("default")))

#ifdef __cplusplus
extern "C" {
#endif

#define NBC_OK 0
#define NBC_SUCCESS 0
#define NBC_OOR 1 /* out of resources */
#define NBC_BAD_SCHED 2
#define NBC_CONTINUE 3 /* not ended yet */
#define NBC_DATATYPE_NOT_SUPPORTED 4
#define NBC_OP_NOT_SUPPORTED 5
#define NBC_NOT_IMPLEMENTED 6
#define NBC_INVALID_PARAM 7
#define NBC_INVALID_TOPOLOGY_COMM 8

/* An operation under way, or nothing. It may be moved in memory, but one operation has one handle. */
typedef struct {
    void* operation;
    void* tmpbuf; /* for who builds schedules, see nbc_schedule.h */
} NBC_Handle;
typedef NBC_Handle NBC_Request;

/* Open MPI has functions of some of these names, too, for its own non-blocking collectives, and would find ours first.
 * So the symbols of these have other names. */
#define RUBATO_NBC_AS(symbol) __asm__("rubato_" #symbol)

/* What follows is declared twice: as NBC_... and as PNBC_... */
#define RUBATO_NBC_BOTH(name, arguments)     \
    RUBATO_NBC_API int NBC_##name arguments; \
    RUBATO_NBC_API int PNBC_##name arguments

RUBATO_NBC_BOTH(Ibarrier, (MPI_Comm comm, NBC_Handle* handle));
RUBATO_NBC_BOTH(Ibcast, (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, NBC_Handle* handle));
/* Refused with NBC_NOT_IMPLEMENTED: Rubato works within one group. */
RUBATO_NBC_BOTH(Ibcast_inter,
                (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm, NBC_Handle* handle));
RUBATO_NBC_BOTH(Igather, (void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                          MPI_Datatype recvtype, int root, MPI_Comm comm, NBC_Handle* handle));
RUBATO_NBC_BOTH(Igatherv, (void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int* recvcounts,
                           int* displs, MPI_Datatype recvtype, int root, MPI_Comm comm, NBC_Handle* handle));
RUBATO_NBC_BOTH(Iscatter, (void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                           MPI_Datatype recvtype, int root, MPI_Comm comm, NBC_Handle* handle));
RUBATO_NBC_BOTH(Iscatterv, (void* sendbuf, int* sendcounts, int* displs, MPI_Datatype sendtype, void* recvbuf,
                            int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm, NBC_Handle* handle));
RUBATO_NBC_BOTH(Iallgather, (void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                             MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle));
RUBATO_NBC_BOTH(Iallgatherv, (void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int* recvcounts,
                              int* displs, MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle));
RUBATO_NBC_BOTH(Ialltoall, (void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                            MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle));
RUBATO_NBC_BOTH(Ialltoallv, (void* sendbuf, int* sendcounts, int* sdispls, MPI_Datatype sendtype, void* recvbuf,
                             int* recvcounts, int* rdispls, MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle));
/* Displacements in bytes. */
RUBATO_NBC_BOTH(Ialltoallw,
                (void* sendbuf, int* sendcounts, int* sdispls, MPI_Datatype* sendtypes, void* recvbuf, int* recvcounts,
                 int* rdispls, MPI_Datatype* recvtypes, MPI_Comm comm, NBC_Handle* handle));
RUBATO_NBC_BOTH(Ireduce, (void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, int root,
                          MPI_Comm comm, NBC_Handle* handle));
RUBATO_NBC_BOTH(Iallreduce, (void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                             NBC_Handle* handle));
RUBATO_NBC_BOTH(Ireduce_scatter, (void* sendbuf, void* recvbuf, int* recvcounts, MPI_Datatype type, MPI_Op op,
                                  MPI_Comm comm, NBC_Handle* handle));
RUBATO_NBC_BOTH(Iscan, (void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                        NBC_Handle* handle));
RUBATO_NBC_BOTH(Iexscan, (void* sendbuf, void* recvbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm,
                          NBC_Handle* handle));

/* Among neighbours, on a communicator with a topology; chunks are in the order of MPI's neighbours. `xchg` is another
 * name of `alltoall`. */
RUBATO_NBC_BOTH(Ineighbor_allgather, (void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                      MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle));
RUBATO_NBC_BOTH(Ineighbor_allgatherv,
                (void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int* recvcounts, int* displs,
                 MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle));
RUBATO_NBC_BOTH(Ineighbor_alltoall, (void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                     MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle));
RUBATO_NBC_BOTH(Ineighbor_alltoallv,
                (void* sendbuf, int* sendcounts, int* sdispls, MPI_Datatype sendtype, void* recvbuf, int* recvcounts,
                 int* rdispls, MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle));
RUBATO_NBC_BOTH(Ineighbor_alltoallw,
                (void* sendbuf, int* sendcounts, MPI_Aint* sdispls, MPI_Datatype* sendtypes, void* recvbuf,
                 int* recvcounts, MPI_Aint* rdispls, MPI_Datatype* recvtypes, MPI_Comm comm, NBC_Handle* handle));
RUBATO_NBC_BOTH(Ineighbor_xchg, (void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                 MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle));
RUBATO_NBC_BOTH(Ineighbor_xchgv,
                (void* sendbuf, int* sendcounts, int* sdispls, MPI_Datatype sendtype, void* recvbuf, int* recvcounts,
                 int* rdispls, MPI_Datatype recvtype, MPI_Comm comm, NBC_Handle* handle));
/* Along a dimension of a grid, as MPI_Cart_shift has it. The first one on a communicator waits for the other ranks. */
RUBATO_NBC_BOTH(Icart_shift_xchg, (void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                                   MPI_Datatype recvtype, int direction, int disp, MPI_Comm comm, NBC_Handle* handle));
/* Of any topology. Without one: NBC_INVALID_TOPOLOGY_COMM. Only distributed graphs have weights; of others they are
 * left as they are. */
RUBATO_NBC_API int NBC_Comm_neighbors_count(MPI_Comm comm, int* indegree, int* outdegree, int* weighted)
    RUBATO_NBC_AS(NBC_Comm_neighbors_count);
RUBATO_NBC_API int PNBC_Comm_neighbors_count(MPI_Comm comm, int* indegree, int* outdegree, int* weighted);
RUBATO_NBC_API int NBC_Comm_neighbors(MPI_Comm comm, int maxindegree, int* sources, int* sourceweights,
                                      int maxoutdegree, int* destinations, int* destweights)
    RUBATO_NBC_AS(NBC_Comm_neighbors);
RUBATO_NBC_API int PNBC_Comm_neighbors(MPI_Comm comm, int maxindegree, int* sources, int* sourceweights,
                                       int maxoutdegree, int* destinations, int* destweights);

/* A handle of nothing has ended. `flag` is 1 if the operation has ended, or all have, else 0. `index` is that of one
 * that has ended now, or MPI_UNDEFINED if none is under way. An operation that fails has ended, too. */
RUBATO_NBC_BOTH(Wait, (NBC_Handle * handle, MPI_Status* status));
RUBATO_NBC_BOTH(Test, (NBC_Handle * handle, int* flag, MPI_Status* status));
RUBATO_NBC_BOTH(Testold, (NBC_Handle * handle)); /* NBC_OK: ended; NBC_CONTINUE: not yet */
RUBATO_NBC_BOTH(Waitall, (int count, NBC_Handle* handles, MPI_Status* statuses));
RUBATO_NBC_BOTH(Waitany, (int count, NBC_Handle* handles, int* index, MPI_Status* status));
RUBATO_NBC_BOTH(Testall, (int count, NBC_Handle* handles, int* flag, MPI_Status* statuses));
RUBATO_NBC_BOTH(Testany, (int count, NBC_Handle* handles, int* index, int* flag, MPI_Status* status));

/* buf3 = buf1 op buf2. buf3 may be one of the others. */
RUBATO_NBC_BOTH(Operation, (void* buf3, void* buf1, void* buf2, MPI_Op op, MPI_Datatype type, int count));

/* The algorithm of later calls on this communicator, on all ranks alike; without a key, Rubato chooses. Operators that
 * do not commute are not combined around a ring: Rubato chooses for them. */
#define NBC_BCAST_ALG_INFO_KEY "nbc_bcast_alg"
#define NBC_BCAST_ALG_LINEAR "0"
#define NBC_BCAST_ALG_BINOMIAL "1"
#define NBC_BCAST_ALG_CHAIN "2"
#define NBC_ALLREDUCE_ALG_INFO_KEY "nbc_allreduce_alg"
#define NBC_ALLREDUCE_ALG_BINOMIAL "0"
#define NBC_ALLREDUCE_ALG_RING "1"
RUBATO_NBC_BOTH(Comm_set_info, (MPI_Comm comm, MPI_Info info));
RUBATO_NBC_BOTH(Comm_get_info, (MPI_Comm comm, MPI_Info* info)); /* to be freed by the caller */

/* The steps of this rank, as text: LibNBC's own form is not Rubato's. It lives as long as the operation. */
RUBATO_NBC_BOTH(Get_schedule, (NBC_Handle * handle, void** schedule, int* size));

/* Prints the time spent in starting, testing and waiting since the last reset, each divided by `div`. */
RUBATO_NBC_API void NBC_Reset_times(void);
RUBATO_NBC_API void NBC_Print_times(double div);

#undef RUBATO_NBC_BOTH

#ifdef __cplusplus
}

inline int NBC_Wait(NBC_Handle* handle) { return NBC_Wait(handle, MPI_STATUS_IGNORE); }
inline int NBC_Test(NBC_Handle* handle) { return NBC_Testold(handle); }
#else
RUBATO_NBC_API int RUBATO_NBC_Wait_alone(NBC_Handle* handle);
#define RUBATO_NBC_FOURTH(a, b, c, d, ...) d
#define NBC_Wait(...) RUBATO_NBC_FOURTH(__VA_ARGS__, 0, NBC_Wait, RUBATO_NBC_Wait_alone, 0)(__VA_ARGS__)
#define NBC_Test(...) RUBATO_NBC_FOURTH(__VA_ARGS__, NBC_Test, NBC_Test, NBC_Testold, 0)(__VA_ARGS__)
#endif

#endif
