#include "choose/sample.hpp"

#include "core/portable.hpp"
#include "rubato/arrival.hpp"

#include <algorithm>

namespace rubato {
namespace {

constexpr std::int32_t most_ranks = 4096;
constexpr std::int64_t most_rounds = 300'000;  // limit where one schedule needs the rounds of all ranks
constexpr double long_schedule = 1000;         // in steps; where schedules are so long, all ranks do about the same

/// The root, some others, and the last to arrive; each once.
std::vector<rank> some_ranks(const problem& p) {
    std::vector<rank> who{p.root};
    const auto add = [&who](std::int32_t r) {
        if (std::ranges::find(who, rank(r)) == who.end()) who.emplace_back(r);
    };
    for (const std::int32_t third : {1, 2}) add((p.root.value + third * p.ranks / 3) % p.ranks);
    if (p.neighbours) {  // ranks differ, and one that has most neighbours bounds the others
        const auto degree = [&p](std::int32_t r) {
            return p.neighbours->sources(rank(r)).size() + p.neighbours->destinations(rank(r)).size();
        };
        std::int32_t most = 0;
        for (std::int32_t r = 1; r < p.ranks; ++r)
            if (degree(r) > degree(most)) most = r;
        add(most);
    }
    if (!p.arrivals.empty() && absolute_imbalance(p.arrivals) > time_ns{})
        add(static_cast<std::int32_t>(std::ranges::max_element(p.arrivals) - p.arrivals.begin()));
    return who;
}

load mean(std::span<const load> all) {
    load sum;
    const auto n = static_cast<double>(all.size());
    for (const load& l : all) {
        sum.steps += l.steps / n;
        sum.messages += l.messages / n;
        sum.sent += l.sent / n;
        sum.received += l.received / n;
        sum.combined += l.combined / n;
    }
    return sum;
}

}  // namespace

time_ns least_time(const model& m, const load& l) {
    const double most = std::max(l.sent, l.received);
    double ns = 0;
    if (const auto* h = std::get_if<hockney>(&m.network))
        ns = std::max(l.messages / 2 * h->alpha, most * h->beta) + l.combined * h->gamma;
    else if (const auto* n = std::get_if<loggp>(&m.network))
        ns = std::max(l.messages * n->least_o() + l.combined * n->combine, (most - l.messages) * n->G);
    else if (const auto* f = std::get_if<loggp5>(&m.network))
        ns = l.messages * f->o + l.sent * f->G;
    else if (const auto* s = std::get_if<loggops>(&m.network))
        ns = l.messages * s->o + std::max(l.received - l.messages, 0.0) * s->G + l.combined * s->combine;
    return time_ns(static_cast<time_ns::rep>(std::clamp(ns, 0., static_cast<double>(longest_time.count()))));
}

load load_of(const schedule& s, const layout& sizes) {
    load l;
    l.steps = static_cast<double>(s.steps.size());
    for (const step& t : s.steps) {
        if (t.kind == step_kind::copy) continue;
        double& bytes = t.kind == step_kind::send ? l.sent : t.kind == step_kind::recv ? l.received : l.combined;
        bytes += static_cast<double>(sizes.length(s, t));
        if (t.is_message()) l.messages += 1;
    }
    return l;
}

std::optional<sample> take_sample(const algorithm& a, const problem& p, const setting& s) {
    const bool together = a.build_some != nullptr;
    if (p.ranks > most_ranks || (together && std::int64_t{p.ranks} * p.segments > most_rounds)) return std::nullopt;
    check(a, p);
    const std::vector<rank> who = some_ranks(p);
    std::vector<schedule> all = together ? a.build_some(p, who) : std::vector<schedule>{};
    const layout sizes = layout::uniform(s.chunk);
    sample result;
    result.hash = a.early ? 1 : 0;
    std::vector<load> loads;
    for (std::size_t i = 0; i < who.size(); ++i) {
        if (!together && i > 1 && loads.back().steps > long_schedule) break;
        const schedule one = together ? std::move(all[i]) : a.build(p, who[i]);
        loads.push_back(load_of(one, sizes));
        result.hash = (result.hash * 0x100000001b3U) ^ hash(one);
        const bool waits = !a.early && !p.arrivals.empty();
        const time_ns begin = waits ? p.arrivals[static_cast<std::size_t>(who[i].value)] : s.first_arrival();
        const time_ns takes = s.equal_links ? least_time(s.network, loads.back()) : time_ns{};
        result.least = std::max(result.least, begin + takes);
    }
    result.root = loads.front();
    result.others = mean(std::span(loads).subspan(1));
    return result;
}

double time_to_sort(const algorithm& a, const problem& p) {
    return a.arrival_aware && a.build != nullptr ? static_cast<double>(p.ranks) * p.ranks / 64 : 0;
}

std::size_t estimated_steps(const algorithm& a, const problem& p, const std::optional<sample>& some) {
    const auto ranks = static_cast<std::size_t>(p.ranks);
    if (!some) return a.build_some == nullptr ? SIZE_MAX : 3 * ranks * p.segments;
    return static_cast<std::size_t>(time_to_sort(a, p) + some->root.steps +
                                    some->others.steps * static_cast<double>(ranks - 1));
}

}  // namespace rubato
