#include "schedules/algorithms/pattern/neighbours.hpp"

#include "schedules/algorithms/pattern/arrival_order.hpp"
#include "schedules/algorithms/pattern/host_view.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>

namespace rubato::schedules {
namespace {

struct graph_edge {
    std::int32_t from;
    std::int32_t to;
    std::uint32_t input;   // chunk of the sender
    std::uint32_t output;  // chunk of the receiver
};

/// All edges from this rank and to it.
std::vector<graph_edge> edges_of(const problem& p, rank me) {
    std::vector<graph_edge> mine;
    const auto out = p.neighbours->destinations(me);
    for (std::uint32_t i = 0; i < out.size(); ++i)
        if (out[i].exists()) mine.push_back({me.value, out[i].rank, i, static_cast<std::uint32_t>(out[i].chunk)});
    const auto in = p.neighbours->sources(me);
    for (std::uint32_t i = 0; i < in.size(); ++i)
        if (in[i].exists() && in[i].rank != me.value)
            mine.push_back({in[i].rank, me.value, static_cast<std::uint32_t>(in[i].chunk), i});
    return mine;
}

/// In one order for all ranks, in which few send to one rank at once: on a grid one direction after the other, so that
/// nobody does; else by distance.
void put_in_order(std::vector<graph_edge>& edges, const problem& p, bool by_arrival) {
    const bool by_direction = !p.neighbours->sizes().empty();
    std::ranges::sort(edges, {}, [&](const graph_edge& e) {
        const time_ns there = by_arrival ? std::max(arrival(p, rank(e.from)), arrival(p, rank(e.to))) : time_ns{};
        const std::int32_t distance = (e.to - e.from + p.ranks) % p.ranks;
        return std::tuple(there, by_direction ? e.input : 0, distance, e.from, e.input);
    });
}

/// What a rank gives: its number, and which chunk of its input.
using given_chunk = std::pair<std::int32_t, std::uint32_t>;
using given_chunks = std::vector<given_chunk>;

/// One rank's part in an exchange in which ranks of a host meet others' data at their leader.
class host_exchange {
public:
    host_exchange(const problem& p, rank me) : p_(p), me_(me), h_(p, me), b_(p, me, 1) {
        for (std::uint32_t i = 0; i < static_cast<std::uint32_t>(p.input_chunks(me)); ++i)
            at_.emplace(given_chunk{me.value, i}, b_.input(i));
    }

    schedule build() && {
        hand_to_leader();
        if (h_.leads()) exchange_with_hosts();
        exchange_in_host();
        hand_to_members();
        return std::move(b_).finish();
    }

private:
    std::int32_t host_of(std::int32_t r) const { return p_.hosts.empty() ? r : p_.hosts[static_cast<std::size_t>(r)]; }
    bool is_here(std::int32_t r) const { return host_of(r) == host_of(me_.value); }

    /// What rank r needs for each chunk of its output; nothing at the border of a grid.
    std::vector<std::optional<given_chunk>> needed_by(rank r) const {
        std::vector<std::optional<given_chunk>> all;
        for (const neighbour& n : p_.neighbours->sources(r)) {
            all.emplace_back();
            if (n.exists()) all.back() = {n.rank, traits(p_.what).wide_input ? static_cast<std::uint32_t>(n.chunk) : 0};
        }
        return all;
    }
    /// What these ranks need of others for which `from` holds, each once, in one order for all.
    template <class From>
    given_chunks needed(std::span<const rank> by, const From& from) const {
        std::set<given_chunk> all;
        for (const rank r : by)
            for (const auto& i : needed_by(r))
                if (i && from(i->first)) all.insert(*i);
        return {all.begin(), all.end()};
    }
    /// What the ranks of one host need of another's.
    given_chunks between(std::size_t from, std::size_t to) const {
        return needed(h_.members(to), [&](std::int32_t r) { return host_of(r) == static_cast<std::int32_t>(from); });
    }
    /// What a rank of this host needs of other hosts.
    given_chunks from_outside(rank r) const {
        return needed(std::span(&r, 1), [&](std::int32_t o) { return !is_here(o); });
    }
    /// What others need of a rank of this host.
    given_chunks for_outside(rank r) const {
        std::set<given_chunk> all;
        const auto to = p_.neighbours->destinations(r);
        for (std::uint32_t i = 0; i < to.size(); ++i)
            if (to[i].exists() && !is_here(to[i].rank)) all.emplace(r.value, traits(p_.what).wide_input ? i : 0);
        return {all.begin(), all.end()};
    }

    /// In one line, for a message.
    slice packed(const given_chunks& what) {
        if (what.size() == 1) return at_.at(what.front());
        const slice line = b_.scratch_chunks(static_cast<std::uint32_t>(what.size()));
        for (std::uint32_t k = 0; k < line.count; ++k) b_.copy(at_.at(what[k]), line.sub(k));
        return line;
    }
    void send(rank to, const given_chunks& what) {
        if (!what.empty()) b_.send(to, packed(what));
    }
    void receive(rank from, const given_chunks& what) {
        if (what.empty()) return;
        const slice line = b_.scratch_chunks(static_cast<std::uint32_t>(what.size()));
        b_.recv(from, line);
        for (std::uint32_t k = 0; k < line.count; ++k) at_.insert_or_assign(what[k], line.sub(k));
    }

