#include "network/mpi/measured_link.hpp"

#include "mpi/datatype.hpp"

#include <algorithm>
#include <thread>

namespace rubato::mpi {
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
    int me = 0;
    MPI_Comm_rank(pair, &me);
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

}  // namespace rubato::mpi
