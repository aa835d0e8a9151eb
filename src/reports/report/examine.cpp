#include "reports/report/examine.hpp"

#include "base/core/splitmix.hpp"
#include "dropin/direct/rules.hpp"
#include "rubato/arrival.hpp"
#include "rubato/choose.hpp"
#include "rubato/simulate.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace rubato::reports {
namespace {

using dropin::invocation;

constexpr std::size_t most_simulated = 64;
constexpr std::size_t fewest_simulated = 4;
constexpr std::size_t most_simulated_times = 4096;  ///< of all ranks of these calls
constexpr std::size_t most_simulated_steps = 1'500'000;
/// A communicator's first call is always kept, and waits for what happens before. Among many it does not count.
constexpr std::uint64_t many_calls = 20;
/// A simulation that is wrong by more says nothing of how tails change with arrivals.
constexpr double largest_error = 0.5;

double count(time_ns t) { return static_cast<double>(t.count()); }
time_ns nearest(double ns) { return time_ns(std::llround(ns)); }

std::vector<const invocation*> sampled_calls(const dropin::row& r) {
    std::vector<const invocation*> all;
    for (const invocation& e : r.seen->examples)
        if (e.number > 0 || r.calls < many_calls) all.push_back(&e);
    if (all.empty()) all.push_back(&r.seen->examples.front());
    return all;
}

/// Fewer of them, at random.
std::vector<const invocation*> some_of(const std::vector<const invocation*>& all, std::size_t most) {
    std::vector<const invocation*> some;
    base::splitmix random(1);
    for (std::size_t i = 0; i < all.size(); ++i)
        if (random.below(all.size() - i) < most - std::min(most, some.size())) some.push_back(all[i]);
    return some;
}

/// Where the last ranks' lateness comes from, in the calls that make up most of it.
origin origin_of(std::span<const invocation* const> calls) {
    double late = 0;
    double outside = 0;
    for (const invocation* c : calls) {
        if (c->outside.empty()) continue;
        const auto last = std::ranges::max_element(c->arrivals) - c->arrivals.begin();
        late += count(c->arrivals[static_cast<std::size_t>(last)] - typical(c->arrivals));
        outside += count(c->outside[static_cast<std::size_t>(last)] - typical(c->outside));
    }
    if (late <= 0) return origin::unknown;
    return outside >= most_of_them * late ? origin::outside : origin::earlier;
}

arrival_times mended(const latecomers& late, const arrival_times& arrivals) {
    switch (late.how) {
        case latecomers::kind::ranks:
        case latecomers::kind::host: return without(arrivals, late.ranks);
        case latecomers::kind::turns: return without_stragglers(arrivals);
        case latecomers::kind::chance: break;
    }
    return without_noise(arrivals);
}

/// How much sooner the ranks could go on. Where nobody waits for a late rank, as in a broadcast, it holds up nobody.
double saved(const invocation& call, const arrival_times& changed) {
    const time_ns last = std::ranges::max(call.arrivals);
    time_ns longest{};
    for (std::size_t r = 0; r < call.arrivals.size(); ++r)
        longest = std::max(longest, std::min(last, call.exits[r]) - call.arrivals[r]);
    return count(std::min(longest, last - std::ranges::max(changed)));
}

template <class Change>
time_ns mean_saving(std::span<const invocation* const> calls, const Change& change) {
    double sum = 0;
    for (const invocation* c : calls) sum += saved(*c, change(c->arrivals));
    return nearest(sum / static_cast<double>(calls.size()));
}

/// One algorithm's schedules, run with the arrivals of any call.
class simulated_algorithm {
public:
    simulated_algorithm(const candidate& c, problem p, std::int64_t chunk, const model& network)
        : network_(network), sizes_(layout::uniform(chunk)), early_(c.use->early) {
        p.segments = c.segments;
        p.round_time = c.round_time;
        all_ = build_all(*c.use, p);
        for (const schedule& s : all_) steps_ += s.steps.size();
    }

