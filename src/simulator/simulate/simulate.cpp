#include "rubato/simulate.hpp"

#include "base/core/overloaded.hpp"
#include "base/core/text.hpp"
#include "simulator/simulate/at_scale.hpp"
#include "simulator/simulate/shared_cables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace rubato {

std::int64_t simulator::whole_ns(double duration) {
    if (!(duration < 1e13))  // so that sums do not overflow; also true of a NaN
        throw error(fmt::format("a step that takes {:.3g} ns", duration), "simulated steps take less than three hours",
                    "check the model and the size");
    return std::llround(duration);
}

simulator::run_of_ranks::run_of_ranks(schedules::shape_table& ranks, std::span<const time_ns> arrivals,
                                      const simulation_options& how, simulation& result,
                                      simulator::shared_cables* cables)
    : shapes_(ranks),
      arrivals_(arrivals),
      how_(how),
      result_(result),
      cables_(cables),
      first_arrival_(std::ranges::min(arrivals)),
      ready_(std::make_unique_for_overwrite<std::int64_t[]>(ranks.first().back())),
      waits_(std::make_unique_for_overwrite<std::uint32_t[]>(ranks.first().back())) {
    if (!how.record_steps) return;
    result.steps.resize(arrivals.size());
    for (std::uint32_t r = 0; r < arrivals.size(); ++r) result.steps[r].resize(ranks.of(r).size());
}

void simulator::run_of_ranks::begin(std::uint32_t rank) {
    const view v = of(rank);
    const std::int64_t arrival = arrivals_[rank].count();
    for (std::uint32_t s = 0; s < v.steps.size(); ++s) {
        const schedules::shape_step& t = v.steps.steps[s];
        v.ready[s] = how_.early && !t.needs_arrival ? first_arrival_.count() : arrival;
        v.waits[s] = t.waits_for + t.ports_before;
    }
}

void simulator::run_of_ranks::end() {
    result_.exits.assign(arrivals_.begin(), arrivals_.end());
    for (std::uint32_t r = 0; r < ranks(); ++r) {
        const view v = of(r);
        for (std::uint32_t s = 0; s < v.steps.size(); ++s) {
            if (v.waits[s] != done) shapes_.deadlock(r, s);
            result_.exits[r] = std::max(result_.exits[r], time_ns(v.ready[s]));
        }
    }
}

namespace {

template <class Network>
const Network& same_kind(const Network& network, const model* inside) {
    if (inside == nullptr) return network;
    if (const auto* same = std::get_if<Network>(&inside->network)) return *same;
    throw error("hosts whose model is of another kind than the network's", "messages cost the same kind of things",
                "give two of the same kind, such as hockney:...");
}

bool has_interfaces(const model& m) {
    return std::visit(base::overloaded{[](const hockney&) { return false; }, [](const loggp&) { return true; },
                                       [](const loggp5&) { return false; }, [](const loggops&) { return true; }},
                      m.network);
}

}  // namespace

schedules::shape_table simulator::shapes_of(const algorithm& a, const problem& p, std::span<const layout> layouts) {
    schedules::shape_table all(p.ranks);
    const auto add = [&](const schedule& s) { all.add(s, layouts[layouts.size() == 1 ? 0 : all.first().size() - 1]); };
    if (a.build == nullptr || !p.places.empty()) {
        std::ranges::for_each(build_all(a, p), add);
    } else {
        check(a, p);
        for (std::int32_t r = 0; r < p.ranks; ++r) add(a.build(p, rank(r)));
    }
    return all;
}

simulation simulator::simulate(const model& m, schedules::shape_table& ranks, std::span<const time_ns> arrivals,
                               const simulation_options& given, simulator::shared_cables* cables) {
    simulation_options options = given;
    if (cables != nullptr) {
        options.hosts = cables->hosts().first(ranks.ranks());
        options.shared_links = false;  // cables are
    }
    if (arrivals.size() != ranks.ranks())
        throw error(fmt::format("{} arrival times for {} ranks", arrivals.size(), ranks.ranks()),
                    "each rank has one arrival time", "give as many times as ranks");
    if (!options.hosts.empty() && options.hosts.size() != ranks.ranks())
        throw error(fmt::format("hosts of {} ranks, and there are {}", options.hosts.size(), ranks.ranks()),
                    "each rank is on one host", "give a host for each rank");
    if (options.shared_links && options.hosts.empty())
        throw error("links that ranks share", "each rank is on a host of its own", "say which ranks share a host");
    if (options.shared_links && !has_interfaces(m))
        throw error(fmt::format("links that ranks share under {}", network_text(m)),
                    "there are no interfaces to share in this model", "give a loggp or loggops model");
    simulation result;
    if (arrivals.empty()) return result;
    simulator::run_of_ranks r(ranks, arrivals, options, result, cables);
    std::visit([&](const auto& network) { simulator::run(network, same_kind(network, options.inside), r); }, m.network);
    r.end();
    return result;
}

simulation simulate(const model& m, std::span<const schedule> all, std::span<const layout> layouts,
                    std::span<const time_ns> arrivals, const simulation_options& options) {
    schedules::shape_table ranks = schedules::shapes_of(all, layouts);
    return simulator::simulate(m, ranks, arrivals, options);
}

slow_ranks parse_slow(std::span<const std::string> texts, std::int32_t ranks) {
    constexpr std::string_view prefix = "slow:";
    slow_ranks slow;
    for (const std::string& whole : texts) {
        std::string_view list = whole;
        if (list.starts_with(prefix)) list.remove_prefix(prefix.size());
        const base::parameters given(whole, list, {"rank", "link", "factor"});
        const auto of_rank = given.find("rank");
        const auto of_link = given.find("link");
        if (of_rank.has_value() == of_link.has_value())
            throw error(fmt::format("'{}'", whole), "either a rank or its link is slow",
                        "give one of them, such as rank=3,factor=2");
        const auto r = static_cast<std::size_t>(parse_integer(of_rank ? *of_rank : *of_link, "rank", 0, ranks - 1));
        const double factor = base::parse_real(given.get("factor"), "factor", 1, 1e6);
        std::vector<double>& factors = of_rank ? slow.processors : slow.links;
        factors.resize(static_cast<std::size_t>(ranks), 1);
        factors[r] *= factor;
    }
    return slow;
}

}  // namespace rubato
