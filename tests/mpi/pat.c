/* The PAT interface as a program in C uses it: right, and wrong in every way it can be. Wrong use gives an MPI error
 * code and a message that names the function, never hangs, and afterwards right use works again. PAT_Init may be left
 * out; outside of MPI each function ends the program.
 *
 *   mpirun -n P pat [unfinished]    with any argument, MPI_Finalize comes without PAT_Finalize */
#define _POSIX_C_SOURCE 200809L
#include "rubato/pat.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { count = 700, most_ranks = 64 };

static int me = 0;
static int ranks = 1;
static int checked = 0;
static FILE* said; /* what would go to stderr */

static void fail(const char* what, int line) {
    printf("rank %d of %d: line %d: %s\n", me, ranks, line, what);
    fflush(stdout);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}
#define REQUIRE(condition) ((condition) ? (void)++checked : fail(#condition, __LINE__))
#define OK(call) ((call) == MPI_SUCCESS ? (void)++checked : fail(#call " failed", __LINE__))
/* The call must be refused, with a message that begins with its name and has no names of C++ in it. */
#define REFUSED(call) refused(call, #call, __LINE__)

/* What was said since the last time. */
static const char* heard(int line) {
    static char text[4096];
    size_t length;
    fflush(stderr);
    rewind(said);
    length = fread(text, 1, sizeof text - 1, said);
    text[length] = '\0';
    if (ftruncate(fileno(said), 0) != 0) fail("no file for messages", line);
    rewind(said);
    lseek(2, 0, SEEK_SET);
    return text;
}

static int refused(int code, const char* call, int line) {
    const char* text = heard(line);
    char begin[64] = "rubato: ";
    strncat(begin, call, strcspn(call, "("));
    strncat(begin, ": ", sizeof begin - strlen(begin) - 1);
    if (code == MPI_SUCCESS) fail(call, line);
    if (strstr(text, begin) == NULL || strstr(text, "\n") == NULL) {
        printf("%s says: %s\n", call, text);
        fail("no message that names the function", line);
    }
    if (strstr(strstr(text, begin) + strlen(begin), "::") != NULL) fail(text, line);
    ++checked;
    return code;
}

static int class_of(int code) {
    int kind = MPI_SUCCESS;
    MPI_Error_class(code, &kind);
    return kind;
}

static void nap(int microseconds) {
    const struct timespec t = {0, 1000L * microseconds};
    nanosleep(&t, NULL);
}

/* Some ranks compute longer than others, and say so. */
static void compute(int round, int with_edge) {
    const int late = (round % ranks == me) ? 400 : 20;
    OK(PAT_ProcessingStart());
    nap(late);
    if (with_edge) OK(PAT_Edge(0.5));
    nap(late);
    OK(PAT_ProcessingEnd());
}

static int value(int rank, int i) { return 1000 * rank + i % 997; }

