// What is to be done: a collective, its size in ranks, and the parameters an algorithm may use.
// Only what MPI requires to be equal on all ranks may be in here; otherwise ranks would disagree on the plan.
#pragma once

#include "rubato/core.hpp"
#include "rubato/graph.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato {

// Name, who has the input and the output, how wide they are, whether it combines, is a v-form, is on a graph.
#define RUBATO_COLLECTIVES(ROW)                                      \
    ROW(barrier, none, none, no, no, no, no, no)                     \
    ROW(bcast, root, others, no, no, no, no, no)                     \
    ROW(reduce, all, root, no, no, combines, no, no)                 \
    ROW(allreduce, all, all, no, no, combines, no, no)               \
    ROW(scatter, root, all, wide, no, no, no, no)                    \
    ROW(gather, all, root, no, wide, no, no, no)                     \
    ROW(allgather, all, all, no, wide, no, no, no)                   \
    ROW(alltoall, all, all, wide, wide, no, no, no)                  \
    ROW(reduce_scatter_block, all, all, wide, no, combines, no, no)  \
    ROW(scan, all, all, no, no, combines, no, no)                    \
    ROW(exscan, all, all_but_first, no, no, combines, no, no)        \
    ROW(scatterv, root, all, wide, no, no, v_form, no)               \
    ROW(gatherv, all, root, no, wide, no, v_form, no)                \
    ROW(allgatherv, all, all, no, wide, no, v_form, no)              \
    ROW(alltoallv, all, all, wide, wide, no, v_form, no)             \
    ROW(reduce_scatter, all, all, wide, no, combines, v_form, no)    \
    ROW(neighbor_allgather, all, all, no, wide, no, no, graph)       \
    ROW(neighbor_alltoall, all, all, wide, wide, no, no, graph)      \
    ROW(neighbor_allgatherv, all, all, no, wide, no, v_form, graph)  \
    ROW(neighbor_alltoallv, all, all, wide, wide, no, v_form, graph) \
    ROW(neighbor_reduce, all, all, no, no, combines, no, graph)

enum class collective : std::uint8_t {
#define RUBATO_NAME(what, ...) what,
    RUBATO_COLLECTIVES(RUBATO_NAME)
#undef RUBATO_NAME
};

/// The ranks that have a buffer.
enum class holders : std::uint8_t { none, root, others, all_but_first, all };

constexpr bool includes(holders who, std::int32_t r, std::int32_t root) {
    switch (who) {
        case holders::none: return false;
        case holders::root: return r == root;
        case holders::others: return r != root;
        case holders::all_but_first: return r != 0;
        case holders::all: return true;
    }
    return false;
}

/// What each collective is, stated once. A chunk is the part of a buffer that belongs to one rank, or to one neighbour.
struct collective_traits {
    collective what;
    std::string_view name;
    holders input;     ///< who gives data
    holders output;    ///< who gets data
    bool wide_input;   ///< the input has one chunk per rank, or per destination (else one)
    bool wide_output;  ///< the output has one chunk per rank, or per source (else one)
    bool reduces;      ///< combines with an operator, so blocks are whole elements
    bool irregular;    ///< a v-form: chunks differ in size
    bool on_graph;     ///< among neighbours (problem::neighbours)

    // The rest follows.

    bool rooted = input == holders::root || output == holders::root;

