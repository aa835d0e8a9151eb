#include "report/join_lines.hpp"

#include "observe/patterns.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <map>
#include <tuple>

namespace rubato::report {
namespace {

using observe::arrivals_seen;
using observe::row;

/// Whether ranks called from both places in the same invocations.
bool same_invocations(const arrivals_seen& a, const arrivals_seen& b) {
    const auto in_both = std::ranges::count_if(a.all, [&](const observe::brief& x) {
        return std::ranges::binary_search(b.all, x.number, {}, &observe::brief::number);
    });
    return 2 * static_cast<std::size_t>(in_both) > std::min(a.all.size(), b.all.size());
}

arrivals_seen joined(const arrivals_seen& a, const arrivals_seen& b, std::uint64_t calls) {
    std::vector<observe::invocation> examples;
    std::ranges::merge(a.examples, b.examples, std::back_inserter(examples), {}, &observe::invocation::number,
                       &observe::invocation::number);
    arrivals_seen out = observe::describe(std::move(examples), calls);
    out.all.clear();
    std::ranges::merge(a.all, b.all, std::back_inserter(out.all), {}, &observe::brief::number, &observe::brief::number);
    out.invocations = a.invocations + b.invocations;
    return out;
}

void join(row& a, const row& b, std::size_t ranks) {
    const bool both = a.seen && b.seen;
    const bool together =
        both ? same_invocations(*a.seen, *b.seen) : a.callers + b.callers <= static_cast<std::int32_t>(ranks);
    const double all = static_cast<double>(a.calls) + static_cast<double>(b.calls);
    a.bytes = std::llround((static_cast<double>(a.bytes) * static_cast<double>(a.calls) +
                            static_cast<double>(b.bytes) * static_cast<double>(b.calls)) /
                           std::max(1., all));
    a.calls = together ? std::max(a.calls, b.calls) : a.calls + b.calls;
    a.callers =
        together ? std::min(a.callers + b.callers, static_cast<std::int32_t>(ranks)) : std::max(a.callers, b.callers);
    if (both) {
        const auto [x, y] = std::pair(static_cast<double>(a.time.count()), static_cast<double>(b.time.count()));
        const double waiting = x + y > 0 ? (a.seen->waiting * x + b.seen->waiting * y) / (x + y) : 0;
        if (!together) a.seen = joined(*a.seen, *b.seen, a.calls);
        a.seen->waiting = waiting;
    } else if (b.seen) {
        a.seen = b.seen;
    }
    if (b.time > a.time) a.median = b.median;
    a.time += b.time;
    a.ended += b.ended;
    a.apart += b.apart;
    a.waited += b.waited;
}

}  // namespace

void join_lines(observe::observation& o, std::span<const place> places) {
    using key = std::tuple<std::size_t, std::string, collective, observe::form, std::int32_t, int>;
    std::map<key, std::size_t> known;
    std::vector<row> rows;
    for (row& r : o.rows) {
        const place& p = places[r.site];
        const int size =
            traits(r.what).irregular ? 0 : static_cast<int>(std::bit_width(static_cast<std::uint64_t>(r.bytes)));
        const key k{r.communicator, p.file + p.text(), r.what, r.how, r.root, size};
        const auto [found, fresh] = known.try_emplace(k, rows.size());
        if (fresh || p.line == 0)
            rows.push_back(std::move(r));
        else
            join(rows[found->second], r, o.communicators[r.communicator].members.size());
    }
    o.rows = std::move(rows);
    std::ranges::stable_sort(o.rows, std::greater{}, &row::time);
}

}  // namespace rubato::report
