// Mode auto between two runs of a program: what the earlier ones have left in their profile, and what this one adds.
#pragma once

#include "dropin/direct/learned.hpp"
#include "dropin/observe/notes.hpp"
#include "dropin/preload/settings.hpp"
#include "dropin/profile/profile.hpp"

#include <mpi.h>

#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace rubato::dropin {

class remembered_runs {
public:
    /// Rank 0 reads the profile, and all ranks get the same. Collective over a communicator of ours with all ranks.
    void begin(MPI_Comm comm, const settings& how, dropin::key of);
    /// On rank 0, for the report.
    const dropin::profile_read& from() const { return from_; }

    /// Whether anything is remembered, by all ranks.
    bool active() const { return !file_.empty(); }
    /// Equal on all ranks of the communicator.
    std::vector<experience> of(const dropin::group& where) const { return before_.experiences_of(where); }
    /// What this process knows for others; several threads may.
    void keep(const dropin::group& where, std::vector<experience> learned);
    /// Rank 0 gets what all have kept, and writes it with what it knew. Collective, as `begin`.
    /// Throws if ranks cannot talk to each other.
    void end(MPI_Comm comm);

private:
    std::string place(const settings& how) const;
    std::string read(const settings& how);
    void write(const std::vector<std::vector<std::byte>>& kept);

    std::string file_{};    // empty: nothing is remembered
    bool named_ = false;    // by the user; on rank 0, as the next one
    bool foreign_ = false;  // the user's file, which is not ours to replace
    dropin::key key_{};
    dropin::profile_read from_{};
    dropin::profile before_{};
    std::mutex mutex_{};
    dropin::profile learned_{};
    std::int64_t kept_ = 0;
};

}  // namespace rubato::dropin
