#include "reports/tune/tuning.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace rubato::reports {
namespace {

/// Regrets that differ by less are equal, and the other measure decides; so are run times that differ by this share.
constexpr double resolution = 0.01;
/// Imbalances are told apart at these multiples of the shortest call.
constexpr double some_imbalance = 0.5;
constexpr double much_imbalance = 4;

/// By more than what is measured or simulated exactly.
bool never_loses(const timed_way& w, const timed_way& to, const std::vector<std::size_t>& patterns) {
    return std::ranges::all_of(patterns, [&](std::size_t j) {
        return static_cast<double>(w.run_times[j].count()) <=
               (1 + resolution) * static_cast<double>(to.run_times[j].count());
    });
}

bool less(const regret& a, const regret& b, measure by) {
    const measure other = by == measure::worst ? measure::mean : measure::worst;
    if (std::abs(a.by(by) - b.by(by)) > resolution) return a.by(by) < b.by(by);
    return a.by(other) < b.by(other);
}

// "allreduce 8 1024|imbalances|otherwise|a way and its run times|another|..."

std::string text_of(const way& w) { return fmt::format("{} {}", w.use != nullptr ? w.use->id : "-", w.segment); }
std::string text_of(const std::vector<time_ns>& times) {
    std::string text;
    for (const time_ns t : times) text += fmt::format(" {}", t.count());
    return text;
}

std::int64_t take_number(std::string_view& from) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    return parse_integer(take(from, " "), "number", 0, most);
}
way take_way(std::string_view& from) {
    const std::string_view id = take(from, " ");
    return {id == "-" ? nullptr : &find_algorithm(id), take_number(from)};
}
std::vector<time_ns> take_times(std::string_view from) {
    std::vector<time_ns> times;
    while (!from.empty()) times.emplace_back(take_number(from));
    return times;
}

/// Decided problems of one collective and one number of ranks.
std::vector<std::span<const decided>> alike(std::span<const decided> all) {
    std::vector<std::span<const decided>> groups;
    while (!all.empty()) {
        const timed_problem& first = *all.front().of;
        const auto end = std::ranges::find_if_not(
            all, [&first](const decided& d) { return d.of->what == first.what && d.of->ranks == first.ranks; });
        groups.push_back(all.first(static_cast<std::size_t>(end - all.begin())));
        all = all.subspan(groups.back().size());
    }
    return groups;
}

std::vector<std::int64_t> boundaries_of(std::span<const decided> same) {
    std::vector<std::int64_t> sizes;
    for (const decided& d : same) sizes.push_back(d.of->bytes);
    return boundaries(sizes);
}

/// What holds for a size, without the size.
std::vector<rule> rules_of(const decided& d) {
    std::vector<rule> all;
    const auto add = [&](std::optional<time_ns> imbalance, const way& w) {
        all.push_back({d.of->what, d.of->ranks, 0, imbalance, w.use, w.segment});
    };
    add(std::nullopt, d.any ? d.any->use : way{});
    for (const decided::by_imbalance& c : d.classes) add(c.from, c.chosen.use);
    return all;
}

void add_sizes(std::span<const decided> same, std::vector<rule>& all) {
    const std::vector<std::int64_t> from = boundaries_of(same);
    std::vector<rule> before;
    for (std::size_t i = 0; i < same.size(); ++i) {
        std::vector<rule> now = rules_of(same[i]);
        if (now == before) continue;
        before = now;
        for (rule& r : now) r.bytes = from[i];
        all.insert(all.end(), now.begin(), now.end());
    }
}

std::optional<way> use_of(const decided& d) { return d.any ? std::optional(d.any->use) : std::nullopt; }

size_rules rules_for(std::span<const decided> same) {
    size_rules r{same.front().of->what, same.front().of->ranks};
    const std::vector<std::int64_t> from = boundaries_of(same);
    if (from.front() > 0) r.sizes.push_back({0, std::nullopt});
    for (std::size_t i = 0; i < same.size(); ++i)
        if (r.sizes.empty() || r.sizes.back().use != use_of(same[i])) r.sizes.push_back({from[i], use_of(same[i])});
    return r;
}

}  // namespace

std::string to_string(const way& w) {
    if (w.use == nullptr) return "native";
    std::string cut = w.segment > 0 ? fmt::format("@{}", format_bytes(w.segment)) : "";
    std::erase(cut, ' ');
    return fmt::format("{}{}", w.use->id, cut);
}

const timed_way* timed_problem::find(const way& w) const {
    const auto found = std::ranges::find(ways, w, &timed_way::how);
    return found == ways.end() ? nullptr : &*found;
}

time_ns timed_problem::shortest() const {
    time_ns least = longest_time;
    for (const timed_way& w : ways) least = std::min(least, std::ranges::min(w.run_times));
    return std::max(least, time_ns{1});
}

