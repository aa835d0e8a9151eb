/* persistent [every_form | goes_on | freed_datatype]: what a program may do with persistent collectives. Without an
 * argument it does what the MPI libraries' own survive: MPICH 4.0.2's fail in Testall, Waitany and the like. Exits with
 * 1 if a result is wrong or a request is not what it should be; waits forever if an end was not told. Two ranks or
 * more. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#define INIT(name) MPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#endif

enum { elements = 3000, most = 80 };
static int me, ranks, only_simple;
static double in[most][elements], out[most][elements];
static MPI_Request calls[most];

static void fail(const char* what) {
    fprintf(stderr, "rank %d: %s\n", me, what);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void make(int which) {
    INIT(Allreduce)(in[which], out[which], elements, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &calls[which]);
}
static void fill(int which, int round) {
    for (int i = 0; i < elements; ++i) in[which][i] = (me + 1) * (i + which + round);
    memset(out[which], 0, sizeof out[which]);
}
static void check(int which, int round) {
    const double of_all = ranks * (ranks + 1) / 2;
    for (int i = 0; i < elements; ++i)
        if (out[which][i] != of_all * (i + which + round)) fail("a wrong sum");
    if (calls[which] == MPI_REQUEST_NULL) fail("a persistent request that is gone");
}
static void release(int count) {
    for (int i = 0; i < count; ++i) MPI_Request_free(&calls[i]);
}

/* Each rank starts them, and waits for them, in another order. Others are under way meanwhile. */
static void any_order(void) {
    for (int i = 0; i < 4; ++i) make(i);
    for (int round = 0; round < 20; ++round) {
        double one = me, sum = 0;
        MPI_Request other;
        MPI_Iallreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, &other);
        for (int i = 0; i < 4; ++i) fill((i + me) % 4, round), MPI_Start(&calls[(i + me) % 4]);
        for (int i = 0; i < 4; ++i) {
            const int at = (me * round + 3 * i) % 4;
            MPI_Wait(&calls[at], MPI_STATUS_IGNORE);
            check(at, round);
            MPI_Wait(&calls[at], MPI_STATUS_IGNORE); /* inactive: returns at once */
        }
        MPI_Wait(&other, MPI_STATUS_IGNORE);
        if (sum != ranks * (ranks - 1) / 2) fail("a wrong small sum");
    }
    release(4);
}

/* Every form of waiting and testing, with persistent messages between two ranks among them. */
static void every_form(void) {
    enum { n = 5 };
    int token = me, got = -1, next = (me + 1) % ranks, before = (me + ranks - 1) % ranks;
    for (int i = 0; i < 3; ++i) make(i);
    MPI_Send_init(&token, 1, MPI_INT, next, 7, MPI_COMM_WORLD, &calls[3]);
    MPI_Recv_init(&got, 1, MPI_INT, before, 7, MPI_COMM_WORLD, &calls[4]);
    for (int round = 0; round < 48; ++round) {
        MPI_Status statuses[n];
        int flag = 0, left = n, indices[n], some = 0, index = 0;
        int seen[n] = {0};
        got = -1;
        for (int i = 0; i < 3; ++i) fill(i, round);
        if (round % 2 == 0)
            MPI_Startall(n, calls);
        else
            for (int i = 0; i < n; ++i) MPI_Start(&calls[(i + me) % n]);
        switch (only_simple ? round % 2 * 6 : round % 8) {
            case 0: MPI_Waitall(n, calls, statuses); break;
            case 1:
                while (!flag) MPI_Testall(n, calls, &flag, MPI_STATUSES_IGNORE);
                break;
            case 2:
                for (; left > 0; --left) {
                    MPI_Waitany(n, calls, &index, &statuses[0]);
                    if (index == MPI_UNDEFINED || seen[index]++) fail("Waitany");
                }
                MPI_Waitany(n, calls, &index, MPI_STATUS_IGNORE);
                if (index != MPI_UNDEFINED) fail("Waitany of what is inactive");
                break;
            case 3:
                while (left > 0) {
                    MPI_Testany(n, calls, &index, &flag, MPI_STATUS_IGNORE);
                    if (!flag) continue;
                    if (index == MPI_UNDEFINED || seen[index]++) fail("Testany");
                    --left;
                }
                break;
            case 4:
                while (left > 0) {
                    MPI_Waitsome(n, calls, &some, indices, statuses);
                    if (some == MPI_UNDEFINED || some < 1) fail("Waitsome");
                    for (int i = 0; i < some; ++i)
                        if (seen[indices[i]]++) fail("Waitsome, twice");
                    left -= some;
                }
                MPI_Waitsome(n, calls, &some, indices, MPI_STATUSES_IGNORE);
                if (some != MPI_UNDEFINED) fail("Waitsome of what is inactive");
                break;
            case 5:
                while (left > 0) {
                    MPI_Testsome(n, calls, &some, indices, MPI_STATUSES_IGNORE);
                    for (int i = 0; i < some; ++i)
                        if (seen[indices[i]]++) fail("Testsome, twice");
                    left -= some;
                }
                break;
            case 6:
                for (int i = 0; i < n; ++i)
                    for (flag = 0; !flag;) MPI_Test(&calls[i], &flag, MPI_STATUS_IGNORE);
                break;
            case 7:
                for (int i = 0; i < n; ++i) {
                    for (flag = 0; !flag;) MPI_Request_get_status(calls[i], &flag, MPI_STATUS_IGNORE);
                    MPI_Wait(&calls[i], MPI_STATUS_IGNORE);
                }
                break;
        }
        for (int i = 0; i < 3; ++i) check(i, round);
        if (got != before) fail("a wrong message");
    }
    release(n);
}

