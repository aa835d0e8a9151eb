#include "simulator/topology/remap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rubato::simulator {
namespace {

constexpr std::uint64_t most_places = std::uint64_t{1} << 24;  // rounds times channels; some dozen bytes each
constexpr std::uint64_t most_messages = std::uint64_t{1} << 24;

}  // namespace

aim parse_aim(std::string_view name) {
    if (name == "largest") return aim::largest;
    if (name == "connections") return aim::connections;
    if (name == "cables") return aim::cables;
    throw error(fmt::format("unknown metric '{}'", name), "known are largest, connections, cables", "give one of them");
}

double score(const metrics& m, aim what) {
    const auto largest = static_cast<double>(m.largest);
    const auto connections = static_cast<double>(m.connections);
    const auto cables = static_cast<double>(m.cables);
    switch (what) {
        case aim::largest: return largest + 0.1 * connections + 0.01 * cables;
        case aim::connections: return connections + 0.1 * largest + 0.1 * cables;
        case aim::cables: return cables + 0.1 * largest + 0.1 * connections;
    }
    return 0;
}

placement::placement(const routes& r, const traffic& t, mapping where)
    : routes_(&r), channels_(r.net().channels()), where_(std::move(where)), of_rank_(t.ranks) {
    std::uint64_t messages = 0;
    for (const round& each : t.rounds) messages += each.messages.size();
    if (t.rounds.size() * std::uint64_t{channels_} > most_places || messages > most_messages)
        throw error(fmt::format("{} different rounds on a network with {} cables are too many to remap",
                                t.rounds.size(), channels_ / 2),
                    "the channels that each message uses in each round are kept in memory",
                    "give fewer ranks, or an algorithm with fewer rounds");
    on_.resize(t.rounds.size() * channels_);
    how_many_.resize(t.rounds.size());
    largest_.resize(t.rounds.size());
    for (std::uint32_t i = 0; i < t.rounds.size(); ++i) {
        times_.push_back(t.rounds[i].times);
        for (const message& m : t.rounds[i].messages) {
            const auto id = static_cast<std::uint32_t>(messages_.size());
            messages_.push_back({i, m.from, m.to});
            of_rank_[m.from].push_back(id);
            if (m.to != m.from) of_rank_[m.to].push_back(id);
            how_many_[i].resize(std::max<std::size_t>(how_many_[i].size(), 1));
            ++how_many_[i][0];
            put(id, true);
        }
    }
    changed_.clear();
    for (std::uint32_t id = 0; id < messages_.size(); ++id) count_again(id);
}

void placement::put(std::uint32_t id, bool on) {
    const sent& m = messages_[id];
    routes_->along(where_[m.from], where_[m.to], [&](channel c) {
        std::vector<std::uint32_t>& here = on_[at(m.round, c)];
        changed_.push_back(at(m.round, c));
        if (on) {
            here.push_back(id);
            sums_.cables += times_[m.round];
        } else {
            *std::ranges::find(here, id) = here.back();
            here.pop_back();
            sums_.cables -= times_[m.round];
        }
    });
}

void placement::count_again(std::uint32_t id) {
    sent& m = messages_[id];
    std::uint32_t most = 0;
    routes_->along(where_[m.from], where_[m.to],
                   [&](channel c) { most = std::max(most, static_cast<std::uint32_t>(on_[at(m.round, c)].size())); });
    if (most == m.congestion) return;
    const std::uint64_t times = times_[m.round];
    std::vector<std::uint32_t>& how_many = how_many_[m.round];
    if (how_many.size() <= most) how_many.resize(most + 1);
    --how_many[m.congestion];
    ++how_many[most];
    sums_.connections += times * most;
    sums_.connections -= times * m.congestion;
    m.congestion = most;
    std::uint32_t& largest = largest_[m.round];
    sums_.largest -= times * largest;
    largest = std::max(largest, most);
    while (largest > 0 && how_many[largest] == 0) --largest;
    sums_.largest += times * largest;
}

void placement::swap(std::uint32_t a, std::uint32_t b) {
    if (where_[a] == where_[b]) return;
    ++swaps_;
    changed_.clear();
    std::vector<std::uint32_t> moved;
    for (const std::uint32_t rank : {a, b})
        for (const std::uint32_t id : of_rank_[rank])
            if (messages_[id].looked_at != swaps_) {
                messages_[id].looked_at = swaps_;
                moved.push_back(id);
            }
    for (const std::uint32_t id : moved) put(id, false);
    std::swap(where_[a], where_[b]);
    for (const std::uint32_t id : moved) put(id, true);
    for (const std::uint32_t id : moved) count_again(id);
    for (const std::size_t place : changed_)
        for (const std::uint32_t id : on_[place])
            if (messages_[id].looked_at != swaps_) {
                messages_[id].looked_at = swaps_;
                count_again(id);
            }
}

}  // namespace rubato::simulator
