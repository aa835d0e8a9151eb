// Scatters and gathers whose ranks arrive when they are told to, on a clock that all ranks share.
#pragma once

#include "arrival_bounds.hpp"
#include "rubato/mpi.hpp"

#include <string>
#include <vector>

/// One way to do a collective: the MPI library's, or one of Rubato's algorithms.
struct contestant {
    std::string name{};
    MPI_Comm native = MPI_COMM_NULL;         ///< the library's own, as it is on this communicator
    const rubato::algorithm* use = nullptr;  ///< else this
    bool named = false;                      ///< ranks say beforehand what they will call
};

/// From where an algorithm knows when ranks arrive.
enum class predictions {
    given,      ///< it is told
    exchanged,  ///< ranks agree on it: they have exchanged the arrivals of earlier calls
    edge,       ///< the same, and before the first one arrives each tells when it will
};

struct timed {
    std::vector<rubato::time_ns> arrivals{};  ///< of every rank, as they were, from the planned start on
    std::vector<rubato::time_ns> exits{};
    int begun_early = 0;  ///< ranks on which it had begun when they arrived
    int repeated = 0;     ///< runs before this one to which a rank came too late
};

class arrival_runs {
public:
    struct settings {
        rubato::time_ns tolerance{};  ///< a rank that comes later than planned by more spoils the run
        predictions known = predictions::given;
    };

    arrival_runs(MPI_Comm world, settings how);

    /// From rank `from` to the other of ranks 0 and 1: the best of several messages.
    link_speed measure_link(int from);
    /// Clocks drift apart: call it now and then.
    void synchronise() { plain_.synchronise(); }
    /// How wrong the clocks may be, at most.
    rubato::time_ns clock_error() const;

    /// Runs once, with rank 0 as root and `block` bytes per rank, a multiple of 8. A run to which a rank comes too late
    /// is repeated. Throws if a result is wrong.
    timed run(const contestant& c, rubato::collective what, std::int64_t block,
              const std::vector<rubato::time_ns>& arrivals);

private:
    rubato::time_ns now() const { return plain_.clock().now(); }
    void sleep_until(rubato::time_ns t) const;
    rubato::mpi::call new_data(rubato::collective what, std::size_t words);
    bool right(rubato::collective what) const;
    bool attempt(const contestant& c, rubato::collective what, std::size_t words,
                 const std::vector<rubato::time_ns>& arrivals, rubato::mpi::communicator& ours, timed& result);

    MPI_Comm world_;
    settings how_;
    int me_ = 0;
    int ranks_ = 1;
    rubato::mpi::communicator plain_;  // without a background thread
    std::uint64_t number_ = 0;         // of the run, and in its data
    std::vector<std::uint64_t> send_{};
    std::vector<std::uint64_t> recv_{};
};
