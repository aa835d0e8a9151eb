#include "engine/mpi/multicast_group.hpp"

#include "base/core/hosts.hpp"
#include "base/core/wire.hpp"
#include "engine/mpi/private_communicator.hpp"
#include "rubato/clock.hpp"

#include <fmt/format.h>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <functional>
#include <memory>
#include <system_error>
#include <thread>

namespace rubato::engine {
namespace {

using namespace std::chrono_literals;

// Before it is used: datagrams of rank 0, and how many of these every other rank must hear.
constexpr std::int64_t probes = 16;
constexpr std::int64_t probes_needed = 9;
constexpr time_ns between_probes = 2ms;  // switches learn only now who is in the group
constexpr time_ns probe_patience = 100ms;
constexpr std::size_t most_networks = 4;

error system_error(const std::string& what) {
    return {what, std::generic_category().message(errno), "name another interface by RUBATO_MULTICAST_INTERFACE"};
}

std::int64_t mtu_of(const std::string& name) {
    ifreq request{};
    name.copy(static_cast<char*>(request.ifr_name), IFNAMSIZ - 1);
    const int any = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    const bool known = any >= 0 && ioctl(any, SIOCGIFMTU, &request) == 0;
    if (any >= 0) close(any);
    return known ? request.ifr_mtu : 0;
}

std::vector<network_interface> interfaces(const std::function<bool(const std::string&, unsigned)>& wanted) {
    ifaddrs* first = nullptr;
    if (getifaddrs(&first) != 0) return {};
    const std::unique_ptr<ifaddrs, decltype(&freeifaddrs)> all(first, freeifaddrs);
    std::vector<network_interface> found;
    for (const ifaddrs* i = first; i != nullptr; i = i->ifa_next) {
        if (i->ifa_addr == nullptr || i->ifa_addr->sa_family != AF_INET || i->ifa_netmask == nullptr) continue;
        if ((i->ifa_flags & IFF_UP) == 0 || !wanted(i->ifa_name, i->ifa_flags)) continue;
        const auto number = [](const sockaddr* a) {
            return ntohl(reinterpret_cast<const sockaddr_in*>(a)->sin_addr.s_addr);
        };
        found.push_back({i->ifa_name, static_cast<int>(if_nametoindex(i->ifa_name)), number(i->ifa_addr),
                         number(i->ifa_netmask), mtu_of(i->ifa_name)});
    }
    return found;
}

/// Of the block for use within an organisation (RFC 2365), none of whose groups shares its Ethernet address with a
/// group that switches send everywhere.
sockaddr_in group_of(std::uint64_t key) {
    sockaddr_in group{};
    group.sin_family = AF_INET;
    group.sin_addr.s_addr = htonl(0xefc00000U | static_cast<std::uint32_t>(key & 0x3ffffU));
    constexpr std::uint64_t first_port = 20000;
    constexpr std::uint64_t ports = 12000;  // below those that systems give to anybody
    group.sin_port = htons(static_cast<std::uint16_t>(first_port + (key >> 18) % ports));
    return group;
}

constexpr std::int64_t headers = 28;           // of IP and UDP
constexpr std::int64_t largest_packet = 9000;  // what is longer, as on loopback, loses too much at once

}  // namespace

multicast_group::multicast_group(MPI_Comm comm, const std::vector<std::int32_t>& hosts, const settings& how)
    : comm_(comm), me_(rank_in(comm)), ranks_(size_of(comm)), key_(how.key), inbox_(how.key) {
    why_not_ = find_network(hosts, how);
    if (!why_not_.empty()) socket_.reset();
}

std::string multicast_group::find_network(const std::vector<std::int32_t>& hosts, const settings& how) {
    if (!base::on_several_hosts(hosts)) return "all ranks are on one host";
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
    check(PMPI_Bcast(&networks, base::numbers_in(networks), MPI_INT64_T, 0, comm_), "MPI_Bcast");
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

std::vector<network_interface> multicast_interfaces() {
    return interfaces(
        [](const std::string&, unsigned flags) { return (flags & IFF_MULTICAST) != 0 && (flags & IFF_LOOPBACK) == 0; });
}

std::optional<network_interface> interface_named(const std::string& name) {
    const auto found = interfaces([&name](const std::string& n, unsigned) { return n == name; });
    if (found.empty()) return {};
    return found.front();
}

std::int64_t fragment_bytes(std::int64_t mtu) {
    return std::min(mtu, largest_packet) - headers - static_cast<std::int64_t>(sizeof(datagram_head));
}

multicast_socket::multicast_socket(const network_interface& on, std::uint64_t key, bool to_this_host)
    : key_(key), buffer_(largest_packet) {
    constexpr std::int64_t least_mtu = 576;
    if (on.mtu < least_mtu)
        throw error(fmt::format("packets of {} bytes on {}", on.mtu, on.name), "they are too short for multicast",
                    "name another interface by RUBATO_MULTICAST_INTERFACE");
    socket_ = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (socket_ < 0) throw system_error("no socket for multicast");
    const auto set = [this](int level, int option, const auto& value) {
        return setsockopt(socket_, level, option, &value, sizeof value) == 0;
    };
    const sockaddr_in group = group_of(key_);
    ip_mreqn member{};
    member.imr_multiaddr = group.sin_addr;
    member.imr_ifindex = on.index;
    // The larger buffer needs a right that few processes have.
    if (!set(SOL_SOCKET, SO_RCVBUFFORCE, wanted_buffer)) (void)set(SOL_SOCKET, SO_RCVBUF, wanted_buffer);
    // All ranks of a host hear a group, and a socket hears no other group than its own.
    const bool made = set(SOL_SOCKET, SO_REUSEADDR, 1) &&
                      bind(socket_, reinterpret_cast<const sockaddr*>(&group), sizeof group) == 0 &&
                      set(IPPROTO_IP, IP_MULTICAST_ALL, 0) && set(IPPROTO_IP, IP_ADD_MEMBERSHIP, member) &&
                      set(IPPROTO_IP, IP_MULTICAST_IF, member) && set(IPPROTO_IP, IP_MULTICAST_TTL, 1) &&
                      set(IPPROTO_IP, IP_MULTICAST_LOOP, to_this_host ? 1 : 0);
    if (made) return;
    const error trouble = system_error(fmt::format("no multicast through {}", on.name));
    close(socket_);
    throw error(trouble);
}

multicast_socket::~multicast_socket() { close(socket_); }

std::int64_t multicast_socket::buffer() const {
    int bytes = 0;
    socklen_t size = sizeof bytes;
    if (getsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &bytes, &size) != 0) return 0;
    return bytes / 2;  // Linux tells twice what it was asked for
}

bool multicast_socket::send(const datagram_head& head, std::span<const std::byte> data) {
    std::array<iovec, 2> parts{
        {{const_cast<datagram_head*>(&head), sizeof head}, {const_cast<std::byte*>(data.data()), data.size()}}};
    sockaddr_in group = group_of(key_);
    msghdr message{};
    message.msg_name = &group;
    message.msg_namelen = sizeof group;
    message.msg_iov = parts.data();
    message.msg_iovlen = parts.size();
    ssize_t done = 0;
    do done = sendmsg(socket_, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    while (done < 0 && errno == EINTR);
    if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return false;
    ++sent_;
    return true;
}

bool multicast_socket::receive(std::span<const std::byte>& raw) {
    iovec part{buffer_.data(), buffer_.size()};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    ssize_t size = 0;
    do size = recvmsg(socket_, &message, MSG_DONTWAIT);
    while (size < 0 && errno == EINTR);
    if (size < 0) return false;
    ++received_;
    raw = std::span<const std::byte>(buffer_).first(static_cast<std::size_t>(size));
    return true;
}

}  // namespace rubato::engine
