// The multicast group of a communicator: its ranks agree on a network, and try whether datagrams come through.
#pragma once

#include "engine/execute/multicast_chain.hpp"

#include <mpi.h>

#include <optional>
#include <string>

namespace rubato::engine {

/// With an IPv4 address.
struct network_interface {
    std::string name{};
    int index = 0;
    std::uint32_t address = 0;
    std::uint32_t mask = 0;
    std::int64_t mtu = 0;

    std::uint32_t network() const { return address & mask; }
};
/// Those that are up and can multicast, without loopback.
std::vector<network_interface> multicast_interfaces();
/// Any that is up.
std::optional<network_interface> interface_named(const std::string& name);

/// The bytes of a fragment, so that a datagram is one packet.
std::int64_t fragment_bytes(std::int64_t mtu);

/// Bytes, for a rank that comes late; the system may give less.
inline constexpr int wanted_buffer = 8 << 20;

/// A socket in a multicast group, on one of the host's interfaces.
class multicast_socket {
public:
    /// Group and port follow from the key. `to_this_host`: other ranks of this host hear it, too. Throws if a call of
    /// the system fails.
    multicast_socket(const network_interface& on, std::uint64_t key, bool to_this_host);
    ~multicast_socket();
    multicast_socket(const multicast_socket&) = delete;
    multicast_socket& operator=(const multicast_socket&) = delete;

    /// False if there is no room for it now. What the system refuses to send counts as sent and lost.
    bool send(const datagram_head& head, std::span<const std::byte> data);
    /// The next datagram, whoever sent it, until the next call; false if there is none.
    bool receive(std::span<const std::byte>& raw);

    /// The bytes that the system gives its buffer.
    std::int64_t buffer() const;
    std::uint64_t sent() const { return sent_; }
    std::uint64_t received() const { return received_; }

private:
    std::uint64_t key_;
    int socket_ = -1;
    std::vector<std::byte> buffer_;
    std::uint64_t sent_ = 0;
    std::uint64_t received_ = 0;
};

class multicast_group {
public:
    struct settings {
        std::uint64_t key = 0;         ///< equal on all ranks, and different from those of other groups
        std::string interface_name{};  ///< rank 0's; empty: found
        bool insist = false;           ///< use it whatever is lost; equal on all ranks
    };
    /// Collective over `comm`, which must be ours. The hosts of its ranks are as problem::hosts has them.
    multicast_group(MPI_Comm comm, const std::vector<std::int32_t>& hosts, const settings& how);

    /// Why it does not work, the same on all ranks; empty if it does.
    const std::string& why_not() const { return why_not_; }
    /// What is to be changed on this host so that less is lost; empty if nothing is known.
    std::string advice() const;
    /// The bytes of a fragment; equal on all ranks.
    std::int64_t fragment() const { return fragment_; }

    /// From now on this call is under way.
    void begin(std::uint64_t call, std::int64_t bytes);
    /// See multicast_chain::post.
    bool cast(const multicast_chain::datagram& d);
    bool hear(multicast_chain::datagram& d);

    std::uint64_t sent() const { return socket_ ? socket_->sent() : 0; }
    std::uint64_t received() const { return socket_ ? socket_->received() : 0; }

private:
    using candidate = std::optional<network_interface>;
    struct found {
        std::vector<candidate> to_try{};  // equally many on all ranks; none where this rank has none in that network
        std::int64_t others = 0;          // of rank 0, that are not tried
    };

    std::string find_network(const std::vector<std::int32_t>& hosts, const settings& how);
    found candidates(const std::string& named);
    std::string open(const network_interface& i, bool has_neighbours);
    std::string probe(const std::string& interface);
    std::string first_trouble(const std::string& mine) const;

    MPI_Comm comm_;
    int me_;
    int ranks_;
    std::uint64_t key_;
    std::optional<multicast_socket> socket_{};
    std::int64_t fragment_ = 0;
    datagram_inbox inbox_;
    std::uint64_t call_ = 0;
    std::int64_t bytes_ = 0;
    std::string why_not_{};
};

}  // namespace rubato::engine