/* The datatype is freed as soon as the request is made, which Open MPI 4.1.4's own do not survive. */
static void freed_datatype(void) {
    static int data[2 * elements];
    MPI_Datatype every_second, others[8];
    MPI_Type_vector(elements, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    INIT(Bcast)(data, 1, every_second, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &calls[0]);
    MPI_Type_free(&every_second);
    for (int i = 0; i < 8; ++i) {
        MPI_Type_vector(3 + i, 2, 5, MPI_CHAR, &others[i]);
        MPI_Type_commit(&others[i]);
    }
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 2 * elements; ++i) data[i] = me == 0 ? i + round : -1;
        MPI_Start(&calls[0]);
        MPI_Wait(&calls[0], MPI_STATUS_IGNORE);
        for (int i = 0; i < 2 * elements; ++i)
            if (data[i] != (i % 2 == 0 || me == 0 ? i + round : -1)) fail("a wrong element");
    }
    for (int i = 0; i < 8; ++i) MPI_Type_free(&others[i]);
    release(1);
}

/* Made and freed often, and more at once than there are autopilots. */
static void many(void) {
    for (int i = 0; i < 200; ++i) {
        make(0), fill(0, i);
        MPI_Start(&calls[0]), MPI_Wait(&calls[0], MPI_STATUS_IGNORE);
        check(0, i);
        release(1);
    }
    for (int i = 0; i < most; ++i) make(i), fill(i, 0);
    MPI_Startall(most, calls);
    MPI_Waitall(most, calls, MPI_STATUSES_IGNORE);
    for (int i = 0; i < most; ++i) check(i, 0);
    release(most);
}

/* A communicator is freed before its requests are, and some requests are never freed. */
static void freed_communicator(void) {
    for (int i = 0; i < 150; ++i) {
        MPI_Comm own;
        fill(0, i);
        MPI_Comm_dup(MPI_COMM_WORLD, &own);
        INIT(Allreduce)(in[0], out[0], elements, MPI_DOUBLE, MPI_SUM, own, MPI_INFO_NULL, &calls[0]);
        MPI_Start(&calls[0]);
        MPI_Wait(&calls[0], MPI_STATUS_IGNORE);
        check(0, i);
        if (i % 50 == 0) MPI_Comm_free(&own);
        if (i != 100) MPI_Request_free(&calls[0]);
        if (own != MPI_COMM_NULL) MPI_Comm_free(&own);
    }
}

/* Only if something goes on with it while the program makes no call: then the last element arrives. */
static void goes_on(void) {
    enum { large = 1000000 };
    static double data[large];
    volatile double* last = &data[large - 1];
    INIT(Bcast)(data, large, MPI_DOUBLE, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &calls[0]);
    for (int round = 0; round < 2; ++round) {
        data[large - 1] = me == 0;
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Start(&calls[0]);
        for (int ms = 0; *last == 0 || (me == 0 && ms < 2000); ++ms) {
            if (ms > 20000) fail("nothing goes on while the program computes");
            usleep(1000);
        }
        MPI_Wait(&calls[0], MPI_STATUS_IGNORE);
    }
    release(1);
}

int main(int argc, char** argv) {
    int level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
#ifdef MPICH_VERSION
    only_simple = argc < 2;
#endif
    if (argc > 1 && strcmp(argv[1], "goes_on") == 0) {
        goes_on();
    } else if (argc > 1 && strcmp(argv[1], "freed_datatype") == 0) {
        freed_datatype();
    } else {
        any_order();
        every_form();
        many();
        freed_communicator();
    }
    MPI_Finalize();
    return 0;
}