    std::size_t steps() const { return steps_; }
    double mean_tail(std::span<const invocation* const> calls, const auto& change) const {
        double sum = 0;
        for (const invocation* c : calls) {
            const arrival_times arrivals = change(c->arrivals);
            const simulation s = simulate(network_, all_, std::span(&sizes_, 1), arrivals, {false, early_});
            sum += count(tail(arrivals, s.exits));
        }
        return sum / static_cast<double>(calls.size());
    }

private:
    const model& network_;
    layout sizes_;
    bool early_;
    std::vector<schedule> all_{};
    std::size_t steps_ = 0;
};

const arrival_times& as_they_are(const arrival_times& a) { return a; }

/// The algorithm that mode force has used.
std::string forced_algorithm(const dropin::observation& o, const dropin::row& r) {
    for (const dropin::decision& d : o.decisions)
        if (d.made == dropin::decision::verdict::forced && d.what == r.what) return d.algorithm;
    return {};
}

class algorithms_instead {
public:
    algorithms_instead(const dropin::observation& o, const dropin::row& r, const model& network, examined& to)
        : o_(o), r_(r), network_(network), to_(to) {
        const auto ranks = static_cast<std::int32_t>(r.seen->pattern.size());
        asked_.what = r.what;
        asked_.ranks = ranks;
        asked_.root = rank(traits(r.what).rooted ? r.root : 0);
        asked_.arrivals = r.seen->pattern;
        // A v-form's chunks are taken to be alike.
        chunk_ = traits(r.what).irregular ? r.bytes / ranks : r.bytes;
        calls_ = some_of(sampled_calls(r),
                         std::clamp(most_simulated_times / r.seen->pattern.size(), fewest_simulated, most_simulated));
    }

    void simulate() {
        std::vector<candidate> candidates =
            choose(asked_, chunk_, network_, candidates_for(asked_, chunk_, network_, false));
        if (r_.how != dropin::form::blocking) {
            const time_ns last = std::ranges::max(asked_.arrivals);
            if (!candidates.empty()) to_.alone = std::ranges::min(candidates, {}, &candidate::end).end - last;
            return;
        }
        std::set<std::string_view> had;
        for (const candidate& c : candidates)
            if ((to_.replaceable || !c.use->arrival_aware) && had.insert(c.use->id).second) add(c);
        std::ranges::stable_sort(to_.instead, {}, &what_if::run_time);
        find_what_ran(candidates);
    }

private:
    void add(const candidate& c) {
        const time_ns last = std::ranges::max(asked_.arrivals);
        what_if w{c.name, {}, c.end - last, c.use->arrival_aware, c.extrapolated};
        if (!c.extrapolated) {
            const simulated_algorithm s(c, asked_, chunk_, network_);
            w.tail = nearest(s.mean_tail(few_enough(s), as_they_are));
        }
        w.run_time = to_.run_time - to_.tail + w.tail;
        to_.instead.push_back(std::move(w));
    }

    std::span<const invocation* const> few_enough(const simulated_algorithm& s) const {
        const std::size_t most = std::max<std::size_t>(1, most_simulated_steps / std::max<std::size_t>(1, s.steps()));
        return std::span(calls_).first(std::min(calls_.size(), most));
    }