regret regret_of(const timed_problem& p, const timed_way& w, const std::vector<std::size_t>& patterns) {
    const auto unit = static_cast<double>(p.shortest().count());
    regret r;
    for (const std::size_t j : patterns) {
        time_ns soonest = w.run_times[j];
        for (const timed_way& other : p.ways) soonest = std::min(soonest, other.run_times[j]);
        const double lost = static_cast<double>((w.run_times[j] - soonest).count()) / unit;
        r.worst = std::max(r.worst, lost);
        r.mean += lost / static_cast<double>(patterns.size());
    }
    return r;
}

std::optional<pick> best(const timed_problem& p, const std::vector<std::size_t>& patterns, const demands& d) {
    if (!p.otherwise && d.keeps_unknown) return std::nullopt;
    const timed_way* const otherwise = p.otherwise ? p.find(*p.otherwise) : nullptr;
    std::optional<pick> found;
    for (const timed_way& w : p.ways) {
        if (&w == otherwise || (otherwise != nullptr && !never_loses(w, *otherwise, patterns))) continue;
        const regret r = regret_of(p, w, patterns);
        if (!found || less(r, found->expected, d.by)) found = pick{w.how, r, std::nullopt};
    }
    if (!found || otherwise == nullptr) return found;
    found->of_otherwise = regret_of(p, *otherwise, patterns);
    return found->of_otherwise->by(d.by) - found->expected.by(d.by) >= d.margin ? found : std::nullopt;
}

decided decide(const timed_problem& p, const demands& d) {
    decided all{&p};
    std::vector<std::size_t> patterns(p.imbalances.size());
    std::iota(patterns.begin(), patterns.end(), std::size_t{0});
    all.any = best(p, patterns, d);
    if (!all.any) return all;
    const auto unit = static_cast<double>(p.shortest().count());
    const time_ns limits[]{
        {}, time_ns(std::llround(some_imbalance * unit)), time_ns(std::llround(much_imbalance * unit)), longest_time};
    bool differs = false;
    for (std::size_t c = 0; c + 1 < std::size(limits); ++c) {
        std::vector<std::size_t> within;
        for (const std::size_t j : patterns)
            if (p.imbalances[j] >= limits[c] && p.imbalances[j] < limits[c + 1]) within.push_back(j);
        const std::optional<pick> chosen = within.empty() ? all.any : best(p, within, d);
        all.classes.push_back({limits[c], chosen.value_or(*all.any)});
        differs |= all.classes.back().chosen.use != all.any->use;
    }
    if (!differs) all.classes.clear();
    return all;
}

std::vector<std::int64_t> boundaries(const std::vector<std::int64_t>& sizes) {
    std::vector<std::int64_t> from;
    for (std::size_t i = 0; i < sizes.size(); ++i)
        from.push_back(i == 0 ? sizes[0]
                              : std::llround(std::sqrt(static_cast<double>(sizes[i - 1])) *
                                             std::sqrt(static_cast<double>(sizes[i]))));
    return from;
}

rules own_rules(std::span<const decided> all, std::optional<model> network) {
    std::vector<rule> found;
    const std::vector<std::span<const decided>> groups = alike(all);
    for (std::size_t i = 0; i < groups.size(); ++i) {
        add_sizes(groups[i], found);
        const timed_problem& here = *groups[i].front().of;
        // For many more ranks nothing is known.
        if (i + 1 == groups.size() || groups[i + 1].front().of->what != here.what)
            found.push_back({here.what, 2 * here.ranks});
    }
    return rules(std::move(found), network);
}

std::vector<size_rules> by_size(std::span<const decided> all) {
    std::vector<size_rules> grouped;
    for (const std::span<const decided> same : alike(all)) grouped.push_back(rules_for(same));
    return grouped;
}

std::string_view take(std::string_view& from, std::string_view separator) {
    const std::string_view first = from.substr(0, from.find(separator));
    from.remove_prefix(std::min(first.size() + separator.size(), from.size()));
    return first;
}

std::string as_text(const timed_problem& p) {
    const std::string imbalances = text_of(p.imbalances);
    std::string text = fmt::format("{} {} {}|{}|{}", traits(p.what).name, p.ranks, p.bytes,
                                   std::string_view(imbalances).substr(imbalances.empty() ? 0 : 1),
                                   p.otherwise ? text_of(*p.otherwise) : "");
    for (const timed_way& w : p.ways) text += fmt::format("|{}{}", text_of(w.how), text_of(w.run_times));
    return text;
}

timed_problem from_text(std::string_view text) {
    std::string_view head = take(text, "|");
    timed_problem p{parse_collective(take(head, " "))};
    p.ranks = static_cast<std::int32_t>(take_number(head));
    p.bytes = take_number(head);
    p.imbalances = take_times(take(text, "|"));
    if (std::string_view otherwise = take(text, "|"); !otherwise.empty()) p.otherwise = take_way(otherwise);
    while (!text.empty()) {
        std::string_view line = take(text, "|");
        const way how = take_way(line);
        p.ways.push_back({how, take_times(line)});
    }
    return p;
}

}  // namespace rubato::reports
