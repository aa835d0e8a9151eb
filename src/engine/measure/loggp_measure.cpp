#include "engine/measure/loggp_measure.hpp"

#include "engine/measure/measured_link.hpp"
#include "engine/mpi/private_communicator.hpp"
#include "rubato/clock.hpp"
#include "rubato/mpi.hpp"

#include <algorithm>
#include <array>

namespace rubato::engine {
namespace {

using namespace std::chrono_literals;

// Shares of the available time.
constexpr int share_of_fan = 20;    // 1/20
constexpr int share_of_large = 10;  // each way
constexpr int most_in_fan = 32;     // ranks, beside the client

std::vector<std::int64_t> message_sizes(std::int64_t most) {
    std::vector<std::int64_t> sizes{1, 8, 32};
    for (std::int64_t s = 128; s <= most; s *= 2)
        for (const std::int64_t bytes : {s, s * 3 / 2})
            if (bytes <= most) sizes.push_back(bytes);
    return sizes;
}

/// The smallest message whose send waits for its receive, to the byte.
std::optional<std::int64_t> find_rendezvous(link_client& link, const std::vector<simulator::round_trips>& sizes) {
    const auto waits = [&](std::int64_t bytes) {
        const auto as_large = std::ranges::lower_bound(sizes, bytes, {}, &simulator::round_trips::bytes);
        const double transfer = simulator::low_quantile(as_large->single).value / 2;
        return link.send_waits(bytes, 5ms + 3 * time_ns(static_cast<time_ns::rep>(transfer)));
    };
    std::int64_t goes = 0;
    for (const simulator::round_trips& size : sizes) {
        if (!waits(size.bytes)) {
            goes = size.bytes;
            continue;
        }
        std::int64_t stays = size.bytes;
        while (stays - goes > 1) {
            const std::int64_t middle = goes + (stays - goes) / 2;
            (waits(middle) ? stays : goes) = middle;
        }
        return stays;
    }
    return std::nullopt;
}

/// 1:n n:1 (II.2.3): RTT(P) for every P up to the number of peers.
class fan_out {
public:
    fan_out(MPI_Comm world, const measure_settings& how) : world_(world), client_(how.client) {
        const int ranks = size_of(world);
        peers_.push_back(how.server);
        for (int r = 0; r < ranks && peers_.size() < most_in_fan; ++r)
            if (r != how.client && r != how.server) peers_.push_back(r);
    }
    std::size_t size() const { return peers_.size(); }
    bool has(int rank) const { return std::ranges::find(peers_, rank) != peers_.end(); }

    /// RTT(P) and P o(P), P = 1, 2, ...
    struct times {
        std::vector<double> round_trips{};
        std::vector<double> sends{};
    };
    times measure(time_ns budget) {
        std::vector<times> all(peers_.size());
        for (std::size_t n = peers_.size(); n > 0; --n) round_trip(n, again);  // connects
        const time_ns end = own_time() + budget;
        const auto& first = all[0].round_trips;
        while (first.size() < 5 || (std::ssize(first) < most_repetitions && own_time() < end)) {
            for (std::size_t n = 1; n <= peers_.size(); ++n) {
                const auto [whole, sent] = round_trip(n, again);
                all[n - 1].round_trips.push_back(whole);
                all[n - 1].sends.push_back(sent);
            }
        }
        round_trip(peers_.size(), last);
        times result;
        for (times& n : all) {
            result.round_trips.push_back(simulator::low_quantile(std::move(n.round_trips)).value);
            result.sends.push_back(simulator::low_quantile(std::move(n.sends)).value);
        }
        return result;
    }
    void serve() const {
        for (char word = again; word != last;) {
            check(MPI_Recv(&word, 1, MPI_CHAR, client_, 0, world_, MPI_STATUS_IGNORE), "MPI_Recv");
            check(MPI_Send(&word, 1, MPI_CHAR, client_, 0, world_), "MPI_Send");
        }
    }

private:
    static constexpr char again = 1;
    static constexpr char last = 0;

