// The contestants of a benchmark: the MPI library's own collective, its algorithms one by one, Rubato's, and multicast.
#pragma once

#include "reports/results/results.hpp"
#include "rubato/model.hpp"
#include "rubato/mpi.hpp"
#include "rubato/multicast.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace rubato::command {

/// How an algorithm cuts its vectors: into pieces of so many bytes, into so many pieces, or as the model says.
struct segmentation {
    std::int64_t bytes = 0;
    std::uint32_t pieces = 0;

    std::uint32_t of(const model& m, std::int32_t ranks, std::int64_t vector) const;
};
/// "8KiB" (with a unit: bytes), "16" (pieces), "auto".
segmentation parse_segmentation(const std::string& text);

struct contestant {
    reports::contestant known{};
    const algorithm* use = nullptr;  ///< else the MPI library's
    int native_number = 0;           ///< in coll/tuned; 0: the library's choice
    std::optional<int> native_segment{};
    std::vector<std::int32_t> radix{};  ///< see problem
    std::optional<mpi::multicast_settings> casts{};

    bool is_ours() const { return use != nullptr || casts; }
    bool is_native_default() const { return !is_ours() && native_number == 0; }
};

/// "multicast", or "multicast:insist" for one that goes on whatever is lost; else nothing.
std::optional<mpi::multicast_settings> parse_multicast(std::string_view name);

/// Broadcasts over multicast, made when first needed, by all ranks together.
class casting_communicators {
public:
    /// The communicator must outlive it.
    explicit casting_communicators(mpi::communicator& on) : on_(on) {}

    mpi::multicast& get(const mpi::multicast_settings& how);
    /// Rank 0 says why calls are not multicast, and what would help, each once.
    void say_why_not();

private:
    mpi::communicator& on_;
    std::map<bool, mpi::multicast> made_{};  // by whether it insists
    std::set<std::string> said_{};
};

/// The selection for Rubato's communicators; empty for the library's own. Arrivals are not in it.
mpi::selection selection_of(const contestant& c);

/// The size of what segmenting algorithms cut: the vector, or one chunk of a buffer with a chunk for each rank.
std::int64_t vector_bytes(collective what, std::int32_t ranks, std::int64_t bytes);

/// "reduce", or "reduce/chain,clairvoyant@8KiB,knomial:3,native,native:pipeline@4KiB,native:all": behind @ how to cut,
/// behind : the radix. "bcast/multicast" is no algorithm, and only there if it is named.
struct contest {
    collective what{};
    std::vector<std::string> names{};  ///< empty: everybody
    std::string text{};
};
contest parse_contest(const std::string& text);

struct contest_settings {
    std::int32_t ranks = 1;
    std::int64_t bytes = 0;
    std::int32_t root = 0;
    bool commutative = true;
    model network{};
    std::vector<segmentation> segments{segmentation{}};  ///< each is tried
    std::shared_ptr<const graph> neighbours{};
};
/// The contestants that can be used for it, in a fixed order, each once. One that is named and cannot be used is an
/// error; where all are asked for, those that cannot be used are left out.
std::vector<contestant> contestants_of(const contest& c, const contest_settings& s);

/// Copies of `world` with one of the library's algorithms chosen, made when first needed, by all ranks together.
class native_communicators {
public:
    native_communicators() = default;
    ~native_communicators();
    native_communicators(const native_communicators&) = delete;
    native_communicators& operator=(const native_communicators&) = delete;

    MPI_Comm get(collective what, const contestant& c);

private:
    std::map<std::tuple<collective, int, int>, MPI_Comm> made_{};
};

}  // namespace rubato::command
