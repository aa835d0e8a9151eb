#include "simulator/choose/loop_choice.hpp"

#include "base/core/splitmix.hpp"
#include "rubato/layout.hpp"
#include "simulator/choose/outcome.hpp"
#include "simulator/choose/response.hpp"
#include "simulator/choose/sample.hpp"
#include "simulator/simulate/bound.hpp"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

namespace rubato::simulator {
namespace {

using rank_times = std::vector<time_ns>;

/// Segments are not made finer where that has gained less than this part of the loss.
constexpr int worthwhile = 100;

/// So many calls are played, after some that show nothing yet: chains fill.
constexpr std::size_t calls_played = 32;
constexpr std::size_t calls_before = 8;

/// A candidate with more steps is left out: it would take too long, and more than 50 MB.
constexpr double largest = 1 << 21;  // steps times ranks

/// The calls to be played: those that were seen, and where others may be late, also as if it had been others.
std::vector<call_gap> calls_to_come(const call_loop& calls) {
    base::splitmix random(1);
    std::vector<call_gap> all;
    for (std::size_t i = 0; i < calls_before + calls_played; ++i) {
        rank_times& t = all.emplace_back(calls.gaps[i % calls.gaps.size()]).computing;
        if (calls.foreseen || i / calls.gaps.size() % 2 == 0) continue;
        for (std::size_t left = t.size(); left > 1; --left) std::swap(t[left - 1], t[random.below(left)]);
    }
    return all;
}

rank_times since_first(rank_times arrivals) {
    const time_ns first = std::ranges::min(arrivals);
    for (time_ns& t : arrivals) t -= first;
    return arrivals;
}

class played_loop {
public:
    played_loop(const problem& p, const call_loop& calls) : to_come_(calls_to_come(calls)) {
        first_ = since_first(to_come_.back().computing);
        const std::span<const call_gap> all(to_come_);
        earliest_ =
            earliest_next(p.what, p.root, first_, all) - earliest_next(p.what, p.root, first_, all.first(calls_before));
    }

    /// By calls with that response, of each.
    time_ns loss(const response& by) {
        const std::size_t ranks = first_.size();
        before_.assign(3 * ranks, 0);
        for (std::size_t r = 0; r < ranks; ++r) before_[r] = first_[r].count();
        after_.resize(before_.size());
        const auto last_of = [ranks](std::span<const std::int64_t> states) {
            return std::ranges::max(states.first(ranks));
        };
        std::int64_t begin = 0;
        for (std::size_t call = 0; call < to_come_.size(); ++call) {
            if (call == calls_before) begin = last_of(before_);
            by.pass(before_, after_);
            const std::int64_t last = last_of(after_);
            for (std::size_t r = 0; r < ranks; ++r)
                after_[r] = (to_come_[call].meets ? last : after_[r]) + to_come_[call].computing[r].count();
            before_.swap(after_);
        }
        const time_ns lost = time_ns(last_of(before_) - begin) - earliest_;
        return std::max(lost / static_cast<time_ns::rep>(calls_played), time_ns{});
    }

private:
    std::vector<call_gap> to_come_;
    rank_times first_{};                            // arrivals
    time_ns earliest_{};                            // how long the calls take at least, with the times between them
    std::vector<std::int64_t> before_{}, after_{};  // states
};

}  // namespace

time_ns earliest_next(collective what, rank root, std::vector<time_ns> arrivals, std::span<const call_gap> gaps) {
    for (const call_gap& after : gaps) {
        rank_times exits = earliest_exits(what, arrivals, root, 0, {});
        if (after.meets) std::ranges::fill(exits, std::ranges::max(exits));
        for (std::size_t r = 0; r < exits.size(); ++r) arrivals[r] = exits[r] + after.computing[r];
    }
    return std::ranges::max(arrivals);
}

std::vector<candidate> choose_for_loop(const problem& p, std::int64_t chunk, const model& m,
                                       std::vector<candidate> among, const call_loop& calls, const model* inside) {
    check(p);
    check_kinds(m, inside);
    played_loop loop(p, calls);
    const layout sizes = layout::uniform(chunk);
    rank_times arrivals = p.arrivals;
    arrivals.resize(static_cast<std::size_t>(p.ranks));
    const time_ns last = std::ranges::max(arrivals);
    const auto loss_by = [&](candidate& c) -> std::optional<time_ns> {
        problem asked = p;
        asked.segments = c.segments;
        asked.round_time = c.round_time;
        if (c.radix > 0) asked.radix = {c.radix};
        try {
            if (expected_steps(*c.use, asked).all * p.ranks > largest) return std::nullopt;
            const std::vector<schedule> all = build_all(*c.use, asked);
            const std::optional<response> by = response_of(all, sizes, m, {p.hosts, inside, arrivals});
            if (!by) return std::nullopt;
            count_messages(c, all, sizes, m);
            const time_ns loss = loop.loss(*by);
            c.end = last + loss;
            return loss;
        } catch (const error&) {
            return std::nullopt;  // it cannot be built
        }
    };
    // The coarsest segments of each algorithm first.
    std::ranges::stable_sort(among, [](const candidate& a, const candidate& b) {
        return std::tuple(a.use, a.radix, a.segments) < std::tuple(b.use, b.radix, b.segments);
    });
    std::vector<candidate> found;
    const candidate* before = nullptr;
    std::optional<time_ns> coarser{};  // what the same lost with coarser segments; nothing if it need not be tried
    for (candidate& c : among) {
        const bool anew = before == nullptr || before->use != c.use || before->radix != c.radix;
        before = &c;
        if (!anew && !coarser) continue;
        const std::optional<time_ns> lost = loss_by(c);
        if (lost) found.push_back(c);
        const bool pays = lost && (anew || *lost < *coarser - *coarser / worthwhile);
        coarser = pays ? lost : std::nullopt;
    }
    return in_order(std::move(found), last, chunk, m);
}

}  // namespace rubato::simulator
