// What static routing leaves of a network's bandwidth: the congestion that messages cause, of one pattern at once and
// of patterns round by round.
#pragma once

#include "rubato/problem.hpp"
#include "schedules/schedule/shapes.hpp"
#include "simulator/topology/routing.hpp"

namespace rubato::simulator {

struct connection {
    vertex from;
    vertex to;
};

/// The congestion of connections that are used at once: a channel carries so many of them.
class RUBATO_API meter {
public:
    explicit meter(const routes& r) : routes_(&r), load_(r.net().channels()) {}

    void read(std::span<const connection> at_once);

    std::size_t size() const { return first_.size() - 1; }
    /// Of a connection: of its channels, the most connections on one. 0 if it leads nowhere.
    std::uint32_t of(std::size_t i) const;
    std::span<const channel> path(std::size_t i) const {
        return std::span(paths_).subspan(first_[i], first_[i + 1] - first_[i]);
    }
    std::uint32_t load(channel c) const { return load_[c]; }
    /// Of all connections together, how many channels they use, each counted once per connection.
    std::uint64_t hops() const { return paths_.size(); }

private:
    const routes* routes_;
    std::vector<std::uint32_t> load_;
    std::vector<channel> paths_{};
    std::vector<std::size_t> first_{0};
};

/// Pattern `number` of a seed: each endpoint of a random half sends to one of the other half.
RUBATO_API std::vector<connection> random_bisection(vertex endpoints, std::uint64_t seed, std::uint64_t number);
/// The mean over its connections of the share of bandwidth that each gets: 1 / congestion (Hoefler 2008, II.4.2).
RUBATO_API double bandwidth_of(meter& m, std::span<const connection> pattern);

/// Of the routes between all pairs of endpoints, how many use each channel.
RUBATO_API std::vector<std::uint64_t> routes_on_channels(const routes& r);

/// Of routes between all pairs of endpoints, how many share the busiest cable of a route; cables of endpoints and
/// routes within a switch do not count (Hoefler 2008, II.5.2).
struct forwarding_index {
    double mean = 0;
    double sd = 0;
    std::uint64_t min = 0;
    std::uint64_t max = 0;
};
RUBATO_API forwarding_index forwarding_index_of(const routes& r);

struct message {
    std::uint32_t from;  ///< ranks
    std::uint32_t to;
    std::int64_t bytes;

    bool operator==(const message&) const = default;
};

/// Messages that are under way at once.
struct round {
    std::vector<message> messages{};
    std::uint64_t times = 1;  ///< so many rounds one after the other are like this

    bool operator==(const round&) const = default;
};

struct traffic {
    std::uint32_t ranks = 0;
    std::vector<round> rounds{};

    /// At the end; to the last round's count, if it is the same.
    RUBATO_API void add(round r);
};

/// Of schedules: their rounds where each message takes one, and a rank sends one and receives one at a time, in the
/// schedule's order.
RUBATO_API traffic traffic_of(schedules::shape_table& ranks);

/// "neighbours:3" (both neighbours in each of 3 dimensions at once, periodic), "tree" (each rank that has the data
/// sends it to one that has not), "dissemination" (rank r sends to r + 2^k in round k), "ring", "pairwise" (to r + k)
/// (Hoefler 2008, II.4.4.1). Nothing if there is no such pattern; throws if its number is wrong.
RUBATO_API std::optional<traffic> named_pattern(std::string_view name, std::uint32_t ranks);
RUBATO_API std::string_view pattern_names();

/// A share of an application's time that it spends in a pattern.
struct mix_part {
    std::string pattern{};
    double percent = 0;
    traffic messages{};
};
/// "neighbours:3=27.4,tree=4.6"; throws if it is not of that form or more than 100 % in all.
RUBATO_API std::vector<mix_part> parse_mix(std::string_view text, std::uint32_t ranks);

/// Of each rank, its endpoint.
using mapping = std::vector<vertex>;
/// Rank r on endpoint r; with more ranks than endpoints, as many neighbouring ranks on each as are needed.
RUBATO_API mapping linear_mapping(std::uint32_t ranks, vertex endpoints);
/// The endpoints of the linear mapping in random order.
RUBATO_API mapping random_mapping(std::uint32_t ranks, vertex endpoints, std::uint64_t seed, std::uint64_t number);

/// Of each rank, its place in an order in which neighbours are near each other (problem::places).
RUBATO_API std::vector<std::int32_t> places_of(const network& net, const mapping& where);
/// The smallest groups of near ranks, as problem::hosts has them: those on one endpoint, or if each has its own, those
/// below one switch. None if each rank is alone in its group, or all are together below one switch.
RUBATO_API std::vector<std::int32_t> groups_of(const network& net, const mapping& where);

/// Hoefler 2008, II.6.1.
struct metrics {
    std::uint64_t largest = 0;      ///< the sum over rounds of the largest congestion of a connection
    std::uint64_t connections = 0;  ///< the sum over rounds and connections of their congestion
    std::uint64_t cables = 0;       ///< the sum over rounds and channels of the connections on each

    bool operator==(const metrics&) const = default;
    metrics& operator+=(const metrics& m);
};

struct round_congestion {
    metrics sums{};           ///< of one such round
    std::uint64_t times = 1;  ///< how many there are
    std::size_t messages = 0;
    std::int64_t busiest = 0;  ///< bytes on the channel that carries the most
};

/// Of each round; rounds that are alike stand together.
RUBATO_API std::vector<round_congestion> congestion_by_round(const routes& r, const traffic& t, const mapping& where);
RUBATO_API metrics total(std::span<const round_congestion> rounds);

/// The share of bandwidth that messages get (Hoefler 2008, II.4.4.1).
struct share {
    double upper = 0;  ///< of the mean congestion of each round: nobody waits for others
    double lower = 0;  ///< of the largest: all wait for the last in every round
};
/// `at_once`: how many messages an endpoint sends in a round, by which congestion at endpoints is taken out.
RUBATO_API share share_of(std::span<const round_congestion> rounds, std::uint32_t at_once);
/// The most messages that a rank sends in one round.
RUBATO_API std::uint32_t sent_at_once(const traffic& t);

}  // namespace rubato::simulator
