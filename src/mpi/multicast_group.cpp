#include "mpi/multicast_group.hpp"

#include "core/wire.hpp"
#include "mpi/broadcast.hpp"
#include "mpi/private_communicator.hpp"
#include "rubato/clock.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <thread>

namespace rubato::mpi {
namespace {

using namespace std::chrono_literals;

// Before it is used: datagrams of rank 0, and how many of these every other rank must hear.
constexpr std::int64_t probes = 16;
constexpr std::int64_t probes_needed = 9;
constexpr time_ns between_probes = 2ms;  // switches learn only now who is in the group
constexpr time_ns probe_patience = 100ms;
constexpr std::size_t most_networks = 4;

}  // namespace

multicast_group::multicast_group(MPI_Comm comm, const std::vector<std::int32_t>& hosts, const settings& how)
    : comm_(comm), me_(rank_in(comm)), ranks_(size_of(comm)), key_(how.key), inbox_(how.key) {
    why_not_ = find_network(hosts, how);
    if (!why_not_.empty()) socket_.reset();
}

std::string multicast_group::find_network(const std::vector<std::int32_t>& hosts, const settings& how) {
    if (std::ranges::count(hosts, hosts.front()) == std::ssize(hosts)) return "all ranks are on one host";
    // Not by `hosts`: there the user may have named parts of a machine.
    const std::vector<std::int32_t> machines = hosts_of(comm_);
    const bool has_neighbours = std::ranges::count(machines, machines[static_cast<std::size_t>(me_)]) > 1;
    std::string why = "rank 0 has no interface for multicast";
    const std::string named = broadcast(comm_, how.interface_name);
    const found all = candidates(named);
    for (const candidate& i : all.to_try) {
        if (i)
            why = open(*i, has_neighbours);
        else if (named.empty())
            why = "it has no interface for multicast in the network of rank 0";
        else
            why = fmt::format("no interface '{}' is up and has an IPv4 address", named);
        why = first_trouble(why);
        if (!why.empty()) continue;
        std::int64_t mtu = i->mtu;
        check(PMPI_Allreduce(MPI_IN_PLACE, &mtu, 1, MPI_INT64_T, MPI_MIN, comm_), "MPI_Allreduce");
        fragment_ = fragment_bytes(mtu);
        if (!how.insist) why = first_trouble(probe(i->name));
        if (why.empty()) return {};
    }
    if (all.others > 0)
        why += fmt::format(
            "; not tried: {} more of rank 0's networks (RUBATO_MULTICAST_INTERFACE names an interface of one)",
            all.others);
    return why;
}

multicast_group::found multicast_group::candidates(const std::string& named) {
    if (!named.empty()) return {{interface_named(named)}};
    const std::vector<network_interface> mine = multicast_interfaces();
    struct {
        std::int64_t number;
        std::array<std::int64_t, most_networks> address, mask;
    } networks{std::ssize(mine), {}, {}};
    for (std::size_t i = 0; i < std::min(mine.size(), most_networks); ++i) {
        networks.address[i] = mine[i].network();
        networks.mask[i] = mine[i].mask;
    }
    check(PMPI_Bcast(&networks, numbers_in(networks), MPI_INT64_T, 0, comm_), "MPI_Bcast");
    found all;
    all.others = std::max<std::int64_t>(0, networks.number - static_cast<std::int64_t>(most_networks));
    for (std::size_t i = 0; i < most_networks && networks.mask[i] != 0; ++i) {
        const auto same = std::ranges::find_if(mine, [&](const network_interface& n) {
            return n.network() == networks.address[i] && n.mask == networks.mask[i];
        });
        all.to_try.push_back(same == mine.end() ? candidate() : *same);
    }
    return all;
}

std::string multicast_group::advice() const {
    if (!socket_ || socket_->buffer() >= wanted_buffer / 4) return {};
    return fmt::format("its socket holds {} for a late rank; 'sysctl -w net.core.rmem_max={}' allows more",
                       format_bytes(socket_->buffer()), wanted_buffer);
}

/// What is wrong on this rank.
std::string multicast_group::open(const network_interface& i, bool has_neighbours) {
    try {
        socket_.emplace(i, key_, has_neighbours);
    } catch (const error& e) {
        return e.what();
    }
    return {};
}

/// Whether datagrams of rank 0 come here, as long as those with data. Whether those of other roots do shows while calls
/// are made.
std::string multicast_group::probe(const std::string& interface) {
    begin(0, probes * fragment_);
    check(PMPI_Barrier(comm_), "MPI_Barrier");  // all are in the group
    if (me_ == 0) {
        const std::vector<std::byte> nothing(static_cast<std::size_t>(fragment_));
        for (std::int64_t n = 0; n < probes; ++n) {
            (void)cast({n, nothing});
            std::this_thread::sleep_for(between_probes);
        }
        return {};
    }
    std::int64_t heard = 0;
    for (const time_ns end = own_time() + probe_patience;; std::this_thread::sleep_for(1ms)) {
        const bool last = own_time() > end;
        for (multicast_chain::datagram d; hear(d);) heard += std::ssize(d.data) == fragment_ ? 1 : 0;
        if (heard >= probes_needed) return {};
        if (last) return fmt::format("of {} datagrams of rank 0, {} came through {}", probes, heard, interface);
    }
}

/// Of the first rank that has one; empty if none has.
std::string multicast_group::first_trouble(const std::string& mine) const {
    int first = mine.empty() ? ranks_ : me_;
    check(PMPI_Allreduce(MPI_IN_PLACE, &first, 1, MPI_INT, MPI_MIN, comm_), "MPI_Allreduce");
    if (first == ranks_) return {};
    return fmt::format("rank {}: {}", first, broadcast(comm_, mine, first));
}

void multicast_group::begin(std::uint64_t call, std::int64_t bytes) {
    call_ = call;
    bytes_ = bytes;
    inbox_.begin(call, bytes);
}

bool multicast_group::cast(const multicast_chain::datagram& d) {
    datagram_head head;
    head.key = key_;
    head.call = call_;
    head.bytes = static_cast<std::uint64_t>(bytes_);
    head.fragment = static_cast<std::uint64_t>(d.fragment);
    return socket_->send(head, d.data);
}

bool multicast_group::hear(multicast_chain::datagram& d) {
    if (inbox_.take_kept(d)) return true;
    for (std::span<const std::byte> raw; socket_->receive(raw);)
        if (inbox_.accept(raw, d)) return true;
    return false;
}

}  // namespace rubato::mpi