    void hand_to_leader() {
        if (!h_.leads()) return send(h_.leader(h_.mine()), for_outside(me_));
        for (const rank r : h_.members(h_.mine()))
            if (r != me_) receive(r, for_outside(r));
    }
    /// Hosts at distance 1, 2, ... around: in each turn every leader sends to one and receives from one.
    void exchange_with_hosts() {
        const std::size_t n = h_.hosts();
        for (std::size_t i = 1; i < n; ++i) {
            const std::size_t to = (h_.mine() + i) % n;
            const std::size_t from = (h_.mine() + n - i) % n;
            send(h_.leader(to), between(h_.mine(), to));
            receive(h_.leader(from), between(from, h_.mine()));
        }
    }
    void exchange_in_host() {
        std::vector<rank> here = h_.in_rank_order(h_.mine());
        const auto n = here.size();
        const auto mine = static_cast<std::size_t>(std::ranges::find(here, me_) - here.begin());
        const auto between_two = [&](rank from, rank to) {
            return needed(std::span(&to, 1), [from](std::int32_t r) { return r == from.value; });
        };
        for (std::size_t i = 1; i < n; ++i) {
            const rank to = here[(mine + i) % n];
            const rank from = here[(mine + n - i) % n];
            send(to, between_two(me_, to));
            receive(from, between_two(from, me_));
        }
    }
    /// And every rank puts what it has where it belongs.
    void hand_to_members() {
        if (!h_.leads()) {
            receive(h_.leader(h_.mine()), from_outside(me_));
        } else {
            for (const rank r : h_.members(h_.mine()))
                if (r != me_) send(r, from_outside(r));
        }
        const auto wanted = needed_by(me_);
        for (std::uint32_t i = 0; i < wanted.size(); ++i)
            if (wanted[i]) b_.copy(at_.at(*wanted[i]), b_.output(i));
    }

    const problem& p_;
    rank me_;
    host_view h_;
    builder b_;
    std::map<given_chunk, slice> at_{};  // what this rank has
};

}  // namespace

schedule along_edges(const problem& p, rank me, bool by_arrival) {
    std::vector<graph_edge> edges = edges_of(p, me);
    put_in_order(edges, p, by_arrival);
    builder b(p, me, 1);
    const bool wide = traits(p.what).wide_input;
    for (const graph_edge& e : edges) {
        const slice given = b.input(wide ? e.input : 0);
        if (e.from != me.value)
            b.recv(rank(e.from), b.output(e.output));
        else if (e.to != me.value)
            b.send(rank(e.to), given);
        else
            b.copy(given, b.output(e.output));
    }
    return std::move(b).finish();
}

schedule reduced_along_edges(const problem& p, rank me, bool by_arrival) {
    std::vector<graph_edge> edges = edges_of(p, me);
    std::ranges::sort(edges, {}, [](const graph_edge& e) { return std::tuple(e.from, e.to, e.input); });
    const auto same = [](const graph_edge& a, const graph_edge& b) { return a.from == b.from && a.to == b.to; };
    edges.erase(std::unique(edges.begin(), edges.end(), same), edges.end());
    put_in_order(edges, p, by_arrival);
    // In the order in which they are combined. It does not depend on this rank: all that have the same sources get the
    // same bits.
    std::vector<std::int32_t> sources;
    for (const graph_edge& e : edges)
        if (e.to == me.value) sources.push_back(e.from);
    std::ranges::sort(sources, std::greater{});
    if (by_arrival) std::ranges::stable_sort(sources, {}, [&](std::int32_t s) { return arrival(p, rank(s)); });
    builder b(p, me, 1);
    std::map<std::int32_t, slice> operands;
    std::size_t combined = 0;
    const auto combine_what_is_there = [&] {
        for (; combined < sources.size() && operands.contains(sources[combined]); ++combined) {
            const slice operand = operands[sources[combined]];
            if (combined == 0)
                b.copy(operand, b.output());
            else
                b.combine(operand, b.output());
        }
    };
    for (const graph_edge& e : edges) {
        if (e.to != me.value) {
            b.send(rank(e.to), b.input());
            continue;
        }
        slice& operand = operands[e.from];
        if (e.from == me.value)
            operand = b.input();
        else
            b.recv(rank(e.from), operand = e.from == sources.front() ? b.output() : b.scratch_chunks());
        if (by_arrival) combine_what_is_there();
    }
    combine_what_is_there();
    return std::move(b).finish();
}

schedule between_hosts(const problem& p, rank me) { return host_exchange(p, me).build(); }

}  // namespace rubato::schedules