    /// And how its tail would change with the arrivals.
    void find_what_ran(const std::vector<candidate>& candidates) {
        if (to_.tail <= time_ns{} || to_.instead.empty()) return;
        const auto wrong_by = [this](const what_if& w) { return count(w.tail) / count(to_.tail) - 1; };
        const std::string forced = forced_algorithm(o_, r_);
        const auto is_forced = [&](const what_if& w) {
            return !forced.empty() && w.name.substr(0, w.name.find('@')) == forced.substr(0, forced.find('@'));
        };
        auto found = std::ranges::find_if(to_.instead, is_forced);
        to_.ran_is_known = found != to_.instead.end();
        if (!to_.ran_is_known) {
            const auto distance = [&](const what_if& w) { return std::pair(w.by_arrivals, std::abs(wrong_by(w))); };
            found = std::ranges::min_element(to_.instead, {}, distance);
            if (found->by_arrivals) return;
        }
        to_.ran = found->name;
        to_.error = wrong_by(*found);
        const auto ran = std::ranges::find(candidates, found->name, &candidate::name);
        if (std::abs(to_.error) > largest_error || found->extrapolated) return;
        const simulated_algorithm s(*ran, asked_, chunk_, network_);
        const double as_it_is = s.mean_tail(few_enough(s), as_they_are);
        const auto adjust = [&](time_ns& saving, const auto& change) {
            saving = std::max(time_ns{}, saving + nearest(as_it_is - s.mean_tail(few_enough(s), change)));
        };
        adjust(to_.mended, [this](const arrival_times& a) { return mended(to_.late, a); });
        adjust(to_.without_stragglers, without_stragglers);
        adjust(to_.balanced, balanced);
    }

    const dropin::observation& o_;
    const dropin::row& r_;
    const model& network_;
    examined& to_;
    problem asked_{};
    std::int64_t chunk_ = 0;
    std::vector<const invocation*> calls_{};
};

}  // namespace

const what_if* examined::best_plan() const { return instead.empty() ? nullptr : &instead.front(); }

const what_if* examined::best_classic() const {
    const auto found = std::ranges::find(instead, false, &what_if::by_arrivals);
    return found == instead.end() ? nullptr : &*found;
}

bool auto_may_replace(const dropin::observation& o, const dropin::row& r) {
    const collective_traits& t = traits(r.what);
    const std::vector<std::int32_t>& members = o.communicators[r.communicator].members;
    const auto ranks = static_cast<std::int32_t>(members.size());
    if (r.how != dropin::form::blocking || !t.moves_data() || ranks < 2) return false;
    std::set<std::string> hosts;
    for (const std::int32_t m : members)
        if (m >= 0 && static_cast<std::size_t>(m) < o.hosts.size()) hosts.insert(o.hosts[static_cast<std::size_t>(m)]);
    // Of v-forms, all of a rank's chunks were counted.
    return dropin::auto_may_make(t, r.bytes * (t.irregular ? 1 : t.sized_chunks(ranks)), hosts.size() > 1);
}

examined examine(const dropin::observation& o, const dropin::row& r, const std::optional<model>& network) {
    examined out;
    std::vector<std::string> hosts;
    for (const std::int32_t m : o.communicators[r.communicator].members) hosts.push_back(o.host_of(m));
    out.replaceable = auto_may_replace(o, r);
    out.late = find_latecomers(*r.seen, hosts);
    const std::vector<const invocation*> calls = sampled_calls(r);
    out.from = origin_of(calls);
    out.sampled = calls.size();
    double runs = 0;
    double tails = 0;
    for (const invocation* c : calls) {
        runs += count(run_time(c->arrivals, c->exits));
        tails += count(std::max(time_ns{}, tail(c->arrivals, c->exits)));
    }
    out.run_time = nearest(runs / static_cast<double>(calls.size()));
    out.tail = nearest(tails / static_cast<double>(calls.size()));
    out.mended = mean_saving(calls, [&](const arrival_times& a) { return mended(out.late, a); });
    out.without_stragglers = mean_saving(calls, without_stragglers);
    out.balanced = mean_saving(calls, balanced);
    // Who has which neighbours was not recorded.
    const auto ranks = static_cast<std::int32_t>(hosts.size());
    if (network && ranks > 1 && r.root < ranks && !traits(r.what).on_graph)
        algorithms_instead(o, r, *network, out).simulate();
    return out;
}

}  // namespace rubato::reports
