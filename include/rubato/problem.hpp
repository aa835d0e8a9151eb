// What is to be done: a collective, its size in ranks, and the parameters an algorithm may use.
// Only what MPI requires to be equal on all ranks may be in here; otherwise ranks would disagree on the plan.
#pragma once

#include "rubato/core.hpp"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato {

enum class collective : std::uint8_t {
    barrier,
    bcast,
    reduce,
    allreduce,
    scatter,
    gather,
    allgather,
    alltoall,
    reduce_scatter_block,
    scan,
    exscan,
    scatterv,
    gatherv,
    allgatherv,
    alltoallv,
    reduce_scatter,
};

/// What each collective is, stated once. A chunk is the part of a buffer that belongs to one rank.
struct collective_traits {
    collective what;
    std::string_view name;
    bool rooted;       ///< has a root
    bool reduces;      ///< combines with an operator, so blocks are whole elements
    bool irregular;    ///< a v-form: chunks differ in size
    bool wide_input;   ///< the input has one chunk per rank (else one, or none)
    bool wide_output;  ///< the output has one chunk per rank (else one, or none)

    /// Chunks differ, but lie one after the other in the input, and all ranks are told all sizes: so the input measures
    /// the output and scratch, too.
    constexpr bool measured_by_input() const { return irregular && reduces; }
};

RUBATO_API std::span<const collective_traits> collectives();
RUBATO_API const collective_traits& traits(collective what);
/// Throws if there is no collective of that name.
RUBATO_API collective parse_collective(std::string_view name);

struct problem {
    collective what = collective::barrier;
    std::int32_t ranks = 1;
    rank root{};
    /// Into how many pieces a segmenting algorithm cuts each vector, or each chunk of a buffer with one per rank.
    std::uint32_t segments = 1;
    /// The degree of a k-nomial tree, the ways of a dissemination, the factors of radix-k; empty: the algorithm's own
    /// choice.
    std::vector<std::int32_t> radix{};
    bool commutative = true;
    bool idempotent = false;
    /// Predicted arrivals, one per rank, or empty: all together.
    std::vector<time_ns> arrivals{};
    /// The host of each rank, counted from 0 in the order of their lowest ranks; empty: each rank has its own.
    std::vector<std::int32_t> hosts{};
    /// How long sending and combining one segment takes, for algorithms that plan in rounds; 0: not given.
    time_ns round_time{};

    bool operator==(const problem&) const = default;

    std::int32_t radix_or(std::int32_t otherwise) const { return radix.empty() ? otherwise : radix.front(); }
};

/// No two arrivals are farther apart, and no round is longer: some 36 years.
inline constexpr time_ns longest_time{std::int64_t{1} << 60};

/// Throws if the numbers make no sense (no ranks, root outside, no segments, a radix below 1, too few arrivals,
/// hosts out of order, a negative round time). A radix of 1 is for algorithms to refuse: a dissemination has one way,
/// but a tree that cuts in one piece no end.
RUBATO_API void check(const problem& p);

/// Hosts by whatever names each rank's, as problem::hosts has them: counted from 0 in the order of their lowest ranks.
template <class Name>
std::vector<std::int32_t> numbered_hosts(const std::vector<Name>& host_of) {
    std::map<Name, std::int32_t> numbers;
    std::vector<std::int32_t> hosts;
    hosts.reserve(host_of.size());
    for (const Name& h : host_of)
        hosts.push_back(numbers.try_emplace(h, static_cast<std::int32_t>(numbers.size())).first->second);
    return hosts;
}

/// "4": that many hosts with neighbouring ranks on each, as equal as can be; "cyclic:4": rank r is on host r mod 4;
/// "3,1,2": so many neighbouring ranks on each. Nothing: each rank has its own.
RUBATO_API std::vector<std::int32_t> parse_hosts(std::string_view text, std::int32_t ranks);
/// Hosts of every kind for that many ranks, as parse_hosts reads them; the first is that each rank has its own.
RUBATO_API std::vector<std::string> hosts_to_try(std::int32_t ranks);

}  // namespace rubato
