// Datagrams of a multicast group, which anybody may send to: of each, whether it is of ours and of which call.
#pragma once

#include "engine/multicast_chain.hpp"

#include <cstring>
#include <map>

namespace rubato {

/// What a datagram begins with.
struct datagram_head {
    static constexpr std::uint64_t ours = 0x31206f7461627552;  // "Rubato 1"

    std::uint64_t magic = ours;
    std::uint64_t key = 0;    ///< of the communicator and the job, drawn at random
    std::uint64_t call = 0;   ///< its number
    std::uint64_t bytes = 0;  ///< of the whole message
    std::uint64_t fragment = 0;
};

class RUBATO_API datagram_inbox {
public:
    /// `most`: bytes that are kept for later calls; what is beyond is lost, as if the network had lost it.
    explicit datagram_inbox(std::uint64_t key, std::size_t most = std::size_t{1} << 20) : key_(key), most_(most) {}

    /// From now on this call is under way.
    void begin(std::uint64_t call, std::int64_t bytes);
    /// A datagram that has come. True if it is one of this call; one of a later call is kept, others are dropped.
    bool accept(std::span<const std::byte> raw, multicast_chain::datagram& d);
    /// One of this call that was kept; false if there is none.
    bool take_kept(multicast_chain::datagram& d);

private:
    struct letter {
        datagram_head head;
        std::vector<std::byte> data;
    };
    bool is_of_this_call(const datagram_head& h) const {
        return h.call == call_ && h.bytes == static_cast<std::uint64_t>(bytes_);
    }

    std::uint64_t key_;
    std::size_t most_;
    std::uint64_t call_ = 0;
    std::int64_t bytes_ = 0;
    std::multimap<std::uint64_t, letter> kept_{};  // by call
    std::size_t kept_bytes_ = 0;
    letter taken_{};
};

}  // namespace rubato
