#include "simulator/programs/program.hpp"

#include "rubato/arrival.hpp"
#include "rubato/choose.hpp"
#include "simulator/programs/goal.hpp"
#include "simulator/simulate/at_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace rubato::simulator {
namespace {

constexpr std::uint64_t most_steps = std::uint64_t{1} << 23;  // some 1 GiB
constexpr std::uint64_t steps_at_once = std::uint64_t{1} << 20;

/// How a call is done: the algorithm and its schedules.
class planned_call {
public:
    planned_call(const program& p, const program_call& call, const model& network, const program_plan& plan,
                 const simulation_options& how)
        : call_(call) {
        problem_.what = call.what;
        problem_.ranks = call.members.empty() ? p.ranks : static_cast<std::int32_t>(call.members.size());
        problem_.root = call.root;
        problem_.neighbours = call.neighbours;
        std::vector<std::int32_t> hosts;
        for (std::int32_t i = 0; i < problem_.ranks && !how.hosts.empty(); ++i)
            hosts.push_back(how.hosts[static_cast<std::size_t>(member(i))]);
        problem_.hosts = numbered_hosts(hosts);
        problem_.arrivals.resize(static_cast<std::size_t>(problem_.ranks));
        const auto planned = plan.find(call.what);
        pick(call.use != nullptr ? call.use : planned != plan.end() ? planned->second : nullptr, network, how.inside);
        if (!use_->arrival_aware) build();
    }

    std::int32_t member(std::int32_t i) const {
        return call_.members.empty() ? i : call_.members[static_cast<std::size_t>(i)];
    }
    std::int32_t ranks() const { return problem_.ranks; }
    /// As far as that is known before it is played.
    played_call described() const { return {use_->id, problem_.segments, problem_.round_time}; }

    /// For ranks that compute so long before.
    const std::vector<schedules::sized_schedule>& schedules(const std::vector<time_ns>& computing) {
        if (!use_->arrival_aware) return built_;
        problem_.arrivals = computing;
        const time_ns first = std::ranges::min(problem_.arrivals);
        for (time_ns& t : problem_.arrivals) t -= first;
        build();
        return built_;
    }
    /// Of all ranks, with what they do before and after; of what is not built yet, none.
    std::uint64_t steps() const { return steps_; }
    /// One more than the highest number of a message.
    std::uint32_t messages() const { return messages_; }

private:
    /// The given algorithm with what suits it best when all arrive together, or the best that does not plan by
    /// arrivals.
    void pick(const algorithm* given, const model& network, const model* inside) {
        if (given != nullptr) {
            if (given->early || given->dynamic != nullptr)
                throw error(fmt::format("{} in a program", given->id),
                            given->early ? "it begins before its rank arrives, and here ranks compute until then"
                                         : "its ranks choose while they run",
                            "give another algorithm");
            check(*given, problem_);
        }
        const std::optional<std::uint32_t> cut = call_.segments > 0 ? std::optional(call_.segments) : std::nullopt;
        std::vector<candidate> among = given != nullptr ? candidates_of(*given, problem_, call_.chunk, network, cut)
                                                        : candidates_for(problem_, call_.chunk, network, false, cut);
        std::erase_if(among, [&](const candidate& c) { return given == nullptr && c.use->arrival_aware; });
        // Where nothing is left to choose, nothing need be simulated.
        const std::vector<candidate> best = given != nullptr && among.size() == 1
                                                ? among
                                                : choose(problem_, call_.chunk, network, std::move(among), inside);
        if (best.empty())
            throw error(fmt::format("a {} of {} ranks", traits(call_.what).name, problem_.ranks),
                        "it is too large to choose for, or no algorithm can do it",
                        "name an algorithm and its segments");
        use_ = best.front().use;
        problem_.segments = best.front().segments;
        problem_.round_time = best.front().round_time;
    }
    void build() {
        const layout sizes = layout::uniform(call_.chunk);
        const std::vector<schedule> all = build_all(*use_, problem_);
        built_.resize(all.size());
        messages_ = 0;
        steps_ = 0;
        for (std::size_t i = 0; i < all.size(); ++i) {
            schedules::size_schedule(all[i], sizes, built_[i]);
            steps_ += built_[i].steps.size() + 3;
            for (const schedules::sized_step& s : built_[i].steps)
                if (s.is_message()) messages_ = std::max(messages_, s.message + 1);
        }
    }

    const program_call& call_;
    problem problem_{};
    const algorithm* use_ = nullptr;
    std::vector<schedules::sized_schedule> built_{};
    std::uint32_t messages_ = 0;
    std::uint64_t steps_ = 0;
};

/// Where a rank's stream has a call.
struct call_steps {
    std::uint32_t arrival;
    std::uint32_t exit;
};

/// All that a rank does.
struct stream {
    schedules::sized_schedule steps{};
    std::vector<std::uint32_t> computing{};
    std::vector<call_steps> stays{};