/* Each collective once; in place at the root, or not. */
static void try_all(MPI_Comm comm, int root, int in_place) {
    static int own[count], many[count * most_ranks];
    int counts[most_ranks], places[most_ranks];
    int rank, size, r, i, at_root;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    at_root = rank == root;
    for (r = 0; r < size; ++r) {
        counts[r] = (r * 37) % count;
        places[r] = r * count;
    }

    for (i = 0; i < count; ++i) own[i] = at_root ? value(root, i) : -1;
    OK(PAT_Bcast(own, count, MPI_INT, root, comm));
    for (i = 0; i < count; ++i) REQUIRE(own[i] == value(root, i));

    for (r = 0; r < size; ++r)
        for (i = 0; i < count; ++i) many[r * count + i] = at_root ? value(r, i) : -1;
    memset(own, 0, sizeof own);
    OK(PAT_Scatter(many, count, MPI_INT, at_root && in_place ? MPI_IN_PLACE : (void*)own, count, MPI_INT, root, comm));
    for (i = 0; i < count && !(at_root && in_place); ++i) REQUIRE(own[i] == value(rank, i));

    memset(own, 0, sizeof own);
    OK(PAT_Scatterv(many, counts, places, MPI_INT, at_root && in_place ? MPI_IN_PLACE : (void*)own, counts[rank],
                    MPI_INT, root, comm));
    for (i = 0; i < count && !(at_root && in_place); ++i) REQUIRE(own[i] == (i < counts[rank] ? value(rank, i) : 0));

    memset(many, 0, sizeof many);
    for (i = 0; i < count; ++i) own[i] = value(rank, i);
    if (in_place) memcpy(many + (size_t)rank * count, own, sizeof own);
    OK(PAT_Gather(at_root && in_place ? MPI_IN_PLACE : (void*)own, count, MPI_INT, many, count, MPI_INT, root, comm));
    for (r = 0; at_root && r < size; ++r)
        for (i = 0; i < count; ++i) REQUIRE(many[r * count + i] == value(r, i));

    memset(many, 0, sizeof many);
    if (in_place) memcpy(many + (size_t)rank * count, own, sizeof own);
    OK(PAT_Gatherv(at_root && in_place ? MPI_IN_PLACE : (void*)own, counts[rank], MPI_INT, many, counts, places,
                   MPI_INT, root, comm));
    for (r = 0; at_root && r < size; ++r)
        for (i = 0; i < counts[r]; ++i) REQUIRE(many[r * count + i] == value(r, i));

    memcpy(many, own, sizeof own);
    OK(PAT_Reduce(at_root && in_place ? MPI_IN_PLACE : (void*)own, many, count, MPI_INT, MPI_SUM, root, comm));
    for (i = 0; at_root && i < count; ++i) REQUIRE(many[i] == 500 * size * (size - 1) + size * (i % 997));
}

static void works(MPI_Comm comm) {
    int x = me, sum = -1, size = 0, rank = 0, all = 0;
    MPI_Comm_size(comm, &size);
    MPI_Comm_rank(comm, &rank);
    OK(PAT_Reduce(&x, &sum, 1, MPI_INT, MPI_SUM, 0, comm));
    MPI_Reduce(&x, &all, 1, MPI_INT, MPI_SUM, 0, comm);
    REQUIRE(rank != 0 || sum == all);
}

enum { functions = 14 };
static void call_function(int i) {
    int x = 0, y[most_ranks] = {0}, one[most_ranks] = {0};
    switch (i) {
        case 0: PAT_Init(); break;
        case 1: PAT_Finalize(); break;
        case 2: PAT_UseAlg(NULL); break;
        case 3: PAT_UseAlg("gather/linear"); break;
        case 4: PAT_ProcessingStart(); break;
        case 5: PAT_Edge(0.5); break;
        case 6: PAT_ProcessingEnd(); break;
        case 7: PAT_Repeat(1); break;
        case 8: PAT_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_WORLD); break;
        case 9: PAT_Scatter(y, 1, MPI_INT, &x, 1, MPI_INT, 0, MPI_COMM_WORLD); break;
        case 10: PAT_Scatterv(y, one, one, MPI_INT, &x, 0, MPI_INT, 0, MPI_COMM_WORLD); break;
        case 11: PAT_Gather(&x, 1, MPI_INT, y, 1, MPI_INT, 0, MPI_COMM_WORLD); break;
        case 12: PAT_Gatherv(&x, 0, MPI_INT, y, one, one, MPI_INT, 0, MPI_COMM_WORLD); break;
        case 13: PAT_Reduce(&x, y, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD); break;
    }
}

/* Outside of MPI, whatever is called. */
static void each_ends_the_program(void) {
    for (int i = 0; i < functions; ++i) {
        int status = 0;
        const char* text;
        const pid_t child = fork();
        if (child == 0) {
            call_function(i);
            _exit(0);
        }
        waitpid(child, &status, 0);
        REQUIRE(WIFEXITED(status) && WEXITSTATUS(status) == 2);
        text = heard(__LINE__);
        REQUIRE(strncmp(text, "rubato: PAT_", 12) == 0 && strstr(text, ": called outside of MPI: ") != NULL);
    }
}

