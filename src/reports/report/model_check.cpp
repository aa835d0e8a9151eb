// Predicted run times beside measured ones: the same schedules, planned by the same arrivals, run under a cost model
// with the arrivals that were measured. And the choice that such predictions lead to with the planned arrivals.
#include "reports/report/analysis.hpp"
#include "rubato/algorithm.hpp"
#include "rubato/arrival.hpp"
#include "rubato/choose.hpp"
#include "rubato/cost.hpp"
#include "rubato/simulate.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

namespace rubato::reports {
namespace {

constexpr std::size_t most_calls = 15;         // more than these change a median little
constexpr std::size_t most_steps = 2'000'000;  // of all these calls together

problem problem_of(const analysed_case& c, const entry& e, const algorithm& a) {
    problem p;
    p.what = a.what;
    p.ranks = c.in.ranks;
    p.root = rank(c.in.root);
    p.segments = a.segmented ? std::max(1U, e.segments) : 1;
    p.round_time = e.round_time;
    p.hosts = c.host_of;
    p.idempotent = c.in.op == "min" || c.in.op == "max";
    return p;
}

std::int64_t chunk_bytes(const analysed_case& c, const collective_traits& t) {
    if (!t.moves_data()) return 0;
    const std::int32_t chunks = t.sized_chunks(c.in.ranks);
    return (c.bytes + chunks - 1) / chunks;
}

double simulated(const model& network, const algorithm& a, const std::vector<schedule>& all, std::int64_t chunk,
                 const std::vector<time_ns>& arrivals) {
    const layout sizes = layout::uniform(chunk);
    const simulation s = simulate(network, all, std::span(&sizes, 1), arrivals, {false, a.early});
    return static_cast<double>(run_time(arrivals, s.exits).count());
}

/// The schedules for one call. The simulator's time begins at the first arrival.
std::vector<schedule> plan(const algorithm& a, problem p, const sample& s) {
    p.arrivals = s.predicted.empty() ? s.arrivals : s.predicted;
    const time_ns begin = *std::ranges::min_element(p.arrivals);
    for (time_ns& t : p.arrivals) t -= begin;
    return build_all(a, p);
}

model_check check(const analysed_case& c, const entry& e, const model& network) {
    const algorithm& a = find_algorithm(e.id);
    const problem p = problem_of(c, e, a);
    const std::int64_t chunk = chunk_bytes(c, traits(a.what));
    std::vector<schedule> all = plan(a, p, *e.typical().from);
    std::size_t steps = 0;
    for (const schedule& s : all) steps += s.steps.size();

    std::vector<const sample*> chosen;
    const std::size_t count = steps * most_calls > most_steps ? 1 : std::min(most_calls, e.calls.size());
    for (std::size_t i = 0; count > 1 && i < count; ++i) chosen.push_back(e.calls[i * e.calls.size() / count].from);
    if (chosen.empty()) chosen.push_back(e.typical().from);

    std::vector<double> times;
    for (const sample* s : chosen) {
        if (a.arrival_aware && count > 1) all = plan(a, p, *s);
        std::vector<time_ns> arrivals = s->arrivals;
        const time_ns begin = *std::ranges::min_element(arrivals);
        for (time_ns& t : arrivals) t -= begin;
        times.push_back(simulated(network, a, all, chunk, arrivals));
    }
    const double predicted = base::median(times);
    const layout sizes = layout::uniform(chunk);
    const cost counted = count_cost(all, std::span(&sizes, 1));
    return {predicted, predicted / e.run_time.value - 1,
            energy(network, counted, time_ns(std::llround(e.run_time.value))),
            static_cast<double>(descriptor_memory(network, counted))};
}

bool dominates(const entry& a, const entry& b) {
    const std::array ours{a.run_time.value, a.model->energy_j, a.model->memory};
    const std::array theirs{b.run_time.value, b.model->energy_j, b.model->memory};
    return ours != theirs && std::ranges::equal(ours, theirs, std::less_equal{});
}

/// Marks what no other contestant beats.
void find_front(std::vector<entry>& all) {
    for (entry& e : all)
        if (e.model)
            e.model->on_front =
                std::ranges::none_of(all, [&e](const entry& other) { return other.model && dominates(other, e); });
}

}  // namespace

void check_model(analysed_case& c, const model& network) {
    for (entry& e : c.entries) {
        if (e.native() || !e.measured() || e.run_time.value <= 0) continue;
        try {
            e.model = check(c, e, network);
        } catch (const error&) {
            // An algorithm that this version does not have, or not for this problem, has no prediction.
        }
    }
    find_front(c.entries);
}

void check_choice(analysed_case& c, const model& network) {
    problem p;
    std::vector<candidate> ours;
    const collective_traits& t = traits(parse_collective(c.in.collective));
    for (const entry& e : c.entries) {
        const auto known = std::ranges::find(algorithms(), e.id, &algorithm::id);
        if (known == algorithms().end() || known->dynamic != nullptr || !known->same_bits || e.calls.empty()) continue;
        p = problem_of(c, e, *known);
        candidate one{&*known, e.name};
        one.segments = p.segments;
        one.segment = known->segmented ? part_offset(chunk_bytes(c, t), p.segments, 1) : 0;
        one.round_time = e.round_time;
        ours.push_back(std::move(one));
    }
    p.segments = 1;
    p.round_time = {};
    const auto fastest = std::ranges::find_if(c.entries, &entry::measured);
    if (ours.size() < 2 || fastest == c.entries.end()) return;
    try {
        p.arrivals = parse_arrivals(c.pattern, c.in.ranks);
        const std::vector<candidate> ranked = choose(p, chunk_bytes(c, t), network, std::move(ours));
        if (ranked.empty()) return;
        const entry& picked = *c.find(ranked.front().name);
        c.choice = {picked.name, fastest->name, picked.run_time.value / fastest->run_time.value};
    } catch (const error&) {
        // The arrivals are not known any more, such as those of a missing trace.
    }
}

std::optional<model_summary> summarise_model(const analysis& a) {
    std::vector<double> errors;
    for (const analysed_case& c : a.cases)
        for (const entry& e : c.entries)
            if (e.model) errors.push_back(std::abs(e.model->error));
    if (errors.empty()) return std::nullopt;
    return model_summary{base::median(errors), *std::ranges::max_element(errors), errors.size()};
}

}  // namespace rubato::reports