    void compute(time_ns for_how_long) {
        if (for_how_long <= time_ns{}) return;
        schedules::sized_step s;
        s.kind = step_kind::combine;
        s.work = for_how_long.count();
        computing.push_back(add(s));
    }
    void call(const schedules::sized_schedule& what, std::uint32_t first_message, const planned_call& members,
              bool blocking) {
        const std::uint32_t arrival = add({});
        const auto offset = arrival + 1;
        std::vector<bool> is_last(what.steps.size(), true);
        std::vector<std::uint32_t> waits_for;
        for (std::uint32_t i = 0; i < what.steps.size(); ++i) {
            schedules::sized_step s = what.steps[i];
            if (s.is_message()) {
                s.peer = members.member(s.peer);
                s.message += first_message;
            }
            waits_for.clear();
            for (const std::uint32_t d : what.dependencies_of(i)) {
                waits_for.push_back(d + offset);
                is_last[d] = false;
            }
            if (waits_for.empty()) waits_for.push_back(arrival);
            steps.add(s, waits_for);
        }
        waits_for.clear();
        for (std::uint32_t i = 0; i < is_last.size(); ++i)
            if (is_last[i]) waits_for.push_back(i + offset);
        if (waits_for.empty()) waits_for.push_back(arrival);
        steps.add({}, waits_for);
        stays.push_back({arrival, static_cast<std::uint32_t>(steps.steps.size()) - 1});
        before_ = blocking ? stays.back().exit : arrival;
    }

private:
    /// After everything before that blocks.
    std::uint32_t add(const schedules::sized_step& s) {
        const auto me = static_cast<std::uint32_t>(steps.steps.size());
        steps.add(s, me == 0 ? std::span<const std::uint32_t>{} : std::span(&before_, 1));
        before_ = me;
        return me;
    }

    std::uint32_t before_ = 0;
};

void check_size(std::uint64_t steps, std::uint64_t messages) {
    if (steps > most_steps || messages > UINT32_MAX)
        throw error(fmt::format("a program of more than {} {}", steps > most_steps ? most_steps : UINT32_MAX,
                                steps > most_steps ? "steps" : "messages between two ranks"),
                    "it would take several gigabytes", "give fewer ranks, repeats or segments");
}

std::vector<planned_call> planned_calls(const program& p, const model& network, const program_plan& plan,
                                        const simulation_options& how) {
    std::vector<planned_call> planned;
    planned.reserve(p.calls.size());
    for (const program_call& c : p.calls) {
        try {
            planned.emplace_back(p, c, network, plan, how);
        } catch (const error& e) {
            throw error(fmt::format("{}: {}", c.place, e.what()));
        }
    }
    return planned;
}

/// Of all ranks, as far as that is known before schedules are planned by arrivals.
std::uint64_t steps_of(const program& p, const std::vector<planned_call>& planned) {
    std::uint64_t steps = 0;
    for (const program_event& e : p.events)
        steps += e.call < p.calls.size() ? planned[e.call].steps() : e.computing.size();
    return steps;
}

/// The streams of some successive ranks.
std::vector<stream> join(const program& p, std::vector<planned_call>& planned, std::int32_t first, std::int32_t end) {
    std::vector<stream> some(static_cast<std::size_t>(end - first));
    std::uint64_t steps = 0;
    std::uint64_t first_message = 0;
    for (const program_event& e : p.events) {
        const bool calls = e.call < p.calls.size();
        const std::vector<schedules::sized_schedule>* const schedules =
            calls ? &planned[e.call].schedules(e.computing) : nullptr;
        for (std::int32_t i = 0; i < static_cast<std::int32_t>(e.computing.size()); ++i) {
            const std::int32_t r = calls ? planned[e.call].member(i) : i;
            if (r < first || r >= end) continue;
            stream& s = some[static_cast<std::size_t>(r - first)];
            s.compute(e.computing[static_cast<std::size_t>(i)]);
            if (!calls) continue;
            s.call((*schedules)[static_cast<std::size_t>(i)], static_cast<std::uint32_t>(first_message),
                   planned[e.call], p.calls[e.call].blocking);
            steps += (*schedules)[static_cast<std::size_t>(i)].steps.size() + 3;
        }
        if (calls) first_message += planned[e.call].messages();
        check_size(steps, first_message);
    }
    return some;
}

/// Means over the events of each call.
std::vector<played_call> describe(const program& p, const std::vector<planned_call>& planned,
                                  const std::vector<stream>& streams, const simulation& sim) {
    std::vector<played_call> calls;
    for (const planned_call& w : planned) calls.push_back(w.described());
    std::vector<std::size_t> next(streams.size());
    for (const program_event& e : p.events) {
        if (e.call == p.calls.size()) continue;
        std::vector<time_ns> arrivals;
        std::vector<time_ns> exits;
        for (std::int32_t i = 0; i < planned[e.call].ranks(); ++i) {
            const auto r = static_cast<std::size_t>(planned[e.call].member(i));
            const call_steps& s = streams[r].stays[next[r]++];
            arrivals.push_back(sim.steps[r][s.arrival].end);
            exits.push_back(sim.steps[r][s.exit].end);
        }
        played_call& c = calls[e.call];
        ++c.count;
        c.imbalance += absolute_imbalance(arrivals);
        c.run_time += run_time(arrivals, exits);
        c.tail += tail(arrivals, exits);
    }
    for (played_call& c : calls)
        for (time_ns* t : {&c.imbalance, &c.run_time, &c.tail}) *t /= std::max<std::int64_t>(c.count, 1);
    return calls;
}

/// Empty: all ranks.
std::span<const std::int32_t> members_of(const program& p, const program_event& e) {
    return e.call < p.calls.size() ? std::span<const std::int32_t>(p.calls[e.call].members)
                                   : std::span<const std::int32_t>();
}

/// Among an event's ranks; as many as there are: it is none of them.
std::size_t place_in(const program& p, const program_event& e, std::size_t rank) {
    const std::span<const std::int32_t> members = members_of(p, e);
    if (members.empty()) return rank;
    return static_cast<std::size_t>(std::ranges::find(members, static_cast<std::int32_t>(rank)) - members.begin());
}

}  // namespace

