#include "report/observed.hpp"

#include "core/text.hpp"
#include "report/join_lines.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>

namespace rubato::report {
namespace {

constexpr std::size_t most_hosts = 8;

}  // namespace

observed look_at(observe::observation from, const std::string& file) {
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
    observe::observation from = observe::read(file);
    if (!model.empty()) from.model = model;
    return look_at(std::move(from), file);
}

void examine_row(observed& o, std::size_t row) {
    const observe::row& r = o.from.rows[row];
    if (r.seen && !r.seen->examples.empty()) o.examined_rows[row] = examine(o.from, r, o.network);
}

std::int32_t world_rank(const observed& o, const observe::row& r, std::int32_t who) {
    return o.from.communicators[r.communicator].members[static_cast<std::size_t>(who)];
}

std::optional<double> overlap_seen::hidden() const {
    if (!alone || *alone <= time_ns{}) return std::nullopt;
    const auto paid = static_cast<double>((start + waited).count());
    return std::clamp(1 - paid / static_cast<double>(alone->count()), 0., 1.);
}

std::optional<overlap_seen> overlap_of(const observed& o, std::size_t row) {
    const observe::row& r = o.from.rows[row];
    if (r.how == observe::form::blocking || r.ended == 0) return std::nullopt;
    const auto mean = [&r](time_ns sum) { return sum / static_cast<time_ns::rep>(r.ended); };
    return overlap_seen{r.median, mean(r.apart), mean(r.waited),
                        o.examined_rows.empty() ? std::nullopt : o.examined_rows[row].alone};
}

double imbalance_factor(const observed& o, const observe::row& r) {
    double unit = static_cast<double>(r.seen->tail.count());
    if (o.network) {
        const hockney costs = linear_costs(*o.network);
        unit = costs.alpha + static_cast<double>(r.bytes) * costs.beta;
    }
    return static_cast<double>(r.seen->imbalance.count()) / std::max(1.0, unit);
}

std::string summary(const observed& o) {
    const observe::observation& from = o.from;
    std::set<std::string> hosts(from.hosts.begin(), from.hosts.end());
    hosts.erase("");
    const std::string library = from.library.substr(0, from.library.find(", package:"));
    std::string out = fmt::format("{}: {} on {}{}{}", from.program, counted(from.ranks, "rank"),
                                  counted(hosts.size(), "host"), library.empty() ? "" : ", ", library);
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
    if (const observe::profile_read& p = from.profile; !p.file.empty())
        out += fmt::format("\nFrom the profile {}, which {} run{} written: {}what was learned of {}.", p.file, p.runs,
                           p.runs == 1 ? " has" : "s have", p.network ? "the network's model, and " : "",
                           counted(p.experiences, "operation"));
    if (!from.ended)
        out += fmt::format("\n{}; parts of {} of {} were found.",
                           from.running > 0 ? fmt::format("The program is still running ({} of it here)",
                                                          counted(from.running, "rank"))
                                            : "The program was killed or has failed, or it still runs elsewhere",
                           from.parts, counted(from.ranks, "rank"));
    if (from.lost > 0) out += fmt::format("\n{} calls are not counted: there was no room for them.", from.lost);
    if (from.every_call && from.missing == 0) out += "\nEvery call is kept, for 'rubato export'.";
    if (from.missing > 0)
        out += fmt::format("\nOf the calls that are kept for 'rubato export', {} are missing: there was no room.",
                           from.missing);
    return out;
}

std::string members_text(const observed& o, const observe::communicator& c) {
    constexpr std::size_t most = 12;
    const std::size_t ranks = c.members.size();
    const std::string times = c.count > 1 ? fmt::format(", {} communicators", c.count) : "";
    if (static_cast<std::int32_t>(ranks) == o.from.ranks) return fmt::format("all {}{}", counted(ranks, "rank"), times);
    const bool row = ranks > 2 && c.members.back() - c.members.front() + 1 == static_cast<std::int32_t>(ranks) &&
                     std::ranges::is_sorted(c.members);
    const auto shown = c.members.begin() + static_cast<std::ptrdiff_t>(std::min(ranks, most));
    return fmt::format("{}: {}{}{}", counted(ranks, "rank"),
                       row ? fmt::format("{} to {}", c.members.front(), c.members.back())
                           : fmt::format("{}", fmt::join(c.members.begin(), shown, ", ")),
                       !row && ranks > most ? ", ..." : "", times);
}

}  // namespace rubato::report
