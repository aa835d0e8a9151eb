// Reductions of 2^7 to 2^20 ranks: classic trees, one plan for all ranks, and the hierarchical form: a plan within each
// of about sqrt(P) groups of neighbours, then one among the groups.
#include "groups.hpp"

#include "rubato/arrival.hpp"
#include "rubato/noise.hpp"
#include "simulator/simulate/at_scale.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <vector>

namespace scale {

using namespace rubato;

namespace {

constexpr std::array<std::int32_t, 5> rank_counts{1 << 7, 1 << 10, 1 << 14, 1 << 17, 1 << 20};
constexpr std::array<std::int64_t, 2> grouped_sizes{8, 64 << 10};
constexpr std::int32_t cluster = 64;  // ranks that are late together
/// What ranks compute before the call, and what their processors do meanwhile.
constexpr time_ns computing = std::chrono::milliseconds(10);
constexpr std::string_view detours = "random:period=1ms,duration=10us,seed=1";

/// t: the time of the best classic tree if all arrive together.
using arrival_maker = std::function<std::vector<time_ns>(std::int32_t ranks, time_ns t)>;

std::vector<time_ns> drawn(std::int32_t count, time_ns most, int seed) {
    return parse_arrivals(fmt::format("uniform:max={}ns,seed={}", std::max<time_ns::rep>(1, most.count()), seed),
                          count);
}

std::vector<time_ns> by_noise(std::int32_t ranks, time_ns) {
    const noise all = parse_noise(detours);
    std::vector<time_ns> arrivals;
    for (std::int32_t r = 0; r < ranks; ++r)
        arrivals.push_back(all.of(static_cast<std::uint32_t>(r)).end_of(time_ns{}, computing));
    const time_ns first = std::ranges::min(arrivals);
    for (time_ns& a : arrivals) a -= first;
    return arrivals;
}

std::vector<time_ns> in_clusters(std::int32_t ranks, time_ns t) {
    const std::vector<time_ns> of_cluster = drawn((ranks + cluster - 1) / cluster, 2 * t, 2);
    std::vector<time_ns> arrivals = drawn(ranks, t / 10, 3);
    for (std::size_t r = 0; r < arrivals.size(); ++r) arrivals[r] += of_cluster[r / cluster];
    return arrivals;
}

std::vector<time_ns> one_late(std::int32_t ranks, time_ns t) {
    std::vector<time_ns> arrivals(static_cast<std::size_t>(ranks));
    arrivals[static_cast<std::size_t>(ranks) * 3 / 8] = 2 * t;
    return arrivals;
}

struct named_arrivals {
    std::string_view name;
    arrival_maker make;
};
const std::array<named_arrivals, 5> patterns_of_groups{
    named_arrivals{"together",
                   [](std::int32_t n, time_ns) { return std::vector<time_ns>(static_cast<std::size_t>(n)); }},
    named_arrivals{"one, 2 t", one_late},
    named_arrivals{"uniform, 2 t", [](std::int32_t n, time_ns t) { return drawn(n, 2 * t, 1); }},
    named_arrivals{"clusters, 2 t", in_clusters},
    named_arrivals{"noise", by_noise},
};

/// Groups of neighbours, as equal as can be.
std::string groups_of(std::int32_t ranks) {
    return std::to_string(static_cast<std::int32_t>(std::lround(std::sqrt(static_cast<double>(ranks)))));
}

time_ns tail_of(std::string_view id, std::int32_t ranks, std::int64_t bytes, const std::vector<time_ns>& arrivals) {
    const algorithm& a = find_algorithm(id);
    const model network = parse_model("curie");
    problem p;
    p.what = a.what;
    p.ranks = ranks;
    if (a.arrival_aware) p.arrivals = arrivals;
    if (a.uses_round_time()) p.round_time = segment_time(network, bytes);
    if (a.host_aware) p.hosts = parse_hosts(groups_of(ranks), ranks);
    const layout sizes = layout::uniform(bytes);
    schedules::shape_table shapes = simulator::shapes_of(a, p, std::span(&sizes, 1));
    return tail(arrivals, simulator::simulate(network, shapes, arrivals).exits);
}

struct named_tail {
    std::string_view name;
    time_ns tail;
};

named_tail best_of(std::initializer_list<std::string_view> ids, std::int32_t ranks, std::int64_t bytes,
                   const std::vector<time_ns>& arrivals) {
    std::optional<named_tail> best;
    for (const std::string_view id : ids) {
        const time_ns t = tail_of(id, ranks, bytes, arrivals);
        if (!best || t < best->tail) best = named_tail{id.substr(id.find('/') + 1), t};
    }
    return *best;
}

std::string us(time_ns t) { return fmt::format("{:.1f}", static_cast<double>(t.count()) / 1e3); }

std::string cells(std::int32_t ranks, std::int64_t bytes, const named_arrivals& late, time_ns t) {
    const std::vector<time_ns> arrivals = late.make(ranks, t);
    const named_tail classic = best_of({"reduce/binomial", "reduce/knomial"}, ranks, bytes, arrivals);
    return fmt::format(" {} {} | {} | {} |", classic.name, us(classic.tail),
                       us(tail_of("reduce/clairvoyant_plus", ranks, bytes, arrivals)),
                       us(tail_of("reduce/two_level", ranks, bytes, arrivals)));
}

}  // namespace

std::string groups_table(std::int32_t most_ranks) {
    std::string out = "\n## Groups\n\n| ranks | groups | late |";
    for (const std::int64_t bytes : grouped_sizes)
        out += fmt::format(" {}: classic | one plan | groups |", format_bytes(bytes));
    out += "\n|---|---|---|---|---|---|---|---|---|\n";
    for (const std::int32_t ranks : rank_counts) {
        if (ranks > most_ranks) break;
        std::vector<time_ns> balanced;
        const std::vector<time_ns> together(static_cast<std::size_t>(ranks));
        for (const std::int64_t bytes : grouped_sizes)
            balanced.push_back(best_of({"reduce/binomial", "reduce/knomial"}, ranks, bytes, together).tail);
        for (const named_arrivals& late : patterns_of_groups) {
            out += fmt::format("| {} | {} | {} |", ranks, groups_of(ranks), late.name);
            for (std::size_t i = 0; i < grouped_sizes.size(); ++i)
                out += cells(ranks, grouped_sizes[i], late, balanced[i]);
            out += '\n';
        }
    }
    return out;
}

}  // namespace scale
