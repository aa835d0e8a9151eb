// Broadcast over unreliable multicast in two stages (Hoefler, Siebert, Rehm 2007; Hoefler 2008, II.3.2).
//
// First the root casts all fragments to everybody. Then a reliable chain of ranks, which begins at the root, brings
// what was lost: a rank serves its successor with whatever it has, however that came. A message that is small goes down
// the chain whole, so a rank that has it leaves at once. Of a large one only what is missing goes down the chain. Its
// fragments are grouped in batches:
//
//   over     all of the batch was cast. The root knows it, and whoever has heard the last fragment of the batch or one
//            behind it, or was told
//   lacks    what a rank answers its predecessor when a batch is over: which fragments it lacks, often none
//   pieces   of these fragments, as many as the predecessor has; the rest when it has them
//
// No time-outs, no receipts at the root. A rank waits for what it lacks, and in a large message for its successor's
// answers. It also waits for all pieces that it has asked for, though it may hear them meanwhile: they may be so long
// that the predecessor cannot leave before they are taken. A rank may leave before it is told that a batch is over, so
// notes of calls that have ended may still come: the post drops them.
//
// Cost: a multicast of s bytes; where a share e of it is lost, e s G more on the root's link, and the time of a message
// for every rank in the longest row of ranks that lack the same fragment. If all is lost: a pipelined chain at half
// speed.
//
// Rank counts: any.
#pragma once

#include "rubato/core.hpp"

#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace rubato::engine {

/// How a message is cut; equal on all ranks.
struct RUBATO_API fragmentation {
    std::int64_t bytes = 0;
    std::int64_t fragment_bytes = 1;  ///< of all fragments but the last
    std::int64_t per_batch = 1;       ///< fragments, at most 64
    bool whole = false;               ///< small: one batch, which goes down the chain whole

    std::int64_t fragments() const { return (bytes + fragment_bytes - 1) / fragment_bytes; }
    std::int64_t batches() const { return (fragments() + per_batch - 1) / per_batch; }
    /// How many fragments a batch has.
    std::int64_t fragments_in(std::int64_t batch) const;
    std::int64_t offset(std::int64_t fragment) const { return fragment * fragment_bytes; }
    std::int64_t size(std::int64_t fragment) const;
};

/// What ranks of the chain tell each other.
struct chain_note {
    enum class kind : std::uint8_t { here, over, lacks, pieces };
    kind what = kind::here;
    std::int64_t batch = 0;
    std::uint64_t fragments = 0;  ///< of the batch, a bit each: that are lacked, or that are here
    std::vector<std::byte> data{};
};

/// What a rank throws if another broadcasts something else.
RUBATO_API error different_sizes();

class RUBATO_API multicast_chain {
public:
    struct datagram {
        std::int64_t fragment = 0;
        std::span<const std::byte> data{};  ///< until the next is heard
    };

    class post {
    public:
        virtual ~post() = default;
        /// To all ranks, which may get it once, several times or not at all. False if there is no room for it now.
        virtual bool cast(const datagram& d) = 0;
        /// A datagram of this call; false if there is none now.
        virtual bool hear(datagram& d) = 0;
        /// Nothing is lost, and two ranks' notes stay in order. Does not wait.
        virtual void send(rank to, chain_note n) = 0;
        /// A note of this call; false if there is none now.
        virtual bool receive(chain_note& n) = 0;
        /// Notes that the network has not taken yet.
        virtual std::size_t under_way() = 0;
    };

    /// A rank's neighbours in the chain.
    struct place {
        std::optional<rank> before{};   ///< not on the root
        std::optional<rank> after{};    ///< not on the last rank
        std::optional<rank> awaited{};  ///< on the root: it casts when this rank has come
        std::optional<rank> tells{};    ///< on that rank: the root
    };

    /// At least one byte, which the root has and the others get. It must stay until this has ended.
    multicast_chain(std::span<std::byte> data, const fragmentation& cut, const place& where, post& p);

    /// Does not wait; true once it has ended.
    bool progress();

    /// Fragments that came by multicast, and by the chain.
    std::int64_t heard() const { return heard_; }
    std::int64_t missed() const { return missed_; }

private:
    bool is_root() const { return !where_.before; }
    bool has_ended();
    void hear_all();
    void take(const chain_note& n);
    void take_pieces(const chain_note& n);
    void cast_some();
    void serve();
    bool store(std::int64_t fragment, std::span<const std::byte> piece);
    void complete(std::int64_t batch);
    void end_casting(std::int64_t batch);
    void send_pieces(std::int64_t batch, std::uint64_t fragments);

    std::span<std::byte> data_;
    fragmentation cut_;
    place where_;
    post& post_;
    std::vector<std::uint64_t> lacks_{};   // of each batch, a bit per fragment
    std::vector<bool> over_{};             // of each batch; then the predecessor was answered
    std::vector<bool> answers_{};          // of the successor, that have come
    std::vector<std::uint64_t> wanted_{};  // of each batch, what the successor waits for
    std::deque<std::int64_t> to_serve_{};  // batches of which some of that is here
    std::vector<std::uint64_t> asked_{};   // of each batch, what the predecessor has yet to send
    std::int64_t unsent_ = 0;              // batches of which it has to send something
    std::int64_t passed_ = 0;              // batches before this one are over
    std::int64_t incomplete_;              // batches
    std::int64_t unanswered_;              // batches, by the successor
    std::int64_t unserved_ = 0;            // batches of which the successor waits for something
    std::int64_t cast_ = 0;                // fragments
    bool awaited_came_ = false;
    std::int64_t heard_ = 0;
    std::int64_t missed_ = 0;
};

/// What a datagram begins with.
struct datagram_head {
    static constexpr std::uint64_t ours = 0x31206f7461627552;  // "Rubato 1"

    std::uint64_t magic = ours;
    std::uint64_t key = 0;    ///< of the communicator and the job, drawn at random
    std::uint64_t call = 0;   ///< its number
    std::uint64_t bytes = 0;  ///< of the whole message
    std::uint64_t fragment = 0;
};

/// Datagrams of a multicast group, which anybody may send to: of each, whether it is of ours and of which call.
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

}  // namespace rubato::engine
