#include "schedules/algorithms/pattern/host_view.hpp"
#include "schedules/algorithms/pattern/arrival_order.hpp"

#include "schedules/algorithms/builders.hpp"

#include <algorithm>

namespace rubato::schedules {

host_view::host_view(const problem& p, rank me) : p_(p), me_(me), mine_(host_of(me)) {
    for (const rank r : line_up(p)) {
        if (host_of(r) >= members_.size()) members_.resize(host_of(r) + 1);
        members_[host_of(r)].push_back(r);
    }
    if (traits(p.what).rooted) {
        auto& with_root = members_[host_of(p.root)];
        const auto root = std::ranges::find(with_root, p.root);
        std::rotate(with_root.begin(), root, root + 1);
    }
    for (const auto& m : members_) leaders_.push_back(m.front());
}

std::vector<rank> host_view::in_rank_order(std::size_t host) const {
    std::vector<rank> sorted = members_[host];
    std::ranges::sort(sorted);
    return sorted;
}

problem host_view::smaller(std::size_t ranks) const {
    problem p = p_;
    p.ranks = static_cast<std::int32_t>(ranks);
    p.root = rank(0);
    p.arrivals.clear();
    p.hosts.clear();
    p.places.clear();
    return p;
}

subproblem host_view::among_leaders(ready when) const {
    problem p = smaller(hosts());
    const auto when_there = [this](rank r) { return arrival(p_, r); };
    for (std::size_t i = 0; i < hosts(); ++i) {
        if (traits(p_.what).rooted && leaders_[i] == p_.root) p.root = rank(static_cast<std::int32_t>(i));
        if (p_.arrivals.empty()) continue;
        const rank last = std::ranges::max(members_[i], {}, when_there);
        p.arrivals.push_back(arrival(p_, when == ready::with_first ? leaders_[i] : last));
    }
    return {p, leaders_, rank(static_cast<std::int32_t>(mine_))};
}

subproblem host_view::within_host(collective what, std::uint32_t segments) const {
    const std::vector<rank>& who = members_[mine_];
    problem p = smaller(who.size());
    p.what = what;
    p.segments = segments;
    for (const rank r : who)
        if (!p_.arrivals.empty()) p.arrivals.push_back(arrival(p_, r));
    return {p, who, rank(static_cast<std::int32_t>(std::ranges::find(who, me_) - who.begin()))};
}

slice reduce_in_host(builder& b, const host_view& h) {
    const subproblem l = h.within_host(collective::reduce, b.parts());
    if (l.who.size() == 1) return b.input();
    const slice sum = h.leads() ? b.scratch_chunks() : b.output();
    b.embed(reduce_clairvoyant_plus(l.what, std::span(&l.me, 1)).front(), l.who, b.input(), sum);
    return sum;
}

schedule bcast_on_two_levels(const problem& p, rank me, together_builder& how) {
    const host_view h(p, me);
    const subproblem mine = h.within_host(collective::bcast, p.segments);
    const schedule within = how(mine.what, std::span(&mine.me, 1)).front();
    builder b(p, me, within.parts);
    if (h.leads()) {
        const subproblem l = h.among_leaders(host_view::ready::with_first);
        b.embed(how(l.what, std::span(&l.me, 1)).front(), l.who, b.input(), b.output());
    }
    b.embed(within, mine.who, me == p.root ? b.input() : b.output(), b.output());
    return std::move(b).finish();
}

schedule allreduce_on_two_levels(const problem& p, rank me, together_builder& among, together_builder& bcast) {
    const host_view h(p, me);
    if (h.hosts() == 1) return std::move(among(p, std::span(&me, 1)).front());
    const subproblem leaders = h.among_leaders(host_view::ready::with_all);
    const schedule total = among(leaders.what, std::span(&leaders.me, 1)).front();
    builder b(p, me, total.parts);
    const slice sum = reduce_in_host(b, h);
    if (h.leads()) b.embed(total, leaders.who, sum, b.output());
    const subproblem mine = h.within_host(collective::bcast, b.parts());
    b.embed(bcast(mine.what, std::span(&mine.me, 1)).front(), mine.who, b.output(), b.output());
    return std::move(b).finish();
}

}  // namespace rubato::schedules