static void right_use(void) {
    static const char* const algorithms[] = {
        "gather/BSLS",        "scatter/bsln", "reduce/clairvoyant", "bcast/chain",   "gather/BSBN",
        "reduce/chain+early", NULL,           "scatter/linear",     "gather/linear", "bcast/chain+early"};
    const int n = (int)(sizeof algorithms / sizeof *algorithms);
    MPI_Comm half = MPI_COMM_NULL;
    int i, size;
    MPI_Comm_split(MPI_COMM_WORLD, me % 2, -me, &half);
    MPI_Comm_size(half, &size);
    for (i = 0; i < n; ++i) {
        OK(PAT_UseAlg(algorithms[i]));
        OK(PAT_RollCall(i % 4 < 2 ? 0.0005 : -1));
        compute(i, i % 3 != 0);
        try_all(MPI_COMM_WORLD, i % ranks, i % 2);
        compute(i, i % 2 == 0 && (i % 4 == 0 || me == 0));
        try_all(half, i % size, i % 3 == 0);
    }
    OK(PAT_UseAlg(NULL));
    OK(PAT_RollCall(-1));
    MPI_Comm_free(&half);
    works(MPI_COMM_WORLD);
}

static void wrong_order(void) {
    const double fractions[] = {0, 1, -1, 2, (double)NAN, (double)INFINITY};
    size_t i;
    REFUSED(PAT_Init());
    REFUSED(PAT_Edge(0.5));
    REFUSED(PAT_ProcessingEnd());
    OK(PAT_ProcessingStart());
    REFUSED(PAT_ProcessingStart());
    for (i = 0; i < sizeof fractions / sizeof *fractions; ++i) REFUSED(PAT_Edge(fractions[i]));
    OK(PAT_Edge(1e-300));
    OK(PAT_ProcessingEnd());
    REFUSED(PAT_ProcessingEnd());
    REFUSED(PAT_Edge(0.5));
    works(MPI_COMM_WORLD);
}

static void wrong_arguments(void) {
    int x = 0, y[most_ranks] = {0};
    const char* names[] = {"", "gather", "gather/", "gather/nothing", "/", "gather/linear/"};
    size_t i;
    for (i = 0; i < sizeof names / sizeof *names; ++i) REFUSED(PAT_UseAlg(names[i]));
    REFUSED(PAT_RollCall((double)NAN));
    REFUSED(PAT_RollCall(1e300));
    works(MPI_COMM_WORLD);
    REQUIRE(class_of(REFUSED(PAT_Bcast(&x, 1, MPI_INT, -1, MPI_COMM_WORLD))) == MPI_ERR_ROOT);
    REFUSED(PAT_Bcast(&x, 1, MPI_INT, ranks, MPI_COMM_WORLD));
    REFUSED(PAT_Gatherv(&x, 1, MPI_INT, y, y, y, MPI_INT, ranks, MPI_COMM_WORLD));
    REFUSED(PAT_Gather(&x, -1, MPI_INT, y, -1, MPI_INT, 0, MPI_COMM_WORLD));
    REFUSED(PAT_Bcast(&x, 1, MPI_DATATYPE_NULL, 0, MPI_COMM_WORLD));
    REFUSED(PAT_Reduce(&x, y, 1, MPI_INT, MPI_OP_NULL, 0, MPI_COMM_WORLD));
    const double real = 1;
    double bits = 0;
    REFUSED(PAT_Reduce(&real, &bits, 1, MPI_DOUBLE, MPI_BAND, 0, MPI_COMM_WORLD));
    works(MPI_COMM_WORLD);
    OK(PAT_UseAlg("reduce/ring"));
    works(MPI_COMM_WORLD);
    OK(PAT_UseAlg(NULL));
}

