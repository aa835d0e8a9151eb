#include "topology/congestion.hpp"

#include "core/splitmix.hpp"
#include "simulate/at_scale.hpp"

#include <algorithm>

namespace rubato::topology {

void traffic::add(round r) {
    if (r.messages.empty()) return;
    if (!rounds.empty() && rounds.back().messages == r.messages) {
        rounds.back().times += r.times;
    } else {
        rounds.push_back(std::move(r));
    }
}

traffic traffic_of(shape_table& ranks) {
    model one_round_each;
    one_round_each.network = hockney{1, 0, 0};
    const std::vector<time_ns> together(ranks.ranks());
    simulation_options how;
    how.record_steps = true;
    const simulation run = simulate(one_round_each, ranks, together, how);
    std::vector<round> rounds;
    for (std::uint32_t r = 0; r < ranks.ranks(); ++r)
        for (std::uint32_t s = 0; s < ranks.of(r).size(); ++s) {
            const shape_step& step = ranks.of(r).steps[s];
            if (step.kind != step_kind::send) continue;
            const auto number = static_cast<std::size_t>(run.steps[r][s].begin.count());
            if (rounds.size() <= number) rounds.resize(number + 1);
            rounds[number].messages.push_back({r, ranks.peer_of(r, step), step.bytes});
        }
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
    splitmix random(splitmix(seed).next() ^ number);
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

}  // namespace rubato::topology
