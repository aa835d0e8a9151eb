#include "network/mpi/link_sweep.hpp"

#include "mpi/broadcast.hpp"
#include "mpi/mpi_transport.hpp"
#include "mpi/private_communicator.hpp"

#include <algorithm>
#include <array>
#include <limits>

namespace rubato::mpi {
namespace {

constexpr int share_of_warm_up = 20;  // 1/20 of the available time
constexpr int warm_ups = 5;

/// One size. Its cost is estimated by the fastest repetition, so that a disturbed one does not use up its time.
struct sweep_entry {
    round_trips times{};
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
    round_trips& t = e.times;
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

}  // namespace

std::vector<round_trips> sweep(link_client& link, std::span<const std::int64_t> sizes, time_ns budget,
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
    std::vector<round_trips> all;
    all.reserve(entries.size());
    for (sweep_entry& e : entries) all.push_back(std::move(e.times));
    return all;
}

reading measure_combine(int repetitions) {
    constexpr int count = 64 << 7;  // 64 KiB
    constexpr int unused = 10;
    std::vector<double> left(count, 1e-9), into(count, 1.), times;
    for (int i = 0; i < repetitions + unused; ++i) {
        const time_ns begin = own_time();
        MPI_Reduce_local(left.data(), into.data(), count, MPI_DOUBLE, MPI_SUM);
        if (i >= unused) times.push_back(static_cast<double>((own_time() - begin).count()));
    }
    const reading all = low_quantile(std::move(times));
    constexpr double bytes = count * sizeof(double);
    return {all.value / bytes, all.spread / bytes};
}

namespace {

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

model measure_model(MPI_Comm comm, int other, time_ns budget) {
    int me = 0;
    check(MPI_Comm_rank(comm, &me), "MPI_Comm_rank");
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

}  // namespace rubato::mpi
