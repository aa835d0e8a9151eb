// When a candidate ends: simulated, or extrapolated from simulations of fewer ranks, as sample.hpp says.
#include "base/core/overloaded.hpp"
#include "base/core/portable.hpp"
#include "rubato/simulate.hpp"
#include "simulator/choose/outcome.hpp"
#include "simulator/choose/sample.hpp"

#include <algorithm>
#include <cmath>

namespace rubato::simulator {
namespace {

/// How many steps may be simulated.
struct step_limits {
    std::size_t all;   ///< with all ranks
    std::size_t some;  ///< with fewer ranks
    std::size_t dear;  ///< if fewer are not enough to extrapolate
};
constexpr step_limits close_limits{40'000, 12'000, 120'000};
constexpr step_limits rough_limits{16'000, 4'000, 24'000};
constexpr step_limits cable_limits{most_steps_on_cables, 0, 0};  // fewer ranks do not tell which messages meet
constexpr std::size_t points = 4;                                // rank counts to extrapolate from
constexpr std::size_t fewest_points = 3;
constexpr std::int32_t many_ranks = 64;      // fewer say little, and are used only if these are too expensive
constexpr std::int32_t few_ranks = 128;      // up to these no rough estimate is made
constexpr std::int32_t distinct_ranks = 64;  // with more, some ranks decide whether two algorithms have equal schedules

/// The problem with some number of ranks, and what is known of it before it is simulated.
struct size {
    problem p;
    std::optional<sample> some;
    std::size_t steps;
};

outcome counted(std::span<const schedule> all, const layout& sizes, const model& network) {
    const auto never = [](const auto&) { return loggp{}.rendezvous; };
    // Under LogGOPS, only the sender waits, and not with its message.
    const std::int64_t rendezvous = std::visit(
        base::overloaded{[&](const hockney& n) { return never(n); }, [](const loggp& n) { return n.rendezvous; },
                         [&](const loggp5& n) { return never(n); }, [&](const loggops& n) { return never(n); }},
        network.network);
    const auto ranks = static_cast<double>(all.size());
    outcome o;
    std::vector<std::size_t> partner_of(all.size(), all.size());
    for (std::size_t r = 0; r < all.size(); ++r) {
        for (const step& t : all[r].steps) {
            if (!t.is_message()) continue;
            o.waits = o.waits || sizes.length(all[r], t) >= rendezvous;
            o.messages += 1;
            std::size_t& known = partner_of[static_cast<std::size_t>(t.peer)];
            if (known != r) o.partners += 1;
            known = r;
        }
    }
    o.messages /= ranks;
    o.partners /= ranks;
    return o;
}

class outcome_simulator {
public:
    outcome_simulator(const candidate& c, const setting& s, look how)
        : use_(*c.use),
          s_(s),
          rough_(how == look::rough && s.asked.ranks > few_ranks && !s.cables),
          limits_(s.cables ? cable_limits
                  : rough_ ? rough_limits
                           : close_limits),
          asked_(s.asked) {
        asked_.segments = c.segments;
        if (c.radix > 0) asked_.radix = {c.radix};
        asked_.round_time = c.round_time;
    }

    /// Nothing if it is known without a simulation to end after the limit, or if a simulation would take too long.
    std::optional<outcome> find(time_ns limit, known_outcomes& known) const {
        const auto ranks = static_cast<std::size_t>(asked_.ranks);
        if (5 * ranks * ranks * asked_.segments <= limits_.all) return run(asked_);  // no algorithm takes more
        const size all = size_of(asked_);
        if (s_.cables && all.steps > limits_.all) return std::nullopt;
        if (!all.some) return from_fewer(all);
        if (all.some->least > limit) return std::nullopt;
        const std::size_t key = all.some->hash + (rough_ ? 1 : 0);
        const bool alike =
            asked_.ranks > distinct_ranks && s_.first_arrival() == s_.last_arrival() && !asked_.neighbours;
        if (const auto same = known.find(key); alike && same != known.end()) return same->second;
        const std::optional<outcome> o = all.steps <= limits_.all ? run(asked_) : from_fewer(all);
        if (o && alike) known.emplace(key, *o);
        return o;
    }

private:
    size size_of(const problem& p) const {
        const std::optional<sample> some = take_sample(use_, p, s_);
        return {p, some, estimated_steps(use_, p, some)};
    }

    std::optional<outcome> from_fewer(const size& all) const {
        std::vector<size> sizes{all};
        const auto cheap = [this](const size& s) {
            return s.steps <= (s.p.ranks > many_ranks ? limits_.some : limits_.dear);
        };
        while (sizes.size() <= points || !cheap(sizes[sizes.size() - points])) {
            const auto fewer = with_fewer_ranks(use_, sizes.back().p);
            if (!fewer) break;
            sizes.push_back(size_of(*fewer));
        }
        const auto from = [&](std::size_t first) {
            return std::span<const size>(sizes).subspan(first, std::min(points, sizes.size() - first));
        };
        const std::size_t smallest = sizes.size() > points ? sizes.size() - points : 1;
        const bool many = sizes.size() > fewest_points;
        for (std::size_t first = smallest; many && first > 0; --first) {
            const bool affordable = std::ranges::max(from(first), {}, &size::steps).steps <= limits_.dear;
            if (affordable && tells(sizes, from(first))) return extrapolated(from(first));
        }
        if (all.steps <= limits_.dear) return run(asked_);
        if (!many) return std::nullopt;
        return extrapolated(from(smallest));
    }

    /// Whether messages and bytes with many ranks, and with these, follow from some of the sizes.
    bool tells(std::span<const size> sizes, std::span<const size> some) const {
        const auto many = std::ranges::find_if(sizes, [](const size& s) { return s.some.has_value(); });
        if (many == sizes.end() || many->p.ranks <= some.front().p.ranks) return true;
        const auto follows = [&](auto value, double slack) {
            const growth grown = along(some, [&](const size& s) { return value(*s.some); });
            const auto near = [&](const size& s) {
                const double is = value(*s.some);
                const double told = grown.at(s.p.ranks);
                return std::abs(told - is) <= std::max(told, is) / 4 + slack;
            };
            return near(*many) && std::ranges::all_of(some, near);
        };
        const double some_messages = 2 + asked_.segments / 4.;
        const double some_bytes = static_cast<double>(s_.chunk) / 2;
        return follows([](const sample& s) { return s.root.messages; }, some_messages) &&
               follows([](const sample& s) { return s.others.messages; }, some_messages) &&
               follows([](const sample& s) { return s.root.sent + s.root.received; }, some_bytes) &&
               follows([](const sample& s) { return s.others.sent + s.others.received; }, some_bytes);
    }

    template <class Value>
    static growth along(std::span<const size> some, Value value) {
        std::vector<double> ranks;
        std::vector<double> values;
        for (const size& s : some) {
            ranks.push_back(s.p.ranks);
            values.push_back(value(s));
        }
        return {ranks, values};
    }

    outcome extrapolated(std::span<const size> some) const {
        std::vector<outcome> runs;
        for (const size& s : some) runs.push_back(run(s.p));
        const auto told = [&](auto value) {
            return along(some, [&](const size& s) { return value(runs[static_cast<std::size_t>(&s - some.data())]); })
                .at(asked_.ranks);
        };
        // The last arrival is the same with fewer ranks.
        const time_ns last = s_.last_arrival();
        const auto after_last = [last](time_ns t) { return static_cast<double>((t - last).count()); };
        outcome all = runs[0];
        all.extrapolated = true;
        all.rough = rough_;
        all.end = last + base::nearest_time(told([&](const outcome& o) { return after_last(o.end); }));
        all.wire = last + base::nearest_time(told([&](const outcome& o) { return after_last(o.wire); }));
        all.messages = told([](const outcome& o) { return o.messages; });
        all.partners = told([](const outcome& o) { return o.partners; });
        // After the last arrival it takes at most as long as if all arrived together, and after the first arrival at
        // least as long, unless it plans for late ranks. With few ranks it may end before the last arrival, with many
        // not.
        if (last > s_.first_arrival()) {
            const time_ns all_together = together(some);
            const time_ns least = use_.arrival_aware ? last : std::max(last, s_.first_arrival() + all_together);
            all.end = std::clamp(all.end, least, last + all_together);
        }
        // For many ranks the number of messages says more than time does: with few ranks, the latency of a message may
        // be small beside the time of its bytes.
        if (s_.equal_links) {
            load l;
            l.messages = all.messages;
            all.end = std::max(all.end, s_.first_arrival() + least_time(s_.network, l));
        }
        return all;
    }

    /// The time if all arrive together.
    time_ns together(std::span<const size> some) const {
        const auto takes = [&](const size& s) {
            problem p = s.p;
            p.arrivals.clear();
            return static_cast<double>(run(p).end.count());
        };
        return base::nearest_time(along(some, takes).at(asked_.ranks));
    }

    outcome run(const problem& p) const {
        const std::vector<schedule> all = build_all(use_, p);
        const layout sizes = layout::uniform(s_.chunk);
        std::vector<time_ns> arrivals = p.arrivals;
        arrivals.resize(static_cast<std::size_t>(p.ranks));
        outcome o = counted(all, sizes, s_.network);
        o.wire = carried(all, sizes, arrivals);
        if (s_.cables) {
            o.end = s_.cables(use_, p);
            return o;
        }
        simulation_options how{false, use_.early};
        if (s_.inside != nullptr) {
            how.hosts = p.hosts;
            how.inside = p.hosts.empty() ? nullptr : s_.inside;
        }
        o.end = std::ranges::max(rubato::simulate(s_.network, all, std::span(&sizes, 1), arrivals, how).exits);
        return o;
    }

    /// When the busiest link has carried all bytes.
    time_ns carried(std::span<const schedule> all, const layout& sizes, std::span<const time_ns> arrivals) const {
        const double per_byte = linear_costs(s_.network).beta;
        const auto busy = [per_byte](std::int64_t bytes) {
            return base::time_within(per_byte * static_cast<double>(bytes));
        };
        const time_ns first = std::ranges::min(arrivals);
        time_ns wire = first;
        for (std::size_t r = 0; r < all.size(); ++r) {
            std::int64_t sent = 0;
            std::int64_t received = 0;
            for (const step& t : all[r].steps)
                if (t.is_message()) (t.kind == step_kind::send ? sent : received) += sizes.length(all[r], t);
            wire = std::max({wire, (use_.early ? first : arrivals[r]) + busy(sent), first + busy(received)});
        }
        return wire;
    }

    const algorithm& use_;
    const setting& s_;
    bool rough_;
    const step_limits& limits_;
    problem asked_;
};

}  // namespace

void count_messages(candidate& c, std::span<const schedule> all, const layout& sizes, const model& network) {
    const outcome o = counted(all, sizes, network);
    c.messages = o.messages;
    c.partners = o.partners;
    c.waits = o.waits;
}

std::optional<outcome> find_end(candidate& c, const setting& s, time_ns limit, look how, known_outcomes& known) {
    try {
        const std::optional<outcome> o = outcome_simulator(c, s, how).find(limit, known);
        if (!o) return std::nullopt;
        c.end = o->end;
        c.messages = o->messages;
        c.partners = o->partners;
        c.waits = o->waits;
        c.extrapolated = o->extrapolated;
        return o;
    } catch (const error&) {
        return std::nullopt;
    }
}

}  // namespace rubato::simulator
