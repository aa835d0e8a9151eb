#include "rivalry.hpp"

#include "rubato/arrival.hpp"
#include "rubato/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace scale {

using namespace rubato;

namespace {

constexpr std::size_t most_steps = 3'200'000;  // of all ranks together: about half a second
/// An algorithm that takes so many times as long as others of its kind in balance is not tried with late ranks.
constexpr int hopeless = 16;

/// None late, one, one in a hundred, all.
std::vector<time_ns> arrivals_of(std::size_t pattern, std::int32_t ranks, time_ns t) {
    const auto n = static_cast<std::size_t>(ranks);
    std::vector<time_ns> arrivals(n);
    const auto draw = [ranks](time_ns most) {
        return parse_arrivals(fmt::format("uniform:max={}ns,seed=1", most.count()), ranks);
    };
    // In the classic trees this one is neither a leaf nor next to the root.
    time_ns& one = arrivals[n * 3 / 8];
    switch (pattern) {
        case 1: one = t / 2; break;
        case 2: one = 2 * t; break;
        case 3: one = 10 * t; break;
        case 4: {
            const std::vector<time_ns> drawn = draw(time_ns(1'000'000'000));
            std::vector<std::size_t> order;
            for (std::size_t r = 1; r < n; ++r) order.push_back(r);
            std::ranges::stable_sort(order, std::greater<>(), [&](std::size_t r) { return drawn[r]; });
            for (std::size_t i = 0; i < (n + 99) / 100; ++i) arrivals[order[i]] = 2 * t;
            break;
        }
        case 5: arrivals = draw(2 * t); break;
        default: break;
    }
    return arrivals;
}

/// The order of arrivals, for algorithms that use nothing else of them.
std::vector<time_ns> order_of(const std::vector<time_ns>& arrivals) {
    std::vector<time_ns> sorted = arrivals;
    std::ranges::sort(sorted);
    sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
    std::vector<time_ns> order;
    for (const time_ns t : arrivals) order.emplace_back(std::ranges::lower_bound(sorted, t) - sorted.begin());
    return order;
}

/// One algorithm with one number of segments.
class contestant {
public:
    contestant(const algorithm& a, std::int32_t ranks, std::uint32_t segments) : use_(a) {
        p_.what = a.what;
        p_.ranks = ranks;
        p_.segments = segments;
    }

    bool feasible() const {
        const auto ranks = static_cast<std::size_t>(p_.ranks);
        if (ranks * p_.segments * 2 > most_steps) return false;  // not even sent and received
        std::vector<rank> tried;
        for (const std::int32_t quarter : {0, 1, 2, 3}) tried.emplace_back(quarter * p_.ranks / 4);
        std::size_t steps = 0;
        if (use_.build_some != nullptr)
            for (const schedule& s : use_.build_some(p_, tried)) steps += s.steps.size();
        else
            for (const rank r : tried) steps += build_one(use_, p_, r).steps.size();
        return steps * ranks / tried.size() <= most_steps;
    }
    bool takes_part(const setting& s) const {
        const std::vector<std::uint32_t> tried = segments_for(s);
        return std::ranges::find(tried, p_.segments) != tried.end();
    }

    time_ns tail(const setting& s, const std::vector<time_ns>& arrivals) {
        problem p = p_;
        if (use_.uses_round_time()) p.round_time = segment_time(s.costs, part_offset(s.chunk, p.segments, 1));
        if (use_.arrival_aware) p.arrivals = use_.uses_round_time() ? arrivals : order_of(arrivals);
        if (all_.empty() || p != built_) {
            all_.clear();
            all_ = build_all(use_, p);
            built_ = std::move(p);
        }
        const layout l = layout::uniform(s.chunk);
        return rubato::tail(arrivals, simulate(s.costs, all_, std::span(&l, 1), arrivals, {.early = use_.early}).exits);
    }

    std::string name(const setting& s) const {
        std::string name(use_.name());
        if (use_.early) name.resize(name.find('+'));
        if (p_.segments > 1) name += fmt::format("@{}", format_bytes(part_offset(s.chunk, p_.segments, 1)));
        std::erase(name, ' ');
        return name;
    }

    void forget() { all_ = {}; }

    std::vector<time_ns> balanced{};  ///< if all come together, by setting

private:
    /// Pieces that are worth it: none of a small vector.
    std::vector<std::uint32_t> segments_for(const setting& s) const {
        if (!use_.segmented || s.chunk < 1 << 10) return {1};
        if (s.chunk <= 64 << 10) return {1, 4, 16};
        return {1, 16, 64, 256};
    }

    const algorithm& use_;
    problem p_{};
    problem built_{};
    std::vector<schedule> all_{};
};

std::vector<contestant> contestants(const entrants& e, const std::vector<std::string_view>& names, std::int32_t ranks) {
    std::vector<contestant> all;
    for (const std::string_view name : names) {
        const algorithm& a = find_algorithm(fmt::format("{}/{}", traits(e.what).name, name));
        for (const std::uint32_t segments : {1U, 4U, 16U, 64U, 256U}) {
            if (segments > 1 && !a.segmented) break;
            contestant c(a, ranks, segments);
            if (!c.feasible()) break;
            all.push_back(std::move(c));
        }
    }
    return all;
}

class round_robin {
public:
    round_robin(const entrants& e, std::int32_t ranks)
        : entrants_(e),
          ranks_(ranks),
          settings_(settings_for(e.what, ranks)),
          results_(settings_.size(), std::vector<result>(patterns.size())),
          t_(settings_.size()) {}

    std::vector<std::vector<result>> run() && {
        std::vector<contestant> classic = contestants(entrants_, entrants_.classic, ranks_);
        std::vector<contestant> aware = contestants(entrants_, entrants_.aware, ranks_);
        std::vector<contestant> early = contestants(entrants_, entrants_.early, ranks_);
        if (classic.empty() || aware.empty()) return {};
        play_together(classic, &result::classic);
        for (std::size_t s = 0; s < settings_.size(); ++s) t_[s] = results_[s].front().classic.value().tail;
        play_together(aware, &result::aware);
        play_together(early, &result::early);
        play_late(classic, &result::classic);
        play_late(aware, &result::aware);
        play_late(early, &result::early);
        for (std::size_t s = 0; s < settings_.size(); ++s)
            for (std::size_t k = 0; k < patterns.size(); ++k) results_[s][k].bound = bound(s, k);
        return std::move(results_);
    }

private:
    using place = std::optional<winner> result::*;

    void play_together(std::vector<contestant>& all, place where) {
        for (contestant& c : all) {
            c.balanced.resize(settings_.size());
            for (std::size_t s = 0; s < settings_.size(); ++s)
                if (c.takes_part(settings_[s])) c.balanced[s] = play(c, s, 0, where);
            c.forget();
        }
    }

    void play_late(std::vector<contestant>& all, place where) {
        for (contestant& c : all) {
            // Schedules of algorithms that use only the order of arrivals are the same in all settings.
            for (std::size_t k = 1; k < patterns.size(); ++k)
                for (std::size_t s = 0; s < settings_.size(); ++s)
                    if (c.takes_part(settings_[s]) && c.balanced[s] <= hopeless * (results_[s].front().*where)->tail)
                        play(c, s, k, where);
            c.forget();
        }
    }

    time_ns play(contestant& c, std::size_t s, std::size_t pattern, place where) {
        const time_ns tail = c.tail(settings_[s], arrivals_of(pattern, ranks_, t_[s]));
        std::optional<winner>& best = results_[s][pattern].*where;
        if (!best || tail < best->tail) best = winner{c.name(settings_[s]), tail, pattern == 0 ? tail : c.balanced[s]};
        return tail;
    }

    time_ns bound(std::size_t s, std::size_t pattern) const {
        const hockney costs = linear_costs(settings_[s].costs);
        const std::vector<time_ns> arrivals = arrivals_of(pattern, ranks_, t_[s]);
        return simulator::earliest_end(entrants_.what, arrivals, rank(0), settings_[s].bytes,
                                       {time_ns(std::llround(costs.alpha)), costs.beta}) -
               std::ranges::max(arrivals);
    }

    const entrants& entrants_;
    std::int32_t ranks_;
    std::vector<setting> settings_;
    std::vector<std::vector<result>> results_;
    std::vector<time_ns> t_;
};

}  // namespace

double winner::absorbed() const { return normalised(balanced - tail, balanced); }

std::vector<setting> settings_for(collective what, std::int32_t ranks) {
    const collective_traits& t = traits(what);
    const bool wide = t.chunked();
    std::vector<setting> all;
    for (const auto& [size, bytes] : sizes) {
        for (const std::string_view network : networks) {
            setting s{network, size, parse_model(network)};
            s.chunk = bytes == small ? bytes : wide ? std::max<std::int64_t>(1, bytes / ranks) : bytes;
            s.bytes = wide ? s.chunk * ranks : s.chunk;
            if (!t.moves_data()) s.bytes = s.chunk = 0;
            all.push_back(s);
        }
        if (!t.moves_data()) break;
    }
    return all;
}

std::vector<std::vector<result>> contest(const entrants& e, std::int32_t ranks) { return round_robin(e, ranks).run(); }

}  // namespace scale
