#include "engine/measure/measured_link.hpp"

#include "engine/mpi/datatype.hpp"
#include "engine/mpi/mpi_transport.hpp"
#include "engine/mpi/private_communicator.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <thread>

namespace rubato::engine {
namespace {

enum class job : std::int64_t { stop, round_trip, late_receive };

struct order {
    job what{};
    std::int64_t messages = 0;
    std::int64_t bytes = 0;
    std::int64_t patience = 0;  // ns
};
constexpr int order_bytes = sizeof(order);

constexpr int client = 0;
constexpr int server = 1;

void send(MPI_Comm pair, int to, const void* data, std::int64_t bytes) {
    check(MPI_Send(data, static_cast<int>(bytes), MPI_BYTE, to, 0, pair), "MPI_Send");
}

void receive(MPI_Comm pair, int from, void* data, std::int64_t bytes) {
    check(MPI_Recv(data, static_cast<int>(bytes), MPI_BYTE, from, 0, pair, MPI_STATUS_IGNORE), "MPI_Recv");
}

void tell(MPI_Comm pair, const order& o) {
    send(pair, server, &o, order_bytes);
    receive(pair, server, nullptr, 0);
}

/// Computes, as in II.2.4.2.1: a sleep would take longer than asked for.
time_ns spin(time_ns delay) {
    const time_ns begin = own_time();
    time_ns passed{};
    while (passed < delay) passed = own_time() - begin;
    return passed;
}

/// Calls MPI without receiving: a message that needs only the receiver's progress does not wait.
void idle(MPI_Comm pair, time_ns patience) {
    constexpr int never_sent = 1;
    for (const time_ns end = own_time() + patience; own_time() < end;) {
        int there = 0;
        MPI_Iprobe(client, never_sent, pair, &there, MPI_STATUS_IGNORE);
        std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
}

constexpr int share_of_warm_up = 20;  // 1/20 of the available time
constexpr int warm_ups = 5;

/// One size. Its cost is estimated by the fastest repetition, so that a disturbed one does not use up its time.
struct sweep_entry {
    simulator::round_trips times{};
    bool spaced = true;
    double single = std::numeric_limits<double>::infinity();
    time_ns fastest = time_ns::max();  // a repetition in all
};

/// Where a round trip is long, bursts are shorter, and o is not measured: a burst of a few could not separate it from
/// noise. If the round trip was only disturbed, a later one shows that, and bursts begin again.
void fit_in(sweep_entry& e, time_ns share) {
    const int before = e.times.messages;
    struct way {
        int messages;
        bool spaced;
    };
    for (const way w : {way{16, true}, {8, true}, {16, false}, {8, false}, {4, false}, {2, false}}) {
        e.times.messages = w.messages;
        e.spaced = w.spaced;
        const double trips = 1 + (w.messages + 1) / 2. + (w.spaced ? 2 * w.messages : 0);
        if (e.single * trips * 3 < static_cast<double>(share.count())) break;
    }
    if (e.times.messages == before) return;
    e.times.burst.clear();
    e.times.spaced.clear();
}

void measure_once(link_client& link, sweep_entry& e, time_ns share) {
    simulator::round_trips& t = e.times;
    const time_ns begin = own_time();
    const double single = link.round_trip(1, {}, t.bytes);
    e.single = std::min(e.single, single);
    fit_in(e, share);
    const double burst = link.round_trip(t.messages, {}, t.bytes);
    t.single.push_back(single);
    t.burst.push_back(burst);
    if (e.spaced) {
        const double gap = (burst - single) / (t.messages - 1);
        const time_ns delay(static_cast<time_ns::rep>(std::max(single, gap)));
        t.spaced.push_back(link.round_trip(t.messages, delay, t.bytes));
    }
    e.fastest = std::min(e.fastest, own_time() - begin);
}

constexpr std::int64_t longer_message = 16 << 10;

/// The shortest of some round trips: what disturbs only makes them longer.
double shortest_round_trip(link_client& link, std::int64_t bytes, int least, time_ns end) {
    constexpr int most = 10;
    double shortest = std::numeric_limits<double>::max();
    for (int i = 0; i < least || (i < most && own_time() < end); ++i)
        shortest = std::min(shortest, link.round_trip(1, {}, bytes));
    return shortest;
}

/// Latency from messages of a byte, of which half is taken for the processors' part; time per byte from two sizes, both
/// too long to be passed on at once by what a network has in store.
loggp quick_fit(link_client& link, time_ns budget) {
    const time_ns end = own_time() + budget;
    const double nothing = shortest_round_trip(link, 1, 3, end - budget * 9 / 10);
    const double shorter = shortest_round_trip(link, longer_message / 4, 2, end - budget * 6 / 10);
    const double longer = shortest_round_trip(link, longer_message, 1, end);
    loggp m;
    m.o = m.g = nothing / 8;
    m.L = nothing / 4;
    m.G = std::max((longer - shorter) / 2 / (0.75 * static_cast<double>(longer_message)), 1e-3);
    m.combine = measure_combine(10).value;
    m.rendezvous = 64 << 10;  // from there on MPI libraries wait for the receiver
    return m;
}

/// Ranks 0 and `other`, who alone take part.
MPI_Comm pair_of(MPI_Comm comm, int other) {
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group two = MPI_GROUP_NULL;
    MPI_Comm pair = MPI_COMM_NULL;
    const std::array<int, 2> ranks{0, other};
    check(MPI_Comm_group(comm, &all), "MPI_Comm_group");
    check(MPI_Group_incl(all, 2, ranks.data(), &two), "MPI_Group_incl");
    // Open MPI sends messages with this tag on `comm`, where calls may be under way.
    const int code = MPI_Comm_create_group(comm, two, tag_layout(tag_upper_bound()).beside(3), &pair);
    MPI_Group_free(&two);
    MPI_Group_free(&all);
    check(code, "MPI_Comm_create_group");
    return pair;
}

}  // namespace

link_client::link_client(MPI_Comm pair, std::int64_t max_bytes)
    : pair_(pair), out_(static_cast<std::size_t>(max_bytes), std::byte{1}), in_(out_) {}

double link_client::round_trip(int messages, time_ns delay, std::int64_t bytes) {
    tell(pair_, {job::round_trip, messages, bytes});
    time_ns delays{};
    const time_ns begin = own_time();
    send(pair_, server, out_.data(), bytes);
    for (int i = 1; i < messages; ++i) {
        if (delay > time_ns{}) delays += spin(delay);
        send(pair_, server, out_.data(), bytes);
    }
    receive(pair_, server, in_.data(), bytes);
    return static_cast<double>((own_time() - begin - delays).count());
}

bool link_client::send_waits(std::int64_t bytes, time_ns patience) {
    for (int i = 0; i < 3; ++i) {  // once may be chance
        tell(pair_, {job::late_receive, 1, bytes, patience.count()});
        const time_ns begin = own_time();
        send(pair_, server, out_.data(), bytes);
        if (own_time() - begin < patience * 3 / 4) return false;
    }
    return true;
}

void link_client::stop() { tell(pair_, {}); }

void serve_link(MPI_Comm pair, std::int64_t max_bytes) {
    std::vector<std::byte> data(static_cast<std::size_t>(max_bytes), std::byte{1});
    order o{job::round_trip};
    while (o.what != job::stop) {
        receive(pair, client, &o, order_bytes);
        send(pair, client, nullptr, 0);
        if (o.what == job::late_receive) idle(pair, time_ns(o.patience));
        for (std::int64_t i = 0; i < o.messages; ++i) receive(pair, client, data.data(), o.bytes);
        if (o.what == job::round_trip) send(pair, client, data.data(), o.bytes);
    }
}

time_ns time_large_message(MPI_Comm pair, const common_clock& clock, bool there, time_ns budget) {
    const int me = rank_in(pair);
    const int other = 1 - me;
    std::vector<std::byte> data(large_message, std::byte{1});
    const time_ns end = own_time() + budget;
    time_ns best = time_ns::max();
    int again = 4;
    while (again-- > 0) {
        MPI_Barrier(pair);
        std::int64_t mine = clock.now().count();
        if ((me == client) == there) {
            send(pair, other, data.data(), large_message);
        } else {
            receive(pair, other, data.data(), large_message);
            mine = clock.now().count();
        }
        std::int64_t others = 0;
        MPI_Sendrecv(&mine, 1, MPI_INT64_T, other, 0, &others, 1, MPI_INT64_T, other, 0, pair, MPI_STATUS_IGNORE);
        best = std::min(best, time_ns(std::abs(mine - others)));
        if (own_time() > end) again = 0;
        PMPI_Bcast(&again, 1, MPI_INT, client, pair);
    }
    return best;
}

std::vector<simulator::round_trips> sweep(link_client& link, std::span<const std::int64_t> sizes, time_ns budget,
                                          int repetitions) {
    const time_ns begin = own_time();
    std::vector<sweep_entry> entries;
    for (const std::int64_t bytes : sizes) entries.push_back({{bytes}});
    for (int i = 0; i < warm_ups; ++i)
        for (sweep_entry& e : entries)
            if (own_time() - begin < budget / share_of_warm_up)
                e.single = std::min(e.single, link.round_trip(1, {}, e.times.bytes));
    const time_ns share = budget / static_cast<time_ns::rep>(entries.size());
    for (bool more = true; more;) {
        more = false;
        for (sweep_entry& e : entries) {
            const auto done = static_cast<time_ns::rep>(e.times.single.size());
            const bool enough = done == repetitions || own_time() - begin > budget || e.fastest > share / (done + 1);
            if (done > 0 && enough) continue;
            measure_once(link, e, share);
            more = true;
        }
    }
    std::vector<simulator::round_trips> all;
    all.reserve(entries.size());
    for (sweep_entry& e : entries) all.push_back(std::move(e.times));
    return all;
}

simulator::reading measure_combine(int repetitions) {
    constexpr int count = 64 << 7;  // 64 KiB
    constexpr int unused = 10;
    std::vector<double> left(count, 1e-9), into(count, 1.), times;
    for (int i = 0; i < repetitions + unused; ++i) {
        const time_ns begin = own_time();
        MPI_Reduce_local(left.data(), into.data(), count, MPI_DOUBLE, MPI_SUM);
        if (i >= unused) times.push_back(static_cast<double>((own_time() - begin).count()));
    }
    const simulator::reading all = simulator::low_quantile(std::move(times));
    constexpr double bytes = count * sizeof(double);
    return {all.value / bytes, all.spread / bytes};
}

model measure_model(MPI_Comm comm, int other, time_ns budget) {
    const int me = rank_in(comm);
    model m;
    if (me == 0 || me == other) {
        MPI_Comm pair = pair_of(comm, other);
        check(MPI_Comm_set_errhandler(pair, MPI_ERRORS_ARE_FATAL), "MPI_Comm_set_errhandler");
        if (me == 0) {
            link_client link(pair, longer_message);
            m.network = quick_fit(link, budget);
            link.stop();
        } else {
            serve_link(pair, longer_message);
        }
        check(MPI_Comm_free(&pair), "MPI_Comm_free");
    }
    return parse_model(broadcast(comm, me == 0 ? to_string(m) : std::string()));
}

}  // namespace rubato::engine
