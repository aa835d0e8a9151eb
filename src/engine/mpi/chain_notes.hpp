// The notes of multicast chains as MPI messages, sorted by call: a rank may be ahead of another by several calls.
#pragma once

#include "engine/execute/multicast_chain.hpp"
#include "engine/mpi/mailbox.hpp"

#include <cstring>
#include <deque>
#include <map>
#include <utility>

namespace rubato::engine {

class chain_notes {
public:
    /// Nobody else sends messages on `comm`, which must be ours.
    chain_notes(MPI_Comm comm, int ranks) : comm_(comm), out_(comm, note_tag, MPI_BYTE, ranks) {}

    /// From now on this call is under way, of a message of so many bytes.
    void begin(std::uint64_t call, std::int64_t bytes) {
        call_ = call;
        bytes_ = bytes;
        come_.erase(come_.begin(), come_.lower_bound(call));
        if (++begun_ % calls_between_looks != 0) return;
        while (look(false)) {
        }
    }
    void send(rank to, chain_note n) {
        const note_head head{call_, bytes_, static_cast<std::int64_t>(n.what), n.batch, n.fragments};
        std::vector<std::byte> raw(sizeof head + n.data.size());
        std::memcpy(raw.data(), &head, sizeof head);
        if (!n.data.empty()) std::memcpy(raw.data() + sizeof head, n.data.data(), n.data.size());
        out_.send(to, std::move(raw));
    }
    /// One of this call; false if there is none.
    bool receive(chain_note& n) {
        std::deque<letter>& mine = come_[call_];
        while (mine.empty())
            if (!look(false)) return false;
        letter first = std::move(mine.front());
        mine.pop_front();
        if (first.bytes != bytes_) throw different_sizes();
        n = std::move(first.note);
        return true;
    }
    /// Messages that MPI still reads.
    std::size_t under_way() { return out_.under_way(); }

    /// Messages to each rank.
    const std::vector<std::int64_t>& sent_to() const { return out_.sent_to(); }
    /// Receives messages of calls that have ended, until so many were received; waits for them.
    void drop_until(std::int64_t received) {
        while (received_ < received) (void)look(true);
        come_.clear();
    }

private:
    /// A rank that hears all it needs takes no notes. So that MPI need not keep them all, they are received after so
    /// many calls.
    static constexpr std::uint64_t calls_between_looks = 16;

    /// What a message begins with.
    struct note_head {
        std::uint64_t call;
        std::int64_t bytes;
        std::int64_t kind;
        std::int64_t batch;
        std::uint64_t fragments;
    };
    struct letter {
        std::int64_t bytes = 0;  // of the whole message
        chain_note note{};
    };
    /// False if nothing has come; what comes is sorted in.
    bool look(bool wait) {
        int from = 0;
        std::vector<std::byte> raw;
        // The first look may bring what only the second one finds.
        if (!receive_one(comm_, note_tag, wait, from, raw) && !receive_one(comm_, note_tag, false, from, raw))
            return false;
        ++received_;
        note_head head{};
        std::memcpy(&head, raw.data(), sizeof head);
        if (head.call < call_) return true;  // it has ended here, as this rank had heard all of it
        raw.erase(raw.begin(), raw.begin() + sizeof head);
        come_[head.call].push_back(
            {head.bytes, {static_cast<chain_note::kind>(head.kind), head.batch, head.fragments, std::move(raw)}});
        return true;
    }

    static constexpr int note_tag = 0;
    MPI_Comm comm_;
    std::uint64_t begun_ = 0;  // calls
    std::uint64_t call_ = 0;
    std::int64_t bytes_ = 0;
    std::map<std::uint64_t, std::deque<letter>> come_{};  // by call, of this one and later ones
    outbox<std::byte> out_;
    std::int64_t received_ = 0;
};

}  // namespace rubato::engine
