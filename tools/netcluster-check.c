// Is the emulated network as fast as it should be? Compares measured times of simple patterns with what the links
// allow. Called by tools/netcluster check with one rank per host: BITS_PER_SECOND MTU RACKS UPLINK_BITS_PER_SECOND
// UPLINKS.
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { repetitions = 7, segments = 32, most_uplinks = 16 };

static int ranks, me, racks, uplinks;
static double link_rate, uplink_rate;  // bytes of data per second
static double packet_time;             // on a host's link
static double acknowledgements;        // what these add to the time of a link that carries data both ways
static int segment;                    // bytes; messages below 64 KiB are sent at once, without asking the receiver
static char* buffer;
static MPI_Request requests[(1 + most_uplinks) * segments];

static double now(void) {  // the same on all ranks: they are on one machine
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void sleep_until(double when) {
    const struct timespec t = {(time_t)when, (long)(1e9 * (when - (double)(time_t)when))};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static int rack_of(int rank) { return rank * racks / ranks; }

static double rate_between(int a, int b) {
    return rack_of(a) != rack_of(b) && uplink_rate < link_rate ? uplink_rate : link_rate;
}

// A switch sends a packet on when it has all of it.
static double switches_between(int a, int b) { return (rack_of(a) == rack_of(b) ? 1 : 3) * packet_time; }

static double max(double a, double b) { return a > b ? a : b; }
static int last(void) { return ranks - 1; }

static char* place(int i) { return buffer + (size_t)i * (size_t)segment; }

// Many small messages at once, so that only the network limits.
static int start_sending(int to, int used) {
    for (int i = 0; i < segments; ++i) MPI_Isend(place(i), segment, MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[used++]);
    return used;
}

static int start_receiving(int from, int used) {
    for (int i = 0; i < segments; ++i, ++used)
        MPI_Irecv(place(segments + used), segment, MPI_BYTE, from, i, MPI_COMM_WORLD, &requests[used]);
    return used;
}

static void one_way(void) {  // from the first to the last: through the uplinks if there are any
    int used = 0;
    if (me == 0) used = start_sending(last(), 0);
    if (me == last()) used = start_receiving(0, 0);
    MPI_Waitall(used, requests, MPI_STATUSES_IGNORE);
}

static double one_way_expected(void) {
    return segments * segment / rate_between(0, last()) + switches_between(0, last());
}

static void ring(void) {
    int used = start_receiving((me + ranks - 1) % ranks, 0);
    used = start_sending((me + 1) % ranks, used);
    MPI_Waitall(used, requests, MPI_STATUSES_IGNORE);
}

static double ring_expected(void) {
    double slowest = link_rate;
    for (int r = 0; r < ranks; ++r) slowest = -max(-slowest, -rate_between(r, (r + 1) % ranks));
    return acknowledgements * segments * segment / slowest;
}

static void incast(void) {
    const int rounds = segments / last() + 1;
    for (int k = 0; k < rounds; ++k)
        if (me != 0) MPI_Send(buffer, segment, MPI_BYTE, 0, k, MPI_COMM_WORLD);
    for (int k = 0; me == 0 && k < rounds; ++k)
        for (int r = 1; r < ranks; ++r) MPI_Recv(buffer, segment, MPI_BYTE, r, k, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static double incast_expected(void) {
    int outside = 0;
    for (int r = 1; r < ranks; ++r) outside += rack_of(r) != rack_of(0);
    const int from_each = segments / last() + 1;
    const double each = (double)from_each * segment;
    return max(last() * each / link_rate, outside * each / uplink_rate);
}

static void chain(void) {  // a segment is passed on when all of it has come
    int used = me == 0 ? 0 : start_receiving(me - 1, 0);
    for (int i = 0; i < segments; ++i) {
        if (me != 0) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        if (me != last())
            MPI_Isend(place(segments + i), segment, MPI_BYTE, me + 1, i, MPI_COMM_WORLD, &requests[used++]);
    }
    MPI_Waitall(used, requests, MPI_STATUSES_IGNORE);
}

static double chain_expected(void) {
    double first_segment = 0;
    double slowest = 0;
    for (int r = 0; r < last(); ++r) {
        const double hop = segment / rate_between(r, r + 1);
        first_segment += hop + switches_between(r, r + 1);
        slowest = max(slowest, hop);
    }
    return (ranks > 2 ? acknowledgements : 1) * (first_segment + (segments - 1) * slowest);
}

// Each sends to the next rack: its i-th host to the i-th there, so that messages take the uplinks in turn...
static int partner(int from) { return (from + ranks / racks) % ranks; }
// ... or to the i-th of those to which messages take the same uplink.
static int partner_by_one_uplink(int from) {
    const int inside = ranks / racks;
    const int first = partner(from - from % inside);
    return first + from % inside * uplinks % inside;
}

static void send_to(int (*to)(int)) {
    int used = 0;
    for (int r = 0; r < ranks; ++r)
        if (to(r) == me) used = start_receiving(r, used);
    MPI_Waitall(start_sending(to(me), used), requests, MPI_STATUSES_IGNORE);
}

static double expected_to(int (*to)(int)) {
    double longest = 0;
    for (int r = 0; r < ranks; ++r) {
        int into = 0;    // the same host
        int beside = 0;  // from the same rack, by the same uplink
        for (int s = 0; s < ranks; ++s) {
            into += to(s) == to(r);
            beside += rack_of(s) == rack_of(r) && to(s) % uplinks == to(r) % uplinks;
        }
        longest = max(longest, max(into / link_rate, beside / uplink_rate));
    }
    return acknowledgements * segments * segment * longest;
}

static void across(void) { send_to(partner); }
static void by_one_uplink(void) { send_to(partner_by_one_uplink); }

static int ascending(const void* a, const void* b) {
    const double x = *(const double*)a;
    const double y = *(const double*)b;
    return (x > y) - (x < y);
}

// Of the last exit, counted from a start that all ranks agree on; the median, without the first, which opens windows.
static double time_of(void (*pattern)(void)) {
    double times[repetitions];
    for (int k = 0; k < repetitions; ++k) {
        MPI_Barrier(MPI_COMM_WORLD);
        double start = now() + 0.02;
        MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        sleep_until(start);
        pattern();
        const double took = now() - start;
        MPI_Allreduce(&took, &times[k], 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    }
    qsort(times + 1, repetitions - 1, sizeof *times, ascending);
    return times[repetitions / 2 + 1];
}

static int compare(const char* name, void (*pattern)(void), double expected) {
    const double measured = time_of(pattern);
    const double ratio = measured / expected;
    const int good = ratio >= 0.9 && ratio <= 1.1;
    if (me == 0)
        printf("%-10s %8.2f ms %8.2f ms %7.3f%s\n", name, 1e3 * measured, 1e3 * expected, ratio, good ? "" : "  off");
    return good;
}

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &me);
    if (argc != 6 || ranks < 2) {
        if (me == 0)
            fprintf(stderr, "netcluster_check: to be called by 'tools/netcluster check', on two hosts or more\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    // Of a packet, 52 bytes are headers of IP and TCP, beside 14 of Ethernet. Each second packet is acknowledged by an
    // empty one.
    const double mtu = atof(argv[2]);
    const double share = (mtu - 52) / (mtu + 14);
    link_rate = atof(argv[1]) / 8 * share;
    uplink_rate = atof(argv[4]) / 8 * share;
    packet_time = (mtu - 52) / link_rate;
    racks = atoi(argv[3]);
    uplinks = atoi(argv[5]);
    acknowledgements = 1 + 66 / (2 * (mtu + 14));
    segment = (int)(link_rate * 0.085 / segments);  // 85 ms for all of them
    if (segment > 32768) segment = 32768;
    buffer = calloc((size_t)(1 + most_uplinks) * segments, (size_t)segment);
    if (!buffer) MPI_Abort(MPI_COMM_WORLD, 1);

    if (me == 0) printf("%-10s %11s %11s %7s\n", "PATTERN", "MEASURED", "EXPECTED", "RATIO");
    int good = compare("one-way", one_way, one_way_expected());
    good &= compare("ring", ring, ring_expected());
    good &= compare("incast", incast, incast_expected());
    good &= compare("chain", chain, chain_expected());
    if (racks > 0 && ranks % racks == 0 && ranks > racks) {
        good &= compare("racks", across, expected_to(partner));
        if (uplinks > 1) good &= compare("one uplink", by_one_uplink, expected_to(partner_by_one_uplink));
    }
    if (me == 0 && !good) printf("More than 10 %% off: do not believe times measured here (docs/netcluster.md).\n");
    free(buffer);
    MPI_Finalize();
    return good ? 0 : 1;
}
