// Rank 0 searches and tells the others their places. Its network and routes may take much memory, so they are made
// on one rank alone.
#include "rubato/reorder.hpp"

#include "engine/mpi/private_communicator.hpp"
#include "rubato/algorithm.hpp"
#include "simulator/simulate/at_scale.hpp"
#include "simulator/topology/generators.hpp"
#include "simulator/topology/remap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

namespace rubato::mpi {
namespace {

constexpr std::size_t name_length = 256;

/// What each process says of itself.
struct standing {
    std::int64_t endpoint = -1;  ///< not given
    std::array<char, name_length> host{};
};

simulator::mapping given_endpoints(const std::vector<standing>& all, const simulator::network& net) {
    simulator::mapping where;
    for (const standing& one : all) {
        if (one.endpoint < 0 || one.endpoint >= net.endpoints())
            throw error(fmt::format("rank {} gives {}", where.size(),
                                    one.endpoint < 0 ? "no endpoint" : fmt::format("endpoint {}", one.endpoint)),
                        fmt::format("others do, and '{}' has endpoints 0 to {}", net.name(), net.endpoints() - 1),
                        "give that of each process, or of none");
        where.push_back(static_cast<simulator::vertex>(one.endpoint));
    }
    return where;
}

simulator::mapping endpoints_of(const std::vector<standing>& all, const simulator::network& net) {
    if (std::ranges::any_of(all, [](const standing& s) { return s.endpoint >= 0; })) return given_endpoints(all, net);
    std::map<std::string, simulator::vertex, std::less<>> by_name;
    for (simulator::vertex e = 0; e < net.endpoints(); ++e) by_name.emplace(net.name_of(e), e);
    std::vector<std::string> hosts;
    for (const standing& one : all) hosts.emplace_back(one.host.data());
    if (std::ranges::none_of(hosts, [&](const std::string& host) { return by_name.contains(host); })) {
        simulator::mapping where;
        for (const std::int32_t host : numbered_hosts(hosts)) where.push_back(static_cast<simulator::vertex>(host));
        if (std::ranges::max(where) >= net.endpoints())
            throw error(fmt::format("{} hosts on '{}'", std::ranges::max(where) + 1, net.name()),
                        fmt::format("it has {} endpoints", net.endpoints()), "give a larger network");
        return where;
    }
    simulator::mapping where;
    for (const std::string& host : hosts) {
        const auto known = by_name.find(host);
        if (known == by_name.end())
            throw error(fmt::format("host '{}'", host), fmt::format("'{}' has no such endpoint", net.name()),
                        "give the endpoint of each process");
        where.push_back(known->second);
    }
    return where;
}

simulator::traffic messages_of(const std::string& what, std::uint32_t ranks) {
    if (std::optional<simulator::traffic> pattern = simulator::named_pattern(what, ranks)) return std::move(*pattern);
    const algorithm& a = find_algorithm(what);
    problem p;
    p.what = a.what;
    p.ranks = static_cast<std::int32_t>(ranks);
    p.arrivals.assign(ranks, time_ns{});
    p.round_time = time_ns{1};
    if (traits(a.what).on_graph) p.neighbours = parse_graph("ring", p.ranks);
    const layout sizes = layout::uniform(1);
    schedules::shape_table shapes = simulator::shapes_of(a, p, std::span(&sizes, 1));
    return simulator::traffic_of(shapes);
}

/// The endpoint of each place.
simulator::mapping searched(const simulator::network& net, const simulator::mapping& start, const reordering& how) {
    const auto ranks = static_cast<std::uint32_t>(start.size());
    const simulator::routes r = simulator::route(net, how.routing);
    const simulator::traffic t = messages_of(how.traffic, ranks);
    return simulator::anneal(r, t, start, simulator::aim::connections, simulator::steps_for(ranks), 1);
}

simulator::mapping in_order(const simulator::network& net, const simulator::mapping& start) {
    const std::vector<std::int32_t> places = simulator::places_of(net, start);
    simulator::mapping found(start.size());
    for (std::size_t r = 0; r < start.size(); ++r) found[static_cast<std::size_t>(places[r])] = start[r];
    return found;
}

/// The place of each process. Those on one endpoint keep their order.
std::vector<std::int32_t> find_places(const std::vector<standing>& all, const reordering& how) {
    const simulator::network net = simulator::parse_network(how.network);
    const simulator::mapping start = endpoints_of(all, net);
    const simulator::mapping found = how.traffic.empty() ? in_order(net, start) : searched(net, start, how);
    const auto by_endpoint = [](const simulator::mapping& where) {
        std::vector<std::int32_t> ranks(where.size());
        std::iota(ranks.begin(), ranks.end(), 0);
        std::ranges::stable_sort(ranks, {}, [&](std::int32_t r) { return where[static_cast<std::size_t>(r)]; });
        return ranks;
    };
    const std::vector<std::int32_t> old = by_endpoint(start);
    const std::vector<std::int32_t> now = by_endpoint(found);
    std::vector<std::int32_t> result(start.size());
    for (std::size_t i = 0; i < old.size(); ++i) result[static_cast<std::size_t>(old[i])] = now[i];
    return result;
}

/// Gives what is wrong, or nothing.
std::string try_to_find(std::vector<std::int32_t>& places, const std::vector<standing>& all, const reordering& how) {
    try {
        places = find_places(all, how);
        return "";
    } catch (const std::exception& e) {  // the other ranks wait for it
        return e.what();
    }
}

}  // namespace

std::vector<std::int32_t> places_in(MPI_Comm user, const reordering& how) {
    const engine::private_communicator ours(user);
    const int me = engine::rank_in(ours.get());
    standing mine;
    if (how.endpoint) mine.endpoint = *how.endpoint;
    int length = 0;
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    engine::check(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
    std::copy_n(name.begin(), std::min<std::size_t>(static_cast<std::size_t>(length), name_length - 1),
                mine.host.begin());
    std::vector<standing> all(static_cast<std::size_t>(engine::size_of(ours.get())));
    engine::check(PMPI_Allgather(&mine, sizeof mine, MPI_BYTE, all.data(), sizeof mine, MPI_BYTE, ours.get()),
                  "MPI_Allgather");
    std::vector<std::int32_t> places(all.size());
    const std::string trouble = engine::broadcast(ours.get(), me == 0 ? try_to_find(places, all, how) : "");
    if (!trouble.empty()) throw error(trouble);
    engine::check(PMPI_Bcast(places.data(), static_cast<int>(places.size()), MPI_INT32_T, 0, ours.get()), "MPI_Bcast");
    return places;
}

MPI_Comm reordered(MPI_Comm user, const reordering& how) {
    const std::vector<std::int32_t> places = places_in(user, how);
    MPI_Comm result = MPI_COMM_NULL;
    engine::check(MPI_Comm_split(user, 0, places[static_cast<std::size_t>(engine::rank_in(user))], &result),
                  "MPI_Comm_split");
    return result;
}

}  // namespace rubato::mpi
