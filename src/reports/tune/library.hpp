// MPI libraries that can be told which of their algorithms to use: the algorithms of theirs that are ours too, what
// they do without being told, and the files that tell them.
#pragma once

#include "reports/tune/tuning.hpp"

#include <span>
#include <string>
#include <vector>

namespace rubato::reports {

class library {
public:
    virtual ~library() = default;

    /// Of one collective, those that the library has too and can be told to use with so many ranks.
    virtual std::vector<const algorithm*> algorithms_for(collective what, std::int32_t ranks) const = 0;
    /// What it does without a rule; nothing if that is none of ours.
    virtual std::optional<way> otherwise(collective what, std::int32_t ranks, std::int64_t bytes) const = 0;
    /// An algorithm by the library's name for it, with segments of so many bytes (0: none), as it was measured; nothing
    /// if it is none of ours.
    virtual std::optional<way> named(collective what, std::int32_t ranks, std::string_view native,
                                     std::int64_t segment) const = 0;
    /// The file. Decided problems are in the order of collectives, ranks and sizes.
    virtual std::string file(std::span<const decided> all, const std::string& made_by) const = 0;
};

/// Open MPI 4.1's dynamic rules, for coll_tuned_dynamic_rules_filename.
const library& open_mpi();
/// MPICH 4.0's, for MPIR_CVAR_COLL_SELECTION_TUNING_JSON_FILE.
const library& mpich();

}  // namespace rubato::reports
