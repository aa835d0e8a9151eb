/* Building the schedule of a collective by hand, as LibNBC's own are built (Hoefler 2008, Appendix C.1 to C.3).
 *
 *     NBC_Schedule schedule;
 *     NBC_Sched_create(&schedule);
 *     NBC_Sched_recv(part, n, MPI_DOUBLE, left, &schedule);
 *     NBC_Sched_barrier(&schedule);                              the end of a round
 *     NBC_Sched_op(sum, part, mine, n, MPI_DOUBLE, MPI_SUM, &schedule);
 *     NBC_Sched_send(sum, n, MPI_DOUBLE, right, &schedule);
 *     NBC_Sched_commit(&schedule);
 *     handle.tmpbuf = NULL;
 *     NBC_Start(&handle, comm, &schedule);
 *     NBC_Wait(&handle, MPI_STATUS_IGNORE);
 *
 * The steps of a round wait for all of the round before. Within a round, a step waits for earlier ones that use the
 * same memory in a way that does not allow both at once, and messages are under way at the same time. The n-th send
 * from one rank to another is received by the n-th receive there. The steps must be right, too, if they are run one
 * after the other in their order, both sides of a message being ready: NBC_Sched_save and `rubato verify --file` check
 * that, and that the schedules of all ranks make the collective they are meant to be. */
#ifndef RUBATO_NBC_SCHEDULE_H
#define RUBATO_NBC_SCHEDULE_H

#include "rubato/nbc.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef void* NBC_Schedule;

RUBATO_NBC_API int NBC_Sched_create(NBC_Schedule* schedule) RUBATO_NBC_AS(NBC_Sched_create);
RUBATO_NBC_API int NBC_Sched_send(void* buf, int count, MPI_Datatype type, int dest, NBC_Schedule* schedule)
    RUBATO_NBC_AS(NBC_Sched_send);
RUBATO_NBC_API int NBC_Sched_recv(void* buf, int count, MPI_Datatype type, int source, NBC_Schedule* schedule)
    RUBATO_NBC_AS(NBC_Sched_recv);
#define NBC_Sched_rcv NBC_Sched_recv /* Listing A.1 */
/* tgt = src1 op src2; tgt may be one of the others. */
RUBATO_NBC_API int NBC_Sched_op(void* tgt, void* src1, void* src2, int count, MPI_Datatype type, MPI_Op op,
                                NBC_Schedule* schedule) RUBATO_NBC_AS(NBC_Sched_op);
RUBATO_NBC_API int NBC_Sched_copy(void* src, int srccount, MPI_Datatype srctype, void* tgt, int tgtcount,
                                  MPI_Datatype tgttype, NBC_Schedule* schedule) RUBATO_NBC_AS(NBC_Sched_copy);
RUBATO_NBC_API int NBC_Sched_barrier(NBC_Schedule* schedule) RUBATO_NBC_AS(NBC_Sched_barrier);
RUBATO_NBC_API int NBC_Sched_commit(NBC_Schedule* schedule) RUBATO_NBC_AS(NBC_Sched_commit);
/* A schedule that is not started. */
RUBATO_NBC_API int NBC_Sched_free(NBC_Schedule* schedule) RUBATO_NBC_AS(NBC_Sched_free);

/* Starts a schedule that is committed; all ranks start theirs in the same order, and those of a rank that does nothing
 * are empty. The schedule then belongs to the operation, as does `tmpbuf`: memory from malloc that is freed when it has
 * ended, or NULL. The first one on a communicator is collective and waits for the other ranks. */
RUBATO_NBC_API int NBC_Start(NBC_Handle* handle, MPI_Comm comm, NBC_Schedule* schedule) RUBATO_NBC_AS(NBC_Start);
/* As NBC_Testold. */
RUBATO_NBC_API int NBC_Progress(NBC_Handle* handle) RUBATO_NBC_AS(NBC_Progress);
/* Waits for it, too. */
RUBATO_NBC_API int NBC_Free(NBC_Handle* handle) RUBATO_NBC_AS(NBC_Free);

RUBATO_NBC_API int NBC_Copy(void* src, int srccount, MPI_Datatype srctype, void* tgt, int tgtcount,
                            MPI_Datatype tgttype, MPI_Comm comm) RUBATO_NBC_AS(NBC_Copy);

/* Collective: writes the schedules of all ranks to a file, on rank 0, for `rubato verify --file`. They are meant to be
 * the collective of that name ("allreduce", "gather", ...; not a v-form), of `count` elements, of each rank where there
 * are several chunks. All other memory is scratch. A bcast has one buffer, given as both; else they must not be the
 * same. The datatype must have no gaps. Before NBC_Start. */
RUBATO_NBC_API int NBC_Sched_save(NBC_Schedule* schedule, const char* collective, void* sendbuf, void* recvbuf,
                                  int count, MPI_Datatype type, int root, MPI_Comm comm, const char* file)
    RUBATO_NBC_AS(NBC_Sched_save);

#undef RUBATO_NBC_AS

#ifdef __cplusplus
}
#endif

#endif
