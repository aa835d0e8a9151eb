#include "simulator/topology/congestion.hpp"

#include "base/core/splitmix.hpp"
#include "simulator/simulate/at_scale.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rubato::simulator {

void meter::read(std::span<const connection> at_once) {
    for (const channel c : paths_) load_[c] = 0;
    paths_.clear();
    first_.resize(1);
    for (const connection& each : at_once) {
        routes_->along(each.from, each.to, [this](channel c) {
            ++load_[c];
            paths_.push_back(c);
        });
        first_.push_back(paths_.size());
    }
}

std::uint32_t meter::of(std::size_t i) const {
    std::uint32_t most = 0;
    for (const channel c : path(i)) most = std::max(most, load_[c]);
    return most;
}

std::vector<connection> random_bisection(vertex endpoints, std::uint64_t seed, std::uint64_t number) {
    base::splitmix random(base::splitmix(seed).next() ^ number);
    std::vector<vertex> order(endpoints);
    std::iota(order.begin(), order.end(), 0);
    for (vertex i = endpoints; i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
    std::vector<connection> pairs(endpoints / 2);
    for (vertex i = 0; i < endpoints / 2; ++i) pairs[i] = {order[i], order[i + endpoints / 2]};
    return pairs;
}

double bandwidth_of(meter& m, std::span<const connection> pattern) {
    if (pattern.empty()) return 1;
    m.read(pattern);
    double sum = 0;
    for (std::size_t i = 0; i < m.size(); ++i) sum += 1. / std::max(m.of(i), 1U);
    return sum / static_cast<double>(m.size());
}

std::vector<std::uint64_t> routes_on_channels(const routes& r) {
    const network& net = r.net();
    const std::vector<std::uint32_t> attached = endpoints_at(net);
    std::vector<std::uint64_t> load(net.channels(), 0);
    std::vector<std::uint64_t> through(net.vertices());
    tree_to tree(net);
    for (vertex to = 0; to < net.endpoints(); ++to) {
        tree.read(r.row(to), to);
        for (const vertex v : tree.order()) through[v] = attached[v];
        --through[net.switch_of(to)];
        for (auto v = tree.order().rbegin(); v != tree.order().rend(); ++v) {
            load[tree.next(*v)] += through[*v];
            through[net.head(tree.next(*v))] += through[*v];
        }
    }
    for (vertex e = 0; e < net.endpoints(); ++e) load[net.uplink(e)] = net.endpoints() - 1;
    return load;
}

forwarding_index forwarding_index_of(const routes& r) {
    const network& net = r.net();
    const std::vector<std::uint32_t> attached = endpoints_at(net);
    const std::vector<std::uint64_t> load = routes_on_channels(r);
    std::vector<std::uint64_t> at(net.vertices());  // the most on the way from there
    tree_to tree(net);
    forwarding_index found;
    std::uint64_t routes = 0;
    double sum = 0;  // of differences to the first, as are their squares
    double squares = 0;
    std::uint64_t first = 0;
    for (vertex to = 0; to < net.endpoints(); ++to) {
        tree.read(r.row(to), to);
        const vertex last = net.switch_of(to);
        at[last] = 0;
        for (const vertex v : tree.order()) {
            if (v == last) continue;
            at[v] = std::max(at[net.head(tree.next(v))], load[tree.next(v)]);
            if (attached[v] == 0) continue;
            if (routes == 0) first = found.min = at[v];
            const double difference = static_cast<double>(at[v]) - static_cast<double>(first);
            sum += attached[v] * difference;
            squares += attached[v] * difference * difference;
            routes += attached[v];
            found.min = std::min(found.min, at[v]);
            found.max = std::max(found.max, at[v]);
        }
    }
    if (routes == 0) return found;
    const auto count = static_cast<double>(routes);
    found.mean = static_cast<double>(first) + sum / count;
    found.sd = std::sqrt(std::max(squares / count - sum / count * (sum / count), 0.));
    return found;
}

void traffic::add(round r) {
    if (r.messages.empty()) return;
    if (!rounds.empty() && rounds.back().messages == r.messages)
        rounds.back().times += r.times;
    else
        rounds.push_back(std::move(r));
}

traffic traffic_of(schedules::shape_table& ranks) {
    model one_round_each;
    one_round_each.network = hockney{1, 0, 0};
    const std::vector<time_ns> together(ranks.ranks());
    simulation_options how;
    how.record_steps = true;
    const simulation run = simulate(one_round_each, ranks, together, how);
    std::vector<round> rounds;
    ranks.each([&](const schedules::rank_step& s, const schedules::shape_step& t) {
        if (t.kind != step_kind::send) return;
        const auto number = static_cast<std::size_t>(run.steps[s.rank][s.step].begin.count());
        if (rounds.size() <= number) rounds.resize(number + 1);
        rounds[number].messages.push_back({s.rank, ranks.peer_of(s.rank, t), t.bytes});
    });
    traffic all{ranks.ranks(), {}};
    for (round& r : rounds) all.add(std::move(r));
    return all;
}

mapping linear_mapping(std::uint32_t ranks, vertex endpoints) {
    const std::uint32_t each = (ranks + endpoints - 1) / endpoints;
    mapping where(ranks);
    for (std::uint32_t r = 0; r < ranks; ++r) where[r] = r / each;
    return where;
}

mapping random_mapping(std::uint32_t ranks, vertex endpoints, std::uint64_t seed, std::uint64_t number) {
    base::splitmix random(base::splitmix(seed).next() ^ number);
    mapping where = linear_mapping(std::max<std::uint32_t>(ranks, endpoints), endpoints);
    for (std::size_t i = where.size(); i > 1; --i) std::swap(where[i - 1], where[random.below(i)]);
    where.resize(ranks);
    return where;
}

metrics& metrics::operator+=(const metrics& m) {
    largest += m.largest;
    connections += m.connections;
    cables += m.cables;
    return *this;
}

std::vector<round_congestion> congestion_by_round(const routes& r, const traffic& t, const mapping& where) {
    meter m(r);
    std::vector<connection> at_once;
    std::vector<std::int64_t> bytes(r.net().channels(), 0);
    std::vector<round_congestion> all;
    for (const round& each : t.rounds) {
        at_once.clear();
        for (const message& one : each.messages) at_once.push_back({where[one.from], where[one.to]});
        m.read(at_once);
        round_congestion found{{}, each.times, each.messages.size(), 0};
        found.sums.cables = m.hops();
        for (std::size_t i = 0; i < m.size(); ++i) {
            found.sums.connections += m.of(i);
            found.sums.largest = std::max<std::uint64_t>(found.sums.largest, m.of(i));
            for (const channel c : m.path(i))
                found.busiest = std::max(found.busiest, bytes[c] += each.messages[i].bytes);
        }
        for (std::size_t i = 0; i < m.size(); ++i)
            for (const channel c : m.path(i)) bytes[c] = 0;
        all.push_back(found);
    }
    return all;
}

metrics total(std::span<const round_congestion> rounds) {
    metrics sum;
    for (const round_congestion& r : rounds)
        sum += {r.times * r.sums.largest, r.times * r.sums.connections, r.times * r.sums.cables};
    return sum;
}

share share_of(std::span<const round_congestion> rounds, std::uint32_t at_once) {
    double mean = 0;
    double largest = 0;
    double count = 0;
    for (const round_congestion& r : rounds) {
        const auto times = static_cast<double>(r.times);
        mean += times * static_cast<double>(r.sums.connections) / static_cast<double>(r.messages);
        largest += times * static_cast<double>(r.sums.largest);
        count += times;
    }
    if (count == 0 || mean == 0) return {1, 1};
    return {at_once * count / mean, at_once * count / largest};
}

std::uint32_t sent_at_once(const traffic& t) {
    std::uint32_t most = 1;
    std::vector<std::uint32_t> sent(t.ranks, 0);
    for (const round& r : t.rounds) {
        for (const message& m : r.messages) most = std::max(most, ++sent[m.from]);
        for (const message& m : r.messages) sent[m.from] = 0;
    }
    return most;
}

}  // namespace rubato::simulator
