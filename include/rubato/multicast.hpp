// Broadcast over UDP multicast, for hosts on one network. It is off unless a program makes a `multicast`: no other call
// of Rubato, and nothing of the drop-in, uses it.
//
// Do not use it where others can send to the group, such as users' machines, other jobs, or containers in the same
// network. Datagrams are neither encrypted nor signed, and the key that tells groups apart is in each of them in clear:
// whoever hears one can forge data, and the ranks would take it. Use it in networks of which all hosts are trusted.
#pragma once

#include "rubato/mpi.hpp"

namespace rubato::mpi {

/// Rank 0's are used, of all ranks.
struct multicast_settings {
    /// Of every host, such as "eth0". Empty: as RUBATO_MULTICAST_INTERFACE says; without that, those that are up and in
    /// the same IPv4 network on all hosts are tried.
    std::string interface_name{};
    /// What the root waits for before it casts. Datagrams that come before their receiver fill its socket's buffer, and
    /// are lost when that is full; so a root that often comes first may gain by waiting.
    enum class wait : std::uint8_t {
        nothing,
        delay,
        one_rank,  ///< that another rank has come; which one is drawn anew for each call
    };
    wait root_waits_for = wait::nothing;
    time_ns delay{};
    /// Cast though most is lost, for tests and measurements.
    bool insist = false;
};

/// Of this rank.
struct multicast_counts {
    std::uint64_t calls = 0;     ///< that were multicast
    std::uint64_t by_tree = 0;   ///< that were not
    std::uint64_t sent = 0;      ///< datagrams
    std::uint64_t received = 0;  ///< datagrams, of others and old ones included
    std::int64_t heard = 0;      ///< fragments that came by multicast
    std::int64_t missed = 0;     ///< fragments that came by messages
};

/// Broadcasts in two stages: the root casts the data to all ranks at once, and what a rank does not hear it gets by MPI
/// messages from a rank that has it. Right whatever is lost. Where multicast does not work, or all ranks are on one
/// host, or more is lost than pays, a call is the communicator's own broadcast.
///
/// For the communicator's ranks, which must be between calls when it is made; the communicator must outlive it. Making
/// it and destroying it are collective. Not for several threads at once. Small messages (up to 4000 bytes) delay no
/// rank that has heard them; in a larger one a rank stays until the next has told what it lacks.
class RUBATO_API multicast {
public:
    explicit multicast(communicator& on, const multicast_settings& how = {});
    ~multicast();
    multicast(multicast&&) noexcept;
    multicast& operator=(multicast&&) noexcept;

    /// As MPI_Bcast. All ranks give the same number of bytes; if not, a rank that sees it throws, and others may hang.
    /// After a call that has thrown, for whatever reason, all further calls of this rank throw.
    void bcast(void* data, std::int64_t count, MPI_Datatype type, int root);

    /// Whether calls are multicast at present; equal on all ranks.
    bool works() const;
    /// In words; empty if nothing goes another way at present.
    std::string why_not() const;
    /// What to change on this rank's host so that less is lost, in words; empty if nothing is known.
    std::string advice() const;
    multicast_counts counts() const;

private:
    class state;
    std::unique_ptr<state> state_;
};

}  // namespace rubato::mpi