    constexpr bool has_input(std::int32_t r, std::int32_t root) const { return includes(input, r, root); }
    constexpr bool has_output(std::int32_t r, std::int32_t root) const { return includes(output, r, root); }
    /// All but a barrier.
    constexpr bool moves_data() const { return input != holders::none; }
    /// Some buffer has one chunk per rank, or per neighbour.
    constexpr bool chunked() const { return wide_input || wide_output; }
    /// Of how many chunks the size of a call is the sum. In a neighbour collective it is that of one, as ranks differ
    /// in how many they have.
    constexpr std::int32_t sized_chunks(std::int32_t ranks) const { return chunked() && !on_graph ? ranks : 1; }
    /// Data of no length is not sent (layout::skips_empty): most pairs of ranks may have none.
    constexpr bool skips_empty() const { return irregular && wide_input && wide_output; }
    /// MPI has it, too.
    constexpr bool in_mpi() const { return !(reduces && on_graph); }
    /// Several ranks get the same result of a reduction.
    constexpr bool shares_results() const {
        return what == collective::allreduce || what == collective::neighbor_reduce;
    }
    /// From the root to all.
    constexpr bool spreads() const { return input == holders::root; }
    /// A rank has an input or an output, never both, and MPI one argument for them.
    constexpr bool one_buffer() const { return spreads() && output == holders::others; }
    /// MPI has one count and one datatype for both sides.
    constexpr bool one_count() const { return one_buffer() || reduces; }
    /// Every rank can tell how large all chunks are: they are equal, or all ranks are given the same list of counts.
    /// Among neighbours a rank may have none, and say nothing of a size.
    constexpr bool sizes_known_to_all() const {
        return !on_graph && (!irregular || (!rooted && wide_input != wide_output));
    }
    /// Chunks differ, but lie one after the other in the input, and all ranks are told all sizes: so the input measures
    /// the output and scratch, too.
    constexpr bool measured_by_input() const { return irregular && reduces; }
};

namespace table_of_collectives {
using enum collective;
using enum holders;
inline constexpr bool wide = true, combines = true, v_form = true, graph = true, no = false;
inline constexpr std::array rows{
#define RUBATO_TRAITS(what, ...) collective_traits{what, #what, __VA_ARGS__},
    RUBATO_COLLECTIVES(RUBATO_TRAITS)
#undef RUBATO_TRAITS
};
}  // namespace table_of_collectives

inline constexpr std::size_t collective_count = table_of_collectives::rows.size();
constexpr std::span<const collective_traits> collectives() { return table_of_collectives::rows; }
constexpr const collective_traits& traits(collective what) {
    return table_of_collectives::rows[static_cast<std::size_t>(what)];
}
#undef RUBATO_COLLECTIVES

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
    /// Where each rank stands in an order in which ranks that are near each other in the network follow each other: 0
    /// to ranks - 1, each once; empty: nothing is known of a network. Where no chunk belongs to a rank and the operator
    /// commutes (barrier, bcast, reduce, allreduce), every algorithm takes the ranks in this order; in other
    /// collectives, those that sort ranks do so with ranks that arrive together.
    std::vector<std::int32_t> places{};
    /// How long sending and combining one segment takes, for algorithms that plan in rounds; 0: not given.
    time_ns round_time{};
    /// Who has data for whom, in a neighbour collective.
    std::shared_ptr<const graph> neighbours{};

    bool operator==(const problem&) const = default;

    /// Chunks of a rank's input and output, if it has them.
    std::int32_t input_chunks(rank r) const {
        if (!traits(what).wide_input) return 1;
        return neighbours ? static_cast<std::int32_t>(neighbours->destinations(r).size()) : ranks;
    }
    std::int32_t output_chunks(rank r) const {
        if (!traits(what).wide_output) return 1;
        return neighbours ? static_cast<std::int32_t>(neighbours->sources(r).size()) : ranks;
    }

    std::int32_t radix_or(std::int32_t otherwise) const { return radix.empty() ? otherwise : radix.front(); }
};

/// No two arrivals are farther apart, and no round is longer: some 36 years.
inline constexpr time_ns longest_time{std::int64_t{1} << 60};

/// Throws if the numbers make no sense (no ranks, root outside, no segments, a radix below 1, too few arrivals,
/// hosts out of order, a negative round time). A radix of 1 is for algorithms to refuse: a dissemination has one way,
/// but a tree that cuts in one piece no end.
RUBATO_API void check(const problem& p);

/// Numbers the hosts, named by rank in `host_of`, as problem::hosts has them: from 0 in the order of their lowest
/// ranks.
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
