// A run of many ranks and segments has more steps than one can simulate while a program waits. What more ranks cost is
// known in form, though: rounds that are added with each doubling, and messages or bytes that double with it. So with
// T(n) the time of n ranks that arrive together, found by simulation,
//
//   T(n 2^h) = T(n) + h d + (2^(h+2) - 2h - 4) e,   d = T(n) - T(n/2),   e = d - (T(n/2) - T(n/4)),
//
// which is exact for sums of a constant, log2 n and n. With arrivals, n ranks are simulated, each of which stands for a
// group of neighbours and comes with the last of them; of what more ranks cost, as large a share shows after the last
// arrival as it does with n ranks.
#include "parts.hpp"

#include "rubato/arrival.hpp"
#include "rubato/simulate.hpp"

#include <algorithm>
#include <cmath>

namespace rubato {
namespace {

constexpr std::int32_t most_ranks = 1024;   // of which schedules are made
constexpr std::int32_t fewest_ranks = 16;   // fewer say little about many
constexpr std::size_t most_steps = 40'000;  // some ten milliseconds

/// What it takes to make and simulate the schedules of all ranks, in steps, or some number above the most. Algorithms
/// that plan in rounds send, receive and combine each segment about once per rank, or more, which a few ranks show;
/// where they are asked for one rank at a time, each time all rounds are planned, which is some ten times cheaper than
/// steps.
std::size_t estimated_steps(const algorithm& a, const problem& p) {
    const auto ranks = static_cast<std::size_t>(p.ranks);
    const std::size_t planned = a.has(need::round_time) ? ranks * p.segments * 3 : 0;
    if (planned > 0 && a.build != nullptr) return planned + planned * ranks / 10;
    if (planned > most_steps) return planned;
    constexpr std::int32_t tried = 4;
    std::size_t steps = 0;
    for (std::int32_t i = 0; i < tried && steps * ranks / tried <= most_steps; ++i)
        steps += build_one(a, p, rank((p.root.value + i * p.ranks / tried) % p.ranks)).steps.size();
    return std::max(planned, steps * ranks / tried);
}

/// The same with `ranks` ranks. A late neighbour of the root does not make it late, but is late in the next group.
problem with_ranks(const problem& p, std::int32_t ranks) {
    problem q = p;
    q.ranks = ranks;
    q.hosts.clear();
    const auto group = [&](std::int32_t r) { return static_cast<std::int32_t>(std::int64_t{r} * ranks / p.ranks); };
    q.root = rank(group(p.root.value));
    q.arrivals.assign(static_cast<std::size_t>(p.arrivals.empty() ? 0 : ranks), time_ns::min());
    for (std::int32_t r = 0; r < p.ranks && !p.arrivals.empty(); ++r) {
        const bool beside_root = group(r) == q.root.value && r != p.root.value && traits(p.what).rooted;
        const std::int32_t in = beside_root ? (group(r) + 1) % ranks : group(r);
        time_ns& latest = q.arrivals[static_cast<std::size_t>(in)];
        latest = std::max(latest, p.arrivals[static_cast<std::size_t>(r)]);
    }
    return q;
}

std::int32_t half(const algorithm& a, std::int32_t ranks) {
    const std::int32_t n = (ranks + 1) / 2;
    return a.has(need::even_ranks) ? n + n % 2 : n;
}

class simulator {
public:
    simulator(const candidate& c, std::int64_t chunk, const model& m) : use_(*c.use), chunk_(chunk), model_(m) {}

    time_ns end(const problem& p) {
        const std::vector<schedule> all = build_all(use_, p);
        const layout sizes = layout::uniform(chunk_);
        count(all, sizes);
        std::vector<time_ns> arrivals = p.arrivals;
        arrivals.resize(static_cast<std::size_t>(p.ranks));
        return std::ranges::max(simulate(model_, all, std::span(&sizes, 1), arrivals, {false, use_.early}).exits);
    }
    time_ns balanced(problem p) {
        p.arrivals.clear();
        return end(p);
    }
    /// What was counted in the last run.
    void tell(candidate& c) const {
        c.messages = messages_;
        c.partners = partners_;
        c.waits = waits_;
    }

private:
    void count(const std::vector<schedule>& all, const layout& sizes) {
        const auto* network = std::get_if<loggp>(&model_.network);
        const std::int64_t rendezvous = network != nullptr ? network->rendezvous : loggp{}.rendezvous;
        std::size_t messages = 0;
        std::size_t partners = 0;
        waits_ = false;
        std::vector<std::int32_t> peers;
        for (const schedule& s : all) {
            peers.clear();
            for (const step& t : s.steps) {
                if (!t.is_message()) continue;
                peers.push_back(t.peer);
                waits_ = waits_ || sizes.length(s, t) >= rendezvous;
            }
            messages += peers.size();
            std::ranges::sort(peers);
            partners += static_cast<std::size_t>(std::unique(peers.begin(), peers.end()) - peers.begin());
        }
        messages_ = static_cast<double>(messages) / static_cast<double>(all.size());
        partners_ = static_cast<double>(partners) / static_cast<double>(all.size());
    }

    const algorithm& use_;
    std::int64_t chunk_;
    const model& model_;
    double messages_ = 0;
    double partners_ = 0;
    bool waits_ = false;
};

time_ns extrapolated_end(simulator& s, const algorithm& a, const problem& p, int doublings) {
    const std::int32_t n2 = half(a, p.ranks);
    const time_ns whole = s.balanced(p);
    const time_ns halved = s.balanced(with_ranks(p, n2));
    const time_ns quartered = s.balanced(with_ranks(p, half(a, n2)));
    const double d = std::max(0., static_cast<double>((whole - halved).count()));
    const double e = std::max(0., d - static_cast<double>((halved - quartered).count()));
    const double more = doublings * d + (std::ldexp(1, doublings + 2) - 2 * doublings - 4) * e;

    const time_ns end = s.end(p);
    const time_ns tail = end - (p.arrivals.empty() ? time_ns{} : std::ranges::max(p.arrivals));
    const double shows =
        whole > time_ns{} ? std::clamp(static_cast<double>(tail.count()) / static_cast<double>(whole.count()), 0., 1.)
                          : 1.;
    return end + time_ns(std::llround(std::min(more * shows, static_cast<double>(longest_time.count()))));
}

}  // namespace

bool find_end(candidate& c, const problem& p, std::int64_t chunk, const model& m) {
    problem q = p;
    q.segments = c.segments;
    q.round_time = c.round_time;
    const algorithm& a = *c.use;
    try {
        int halvings = 0;
        while (q.ranks > most_ranks || (q.ranks > fewest_ranks && estimated_steps(a, q) > most_steps)) {
            q = with_ranks(q, half(a, q.ranks));
            ++halvings;
        }
        simulator s(c, chunk, m);
        c.extrapolated = halvings > 0;
        c.end = halvings > 0 ? extrapolated_end(s, a, q, halvings) : s.end(q);
        s.tell(c);
    } catch (const error&) {
        return false;
    }
    return true;
}

}  // namespace rubato
