/* Collectives on communicators of every kind, some of them freed, and in two threads at once. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

enum { times = 100, n = 5000 };

struct work {
    MPI_Comm comm;
    int value[n];
};

static void* repeat(void* w) {
    struct work* mine = w;
    for (int i = 0; i < times; ++i) {
        for (int k = 0; k < n; ++k) mine->value[k] = k + i;
        MPI_Allreduce(MPI_IN_PLACE, mine->value, n, MPI_INT, MPI_SUM, mine->comm);
        MPI_Bcast(mine->value, n, MPI_INT, i % 2, mine->comm);
    }
    return NULL;
}

int main(int argc, char** argv) {
    int level = 0, me = 0, ranks = 0;
    static struct work one, two;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    int value = me, total = 0;
    for (int i = 0; i < 20; ++i) { /* handles come again */
        MPI_Comm half;
        MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half);
        MPI_Allreduce(&value, &total, 1, MPI_INT, MPI_SUM, half);
        value = total % 1000 + me;
        MPI_Comm_free(&half);
    }
    MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF);

    MPI_Comm half, between;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, me, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - me % 2, 7, &between);
    for (int i = 0; i < 3; ++i) {
        MPI_Allreduce(&value, &total, 1, MPI_INT, MPI_SUM, between);
        MPI_Barrier(between);
        MPI_Bcast(&total, 1, MPI_INT, me % 2 == 1 ? 0 : me == 0 ? MPI_ROOT : MPI_PROC_NULL, between);
    }
    MPI_Comm_disconnect(&between);
    MPI_Comm_free(&half);

    MPI_Comm_dup(MPI_COMM_WORLD, &one.comm);
    MPI_Comm_dup(MPI_COMM_WORLD, &two.comm);
    if (level == MPI_THREAD_MULTIPLE) {
        pthread_t other;
        pthread_create(&other, NULL, repeat, &two);
        repeat(&one);
        pthread_join(other, NULL);
    } else {
        repeat(&one);
        repeat(&two);
    }
    MPI_Comm_free(&one.comm);
    printf("rank %d: %d %d %d\n", me, total, one.value[n - 1], two.value[n - 1]);
    MPI_Finalize(); /* two.comm is left to it */
    return 0;
}
