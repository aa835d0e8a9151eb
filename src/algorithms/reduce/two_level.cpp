// Two-level reduce. The ranks of a host combine their data at the first of them to arrive, or at the root. These
// leaders do the same among the hosts, where a host arrives when all its ranks have. Both as in clairvoyant_plus.
//
// Cost: that of reduce/clairvoyant_plus within the largest host, then among the hosts: of H hosts, H - 1 vectors cross
// between them. With all ranks on one host it is clairvoyant_plus.
// Rank counts: any, and any number of them on a host. If nothing is known of hosts, each rank has its own.
// Source: ours; leaders as in Karonis et al. 2000.
#include "algorithms/builders.hpp"
#include "algorithms/pattern/host_view.hpp"

#include <map>

namespace rubato {
namespace {

/// The schedules of some of a smaller problem's ranks, which one computation makes.
class planned_level {
public:
    explicit planned_level(level l) : of_(std::move(l)) {}

    void want(rank me) { wanted_.push_back(me); }
    void plan() {
        std::vector<schedule> all = reduce_clairvoyant_plus(of_.what, wanted_);
        for (std::size_t i = 0; i < wanted_.size(); ++i) schedules_.emplace(wanted_[i], std::move(all[i]));
    }
    /// Once for each rank.
    void embed_in(builder& b, rank me, slice input, slice output) {
        b.embed(schedules_.extract(me).mapped(), of_.who, input, output);
    }
    std::size_t ranks() const { return of_.who.size(); }

private:
    level of_;
    std::vector<rank> wanted_{};
    std::map<rank, schedule> schedules_{};
};

}  // namespace

std::vector<schedule> reduce_two_level(const problem& p, std::span<const rank> who) {
    if (who.empty()) return {};
    host_view h(p, who.front());
    if (h.hosts() == 1) return reduce_clairvoyant_plus(p, who);
    planned_level leaders(h.among_leaders(host_view::ready::with_all));
    std::map<std::size_t, planned_level> hosts;
    std::vector<rank> within(static_cast<std::size_t>(p.ranks));  // its host
    for (std::size_t host = 0; host < h.hosts(); ++host)
        for (std::int32_t i = 0; const rank r : h.members(host)) within[static_cast<std::size_t>(r.value)] = rank(i++);
    for (const rank me : who) {
        h.see_from(me);
        auto host = hosts.find(h.mine());
        if (host == hosts.end()) host = hosts.emplace(h.mine(), h.within_host(collective::reduce, p.segments)).first;
        host->second.want(within[static_cast<std::size_t>(me.value)]);
        if (h.leads()) leaders.want(rank(static_cast<std::int32_t>(h.mine())));
    }
    leaders.plan();
    for (auto& [number, host] : hosts) host.plan();
    std::vector<schedule> all;
    all.reserve(who.size());
    for (const rank me : who) {
        h.see_from(me);
        builder b(p, me, p.segments);
        planned_level& host = hosts.at(h.mine());
        slice sum = b.input();
        if (host.ranks() > 1) {
            sum = h.leads() ? b.scratch_chunks() : b.output();
            host.embed_in(b, within[static_cast<std::size_t>(me.value)], b.input(), sum);
        }
        if (h.leads()) leaders.embed_in(b, rank(static_cast<std::int32_t>(h.mine())), sum, b.output());
        all.push_back(std::move(b).finish());
    }
    return all;
}

}  // namespace rubato
