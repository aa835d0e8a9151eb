#include "reports/report/observed.hpp"

#include "base/core/text.hpp"
#include "dropin/observe/observation.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>

namespace rubato::reports {
namespace {

constexpr std::size_t most_hosts = 8;

using dropin::arrivals_seen;
using dropin::row;

/// Whether ranks called from both places in the same invocations.
bool same_invocations(const arrivals_seen& a, const arrivals_seen& b) {
    const auto in_both = std::ranges::count_if(a.all, [&](const dropin::brief& x) {
        return std::ranges::binary_search(b.all, x.number, {}, &dropin::brief::number);
    });
    return 2 * static_cast<std::size_t>(in_both) > std::min(a.all.size(), b.all.size());
}

arrivals_seen joined(const arrivals_seen& a, const arrivals_seen& b, std::uint64_t calls) {
    std::vector<dropin::invocation> examples;
    std::ranges::merge(a.examples, b.examples, std::back_inserter(examples), {}, &dropin::invocation::number,
                       &dropin::invocation::number);
    arrivals_seen out = dropin::describe(std::move(examples), calls);
    out.all.clear();
    std::ranges::merge(a.all, b.all, std::back_inserter(out.all), {}, &dropin::brief::number, &dropin::brief::number);
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

void join_lines(dropin::observation& o, std::span<const code_place> places) {
    using key = std::tuple<std::size_t, std::string, collective, dropin::form, std::int32_t, int>;
    std::map<key, std::size_t> known;
    std::vector<row> rows;
    for (row& r : o.rows) {
        const code_place& p = places[r.site];
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

observed look_at(dropin::observation from, const std::string& file) {
    observed o;
    o.from = std::move(from);
    o.file = file;
    o.model = o.from.model;
    if (!o.model.empty()) o.network = parse_model(o.model);
    o.places = find_places(o.from.sites);
    join_lines(o.from, o.places);
    o.examined_rows.resize(o.from.rows.size());
    return o;
}

observed look_at(const std::string& file, const std::string& model) {
    dropin::observation from = dropin::read(file);
    if (!model.empty()) from.model = model;
    return look_at(std::move(from), file);
}

void examine_row(observed& o, std::size_t row) {
    const dropin::row& r = o.from.rows[row];
    if (r.seen && !r.seen->examples.empty()) o.examined_rows[row] = examine(o.from, r, o.network);
}

std::int32_t world_rank(const observed& o, const dropin::row& r, std::int32_t who) {
    return o.from.communicators[r.communicator].members[static_cast<std::size_t>(who)];
}

std::optional<double> overlap_seen::hidden() const {
    if (!alone || *alone <= time_ns{}) return std::nullopt;
    const auto paid = static_cast<double>((start + waited).count());
    return std::clamp(1 - paid / static_cast<double>(alone->count()), 0., 1.);
}

std::optional<overlap_seen> overlap_of(const observed& o, std::size_t row) {
    const dropin::row& r = o.from.rows[row];
    if (r.how == dropin::form::blocking || r.ended == 0) return std::nullopt;
    const auto mean = [&r](time_ns sum) { return sum / static_cast<time_ns::rep>(r.ended); };
    return overlap_seen{r.median, mean(r.apart), mean(r.waited),
                        o.examined_rows.empty() ? std::nullopt : o.examined_rows[row].alone};
}

double imbalance_factor(const observed& o, const dropin::row& r) {
    double unit = static_cast<double>(r.seen->tail.count());
    if (o.network) {
        const hockney costs = linear_costs(*o.network);
        unit = costs.alpha + static_cast<double>(r.bytes) * costs.beta;
    }
    return static_cast<double>(r.seen->imbalance.count()) / std::max(1.0, unit);
}

std::string summary(const observed& o) {
    const dropin::observation& from = o.from;
    std::set<std::string> hosts(from.hosts.begin(), from.hosts.end());
    hosts.erase("");
    const std::string library = from.library.substr(0, from.library.find(", package:"));
    std::string out = fmt::format("{}: {} on {}{}{}", from.program, base::counted(from.ranks, "rank"),
                                  base::counted(hosts.size(), "host"), library.empty() ? "" : ", ", library);
    if (!from.mode.empty()) out += fmt::format("; mode {}", from.mode);
    std::vector<std::string> run;
    if (!from.begun.command.empty()) run.push_back(from.begun.command);
    if (from.begun.when > 0) run.push_back(fmt::format("{:%Y-%m-%d %H:%M} UTC", fmt::gmtime(from.begun.when)));
    if (from.duration > time_ns{}) run.push_back(format_time(from.duration));
    if (!hosts.empty() && (hosts.size() > 1 || !run.empty())) {
        const auto shown = std::next(hosts.begin(), static_cast<std::ptrdiff_t>(std::min(most_hosts, hosts.size())));
        run.push_back(
            fmt::format("on {}{}", fmt::join(hosts.begin(), shown, ", "), shown == hosts.end() ? "" : ", ..."));
    }
    if (!run.empty()) out += fmt::format("\n{}", fmt::join(run, "; "));
    if (const dropin::profile_read& p = from.profile; !p.file.empty())
        out += fmt::format("\nFrom the profile {}, which {} run{} written: {}what was learned of {}.", p.file, p.runs,
                           p.runs == 1 ? " has" : "s have", p.network ? "the network's model, and " : "",
                           base::counted(p.experiences, "operation"));
    if (!from.ended)
        out += fmt::format("\n{}; parts of {} of {} were found.",
                           from.running > 0 ? fmt::format("The program is still running ({} of it here)",
                                                          base::counted(from.running, "rank"))
                                            : "The program was killed or has failed, or it still runs elsewhere",
                           from.parts, base::counted(from.ranks, "rank"));
    if (from.lost > 0) out += fmt::format("\n{} calls are not counted: there was no room for them.", from.lost);
    if (from.every_call && from.missing == 0) out += "\nEvery call is kept, for 'rubato export'.";
    if (from.missing > 0)
        out += fmt::format("\nOf the calls that are kept for 'rubato export', {} are missing: there was no room.",
                           from.missing);
    return out;
}

std::string rank_list(std::span<const std::int32_t> ranks, std::size_t most) {
    if (ranks.size() > 2 && std::ranges::is_sorted(ranks) &&
        ranks.back() - ranks.front() + 1 == static_cast<std::int32_t>(ranks.size()))
        return fmt::format("{} to {}", ranks.front(), ranks.back());
    return fmt::format("{}{}", fmt::join(ranks.first(std::min(most, ranks.size())), ", "),
                       ranks.size() > most ? ", ..." : "");
}

std::string members_text(const observed& o, const dropin::communicator& c) {
    const std::size_t ranks = c.members.size();
    const std::string times = c.count > 1 ? fmt::format(", {} communicators", c.count) : "";
    if (static_cast<std::int32_t>(ranks) == o.from.ranks)
        return fmt::format("all {}{}", base::counted(ranks, "rank"), times);
    return fmt::format("{}: {}{}", base::counted(ranks, "rank"), rank_list(c.members, 12), times);
}

}  // namespace rubato::reports
