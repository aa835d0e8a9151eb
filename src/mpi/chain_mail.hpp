// The notes of multicast chains as MPI messages, sorted by call: a rank may be ahead of another by several calls.
#pragma once

#include "engine/multicast_chain.hpp"

#include <mpi.h>

#include <deque>
#include <map>

namespace rubato::mpi {

class chain_mail {
public:
    /// Nobody else sends messages on `comm`, which must be ours.
    chain_mail(MPI_Comm comm, int ranks) : comm_(comm), sent_to_(static_cast<std::size_t>(ranks)) {}
    ~chain_mail();
    chain_mail(const chain_mail&) = delete;
    chain_mail& operator=(const chain_mail&) = delete;

    /// From now on this call is under way, of a message of so many bytes.
    void begin(std::uint64_t call, std::int64_t bytes);
    void send(rank to, chain_note n);
    /// One of this call; false if there is none.
    bool receive(chain_note& n);
    /// Messages that MPI still reads.
    std::size_t under_way();

    /// Messages to each rank.
    const std::vector<std::int64_t>& sent_to() const { return sent_to_; }
    /// Receives messages of calls that have ended, until so many were received; waits for them.
    void drop_until(std::int64_t received);

private:
    struct letter {
        std::int64_t bytes = 0;  // of the whole message
        chain_note note{};
    };
    struct posted {
        MPI_Request request = MPI_REQUEST_NULL;
        std::vector<std::byte> raw{};
    };
    /// False if nothing has come; what comes is sorted in.
    bool look(bool wait);
    /// Until the process ends: after a failure MPI may still read what has not left.
    static void keep(std::deque<posted> sent);

    MPI_Comm comm_;
    std::uint64_t begun_ = 0;  // calls
    std::uint64_t call_ = 0;
    std::int64_t bytes_ = 0;
    std::map<std::uint64_t, std::deque<letter>> come_{};  // by call, of this one and later ones
    std::deque<posted> under_way_{};
    std::vector<std::int64_t> sent_to_;
    std::int64_t received_ = 0;
};

}  // namespace rubato::mpi
