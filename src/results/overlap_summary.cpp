#include "results/overlap_summary.hpp"

#include "statistics/statistics.hpp"

#include <algorithm>

namespace rubato::results {
namespace {

using group = std::vector<const overlap*>;

bool of_one_kind(const overlap& a, const overlap& b) {
    return a.name == b.name && a.method == b.method && a.tests == b.tests;
}

template <class Value>
double median_of(const group& g, Value value) {
    std::vector<double> values;
    for (const overlap* o : g) values.push_back(static_cast<double>(value(*o).count()));
    return median(values);
}

overlap_summary summary_of(const group& g) {
    overlap_summary s{g[0]->name, g[0]->method, g[0]->tests, g.size()};
    s.total = median_of(g, [](const overlap& o) { return o.total; });
    s.computation = median_of(g, [](const overlap& o) { return o.computation; });
    s.visible = std::max(0., median_of(g, visible));
    s.in_calls = median_of(g, in_calls);
    s.overhead = std::max(0., median_of(g, [](const overlap& o) { return o.overhead; }));
    return s;
}

}  // namespace

time_ns in_calls(const overlap& o) { return o.initiation + o.testing + o.waiting; }
time_ns visible(const overlap& o) { return o.total - o.computation; }

double hidden_share(double seen, double blocking) { return blocking > 0 ? std::clamp(1 - seen / blocking, 0., 1.) : 0; }

std::vector<overlap_summary> summarise(std::span<const overlap> samples) {
    std::vector<group> groups;
    for (const overlap& o : samples) {
        const auto found = std::ranges::find_if(groups, [&o](const group& g) { return of_one_kind(*g[0], o); });
        if (found == groups.end())
            groups.push_back({&o});
        else
            found->push_back(&o);
    }
    std::vector<overlap_summary> all;
    all.reserve(groups.size());
    for (const group& g : groups) all.push_back(summary_of(g));
    for (overlap_summary& s : all) {
        if (s.computation <= 0 && s.total > 0) s.busy = s.overhead / s.total;
        const auto blocking = std::ranges::find_if(
            all, [&s](const overlap_summary& b) { return b.name == s.name && b.method == "blocking"; });
        if (blocking == all.end() || s.computation <= 0) continue;
        s.hidden = hidden_share(s.visible, blocking->total);
        s.freed = hidden_share(s.in_calls, blocking->in_calls);
    }
    return all;
}

}  // namespace rubato::results