void even_out(program& p, std::size_t rank) {
    for (program_event& e : p.events) {
        const std::size_t mine = place_in(p, e, rank);
        if (e.computing.size() < 2 || mine == e.computing.size()) continue;
        std::vector<time_ns> others = e.computing;
        others.erase(others.begin() + static_cast<std::ptrdiff_t>(mine));
        const auto middle = others.begin() + static_cast<std::ptrdiff_t>(others.size() / 2);
        std::ranges::nth_element(others, middle);
        e.computing[mine] = *middle;
    }
}

std::size_t slowest_rank(const program& p) {
    std::vector<time_ns> sums(static_cast<std::size_t>(p.ranks));
    for (const program_event& e : p.events) {
        const std::span<const std::int32_t> members = members_of(p, e);
        for (std::size_t i = 0; i < e.computing.size(); ++i)
            sums[members.empty() ? i : static_cast<std::size_t>(members[i])] += e.computing[i];
    }
    return static_cast<std::size_t>(std::ranges::max_element(sums) - sums.begin());
}

played_program play(const program& p, const model& network, const program_plan& plan, const simulation_options& how,
                    const program_simulator& by) {
    std::vector<planned_call> planned = planned_calls(p, network, plan, how);
    check_size(steps_of(p, planned), 0);
    played_program result;
    std::vector<stream> streams = join(p, planned, 0, p.ranks);
    schedules::shape_table ranks(p.ranks);
    for (stream& s : streams) {
        ranks.add(s.steps);
        result.messages += std::ranges::count(s.steps.steps, step_kind::send, &schedules::sized_step::kind);
        s.steps = {};
    }
    simulation_options recorded = how;
    recorded.record_steps = true;
    const std::vector<time_ns> together(streams.size());
    const simulation sim = by ? by(ranks, together, recorded) : simulate(network, ranks, together, recorded);

    result.exits = sim.exits;
    result.calls = describe(p, planned, streams, sim);
    for (std::size_t r = 0; r < streams.size(); ++r) {
        time_ns& sum = result.computing.emplace_back();
        for (const std::uint32_t s : streams[r].computing) sum += sim.steps[r][s].end - sim.steps[r][s].begin;
    }
    return result;
}

time_ns earliest_end(const program& p, const link& l) {
    std::vector<time_ns> free(static_cast<std::size_t>(p.ranks));
    time_ns end{};
    for (const program_event& e : p.events) {
        const std::span<const std::int32_t> members = members_of(p, e);
        const auto who = [&](std::size_t i) { return members.empty() ? i : static_cast<std::size_t>(members[i]); };
        std::vector<time_ns> at;
        for (std::size_t i = 0; i < e.computing.size(); ++i) at.push_back(free[who(i)] + e.computing[i]);
        std::vector<time_ns> left = at;
        if (e.call < p.calls.size()) {
            const program_call& c = p.calls[e.call];
            const std::int64_t bytes = c.chunk * traits(c.what).sized_chunks(static_cast<std::int32_t>(at.size()));
            left = earliest_exits(c.what, at, c.root, bytes, l);
            end = std::max(end, std::ranges::max(left));
            if (!c.blocking) left = at;
        }
        for (std::size_t i = 0; i < left.size(); ++i) free[who(i)] = left[i];
    }
    return std::max(end, std::ranges::max(free));
}

void write_goal(const program& p, const model& network, const program_plan& plan,
                const std::function<void(std::string_view)>& put) {
    std::vector<planned_call> planned = planned_calls(p, network, plan, {});
    const auto ranks = static_cast<std::uint64_t>(p.ranks);
    const std::uint64_t together =
        std::clamp<std::uint64_t>(ranks * steps_at_once / std::max<std::uint64_t>(1, steps_of(p, planned)), 1, ranks);
    put(goal_head(ranks));
    for (std::int32_t first = 0; first < p.ranks; first += static_cast<std::int32_t>(together)) {
        const std::int32_t end = std::min(p.ranks, first + static_cast<std::int32_t>(together));
        std::int32_t r = first;
        for (stream& s : join(p, planned, first, end)) {
            put(goal_text_of(r++, goal_of(s.steps, std::nullopt, network)));
            s = {};
        }
    }
}

}  // namespace rubato::simulator