    struct timed {
        double whole;
        double sent;  ///< of that, until all messages were handed to MPI
    };
    timed round_trip(std::size_t n, char word) {
        std::vector<char> answers(n);
        requests_.resize(2 * n);
        const time_ns begin = own_time();
        for (std::size_t i = 0; i < n; ++i)
            check(MPI_Irecv(&answers[i], 1, MPI_CHAR, peers_[i], 0, world_, &requests_[i]), "MPI_Irecv");
        const time_ns first = own_time();
        for (std::size_t i = 0; i < n; ++i)
            check(MPI_Isend(&word, 1, MPI_CHAR, peers_[i], 0, world_, &requests_[n + i]), "MPI_Isend");
        const time_ns sent = own_time();
        check(MPI_Waitall(static_cast<int>(2 * n), requests_.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
        return {static_cast<double>((own_time() - begin).count()), static_cast<double>((sent - first).count())};
    }

    MPI_Comm world_;
    int client_;
    std::vector<int> peers_{};
    std::vector<MPI_Request> requests_{};
};

double per_second(time_ns of_large_message) {
    return static_cast<double>(large_message) / std::chrono::duration<double>(of_large_message).count();
}

std::array<std::string, 2> hosts(MPI_Comm pair) {
    std::array<std::array<char, MPI_MAX_PROCESSOR_NAME>, 2> names{};
    std::array<char, MPI_MAX_PROCESSOR_NAME> mine{};
    int length = 0;
    check(MPI_Get_processor_name(mine.data(), &length), "MPI_Get_processor_name");
    check(MPI_Allgather(mine.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, names.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR,
                        pair),
          "MPI_Allgather");
    return {names[0].data(), names[1].data()};
}

}  // namespace

std::optional<measured_network> measure_network(MPI_Comm world, const measure_settings& how) {
    const int me = rank_in(world);
    const bool is_client = me == how.client;
    const bool takes_part = is_client || me == how.server;
    MPI_Comm pair = MPI_COMM_NULL;
    check(MPI_Comm_split(world, takes_part ? 0 : MPI_UNDEFINED, is_client ? 0 : 1, &pair), "MPI_Comm_split");

    // First the parts that need the other ranks, so that these may sleep afterwards.
    measured_network result;
    fan_out fan(world, how);
    if (fan.size() > 1 && is_client) {
        fan_out::times measured = fan.measure(how.budget / share_of_fan);
        result.fan = std::move(measured.round_trips);
        result.fan_sends = std::move(measured.sends);
    }
    if (fan.size() > 1 && fan.has(me)) fan.serve();
    if (!takes_part) return std::nullopt;

    if (is_client) {
        link_client link(pair, how.max_bytes);
        result.sizes = sweep(link, message_sizes(how.max_bytes), how.budget * 7 / 10);
        result.rendezvous = find_rendezvous(link, result.sizes);
        link.stop();
        result.combine = measure_combine();
    } else {
        serve_link(pair, how.max_bytes);
    }
    const auto [client_host, server_host] = hosts(pair);
    result.client_host = client_host;
    result.server_host = server_host;
    {
        mpi::settings quiet;
        quiet.background = false;
        mpi::communicator common(pair, quiet);
        result.goodput_there = per_second(time_large_message(pair, common.clock(), true, how.budget / share_of_large));
        result.goodput_back = per_second(time_large_message(pair, common.clock(), false, how.budget / share_of_large));
        std::int64_t error = common.clock().error_bound().count();
        check(MPI_Allreduce(MPI_IN_PLACE, &error, 1, MPI_INT64_T, MPI_MAX, pair), "MPI_Allreduce");
        result.clock_error = time_ns(error);
    }
    check(MPI_Comm_free(&pair), "MPI_Comm_free");
    if (!is_client) return std::nullopt;
    return result;
}

}  // namespace rubato::engine
