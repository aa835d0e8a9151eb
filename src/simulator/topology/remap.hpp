// The order of ranks that lowers the congestion of their messages. The endpoints stay; only who is where changes.
#pragma once

#include "simulator/topology/congestion.hpp"

namespace rubato::simulator {

/// Which of the metrics is to become small; the others decide between equals.
enum class aim : std::uint8_t { largest, connections, cables };
RUBATO_API aim parse_aim(std::string_view name);
/// What a search lowers: the metric that is aimed at, and small parts of the others.
RUBATO_API double score(const metrics& m, aim what);

/// A mapping whose metrics are kept up to date while ranks change places: what two ranks' messages change is counted
/// again, and nothing else.
class RUBATO_API placement {
public:
    /// Throws if the traffic is too large.
    placement(const routes& r, const traffic& t, mapping where);

    const mapping& where() const { return where_; }
    const metrics& sums() const { return sums_; }
    void swap(std::uint32_t a, std::uint32_t b);

private:
    struct sent {
        std::uint32_t round;
        std::uint32_t from;
        std::uint32_t to;
        std::uint32_t congestion = 0;
        std::uint32_t looked_at = 0;  // by which swap
    };
    std::size_t at(std::uint32_t round, channel c) const { return std::size_t{round} * channels_ + c; }
    /// On its channels, or off them.
    void put(std::uint32_t id, bool on);
    void count_again(std::uint32_t id);

    const routes* routes_;
    channel channels_;
    mapping where_;
    metrics sums_{};
    std::vector<std::uint64_t> times_{};  // of each round
    std::vector<sent> messages_{};
    std::vector<std::vector<std::uint32_t>> of_rank_{};   // messages that it sends or receives
    std::vector<std::vector<std::uint32_t>> on_{};        // messages on each channel in each round
    std::vector<std::vector<std::uint32_t>> how_many_{};  // of each round: messages of each congestion
    std::vector<std::uint32_t> largest_{};                // of each round
    std::vector<std::size_t> changed_{};                  // places in on_
    std::uint32_t swaps_ = 0;
};

/// Simulated annealing over swaps of two ranks. The result is never worse than the start.
RUBATO_API mapping anneal(const routes& r, const traffic& t, const mapping& start, aim what, std::uint64_t steps,
                          std::uint64_t seed);

/// How many swaps are worth trying.
RUBATO_API std::uint64_t steps_for(std::uint32_t ranks);

/// The genetic algorithm of Hoefler 2008, II.6.1: genes are mappings, at first random; mutation swaps two neighbours;
/// crossover takes the first part of one and the second part of another; what is not a mapping then is worth nothing.
/// It ends when 500 generations have brought nothing.
RUBATO_API mapping evolve(const routes& r, const traffic& t, const mapping& start, aim what, std::uint64_t seed);

/// The endpoint of each rank: the linear mapping if `text` is empty, "random:SEED", or the numbers or names of
/// endpoints in a file of that name.
RUBATO_API mapping read_mapping(const std::string& text, std::uint32_t ranks, const network& net);
/// The host of each endpoint, from a file with a line for each (of which the first word counts, without what follows a
/// colon); without a file, the names of endpoints.
RUBATO_API std::vector<std::string> read_hosts(const std::string& file, const network& net);
/// An Open MPI rankfile, and a machine file of MPICH's hydra. `hosts`: of each endpoint.
RUBATO_API std::string rankfile(const mapping& where, const std::vector<std::string>& hosts);
RUBATO_API std::string machine_file(const mapping& where, const std::vector<std::string>& hosts);

}  // namespace rubato::simulator
