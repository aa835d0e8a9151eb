// A socket in a multicast group, on one of the host's interfaces.
#pragma once

#include "engine/datagram_inbox.hpp"

#include <optional>
#include <string>

namespace rubato::mpi {

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

}  // namespace rubato::mpi