static void wrong_communicators(void) {
    MPI_Comm known, unknown, stale, half, both;
    int x = 0;
    REQUIRE(class_of(REFUSED(PAT_Bcast(&x, 1, MPI_INT, 0, MPI_COMM_NULL))) == MPI_ERR_COMM);

    /* MPICH knows freed ones, and calls the world's handler, as in its own calls. */
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_dup(MPI_COMM_WORLD, &unknown);
    stale = unknown;
    MPI_Comm_free(&unknown);
    REFUSED(PAT_Bcast(&x, 1, MPI_INT, 0, stale));

    /* Freed while PAT knows it, used last, and named. */
    MPI_Comm_dup(MPI_COMM_WORLD, &known);
    stale = known;
    OK(PAT_Repeat(1));
    compute(0, 0);
    works(known);
    OK(PAT_ProcessingStart());
    nap(3000);
    MPI_Comm_free(&known);
    REFUSED(PAT_Bcast(&x, 1, MPI_INT, 0, stale));
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    OK(PAT_Edge(0.5));
    MPI_Comm_dup(MPI_COMM_WORLD, &known); /* first used in the middle of a computation */
    works(known);
    OK(PAT_Edge(0.5));
    OK(PAT_ProcessingEnd());
    OK(PAT_Repeat(0));
    works(known);
    MPI_Comm_free(&known);
    works(MPI_COMM_WORLD);

    if (ranks > 1) {
        MPI_Comm_split(MPI_COMM_WORLD, me == 0 ? 0 : 1, 0, &half);
        MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, me == 0 ? 1 : 0, 0, &both);
        REQUIRE(class_of(REFUSED(PAT_Bcast(&x, 1, MPI_INT, 0, both))) == MPI_ERR_COMM);
        MPI_Comm_free(&both);
        MPI_Comm_free(&half);
    }
    works(MPI_COMM_SELF);
    works(MPI_COMM_WORLD);
}

static void repeated(void) {
    static int own[count], many[count * most_ranks];
    int i;
    OK(PAT_Repeat(1));
    for (i = 0; i < 20; ++i) {
        compute(i, i % 2);
        OK(PAT_Gather(own, count, MPI_INT, many, count, MPI_INT, ranks - 1, MPI_COMM_WORLD));
        works(MPI_COMM_WORLD); /* only the first after the computation is promised */
    }
    /* The promise is broken by all. */
    compute(0, 0);
    REFUSED(PAT_Gather(own, count, MPI_INT, many, count, MPI_INT, 0, MPI_COMM_WORLD));
    REFUSED(PAT_Gather(own, count, MPI_INT, many, count, MPI_INT, ranks - 1, MPI_COMM_WORLD));
    works(MPI_COMM_SELF);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(PAT_Finalize());
    OK(PAT_Finalize());
    OK(PAT_Init());
    works(MPI_COMM_WORLD);
}

/* Before PAT_Init and after PAT_Finalize. */
static void without_init(void) {
    OK(PAT_Finalize());
    OK(PAT_ProcessingStart());
    if (me == 0) OK(PAT_Edge(0.5)); /* which prepares nothing: other ranks need not call it */
    OK(PAT_ProcessingEnd());
    works(MPI_COMM_SELF);
    right_use();
    OK(PAT_Finalize());
}

int main(int argc, char** argv) {
    int level = 0, x = 0;
    said = tmpfile();
    dup2(fileno(said), 2);
    each_ends_the_program();

    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    without_init();
    OK(PAT_Init());
    works(MPI_COMM_WORLD);
    wrong_order();
    wrong_arguments();
    wrong_communicators();
    right_use();
    repeated();
    right_use();
    if (argc == 1) {
        OK(PAT_Finalize());
        without_init();
    } else {
        OK(PAT_Repeat(1));
        compute(0, 1);
        works(MPI_COMM_WORLD);
        OK(PAT_ProcessingStart());
    }
    MPI_Finalize();
    each_ends_the_program();
    x = checked;
    if (me == 0) printf("%d ranks: %d checks\n", ranks, x);
    return 0;
}
