// Several ranks per host: the leader of each host, and the smaller problems within a host and among the leaders.
//
// Several ranks per host. The first rank of a host to arrive leads it (the root leads its own), so nobody waits for a
// leader. The work within a host and among the leaders consists of smaller problems of the same kinds, with their own
// arrivals: a host has arrived when its leader has or, where all its data is needed, when its last rank has. This makes
// these problems, and builder::embed puts the schedule of one into the whole. So reduce, allreduce and bcast on two
// levels are a few lines each. Where chunks belong to ranks, leaders send the chunks of a host in one message, or each
// when its owner arrives. Models do not know that ranks of a host share a link, from which most of the gain comes.
#pragma once

#include "rubato/builder.hpp"

#include <vector>

namespace rubato::schedules {

/// A problem of fewer ranks: its rank i is who[i]. This rank is `me`, if it takes part.
struct subproblem {
    problem what{};
    std::span<const rank> who{};
    rank me{};
};

/// The first of a host's ranks to arrive leads it; the root leads its own.
class host_view {
public:
    host_view(const problem& p, rank me);

    /// The same hosts, seen by another rank.
    void see_from(rank me) {
        me_ = me;
        mine_ = host_of(me);
    }

    std::size_t hosts() const { return leaders_.size(); }
    std::size_t mine() const { return mine_; }
    rank leader(std::size_t host) const { return leaders_[host]; }
    bool leads() const { return leaders_[mine_] == me_; }
    /// All ranks of a host, its leader first, then the earliest first.
    std::span<const rank> members(std::size_t host) const { return members_[host]; }
    /// The same in the order of ranks, in which chunks lie.
    std::vector<rank> in_rank_order(std::size_t host) const;

    enum class ready { with_first, with_all };
    /// The problem among the leaders. A host has arrived when its leader has, or when all its ranks have.
    subproblem among_leaders(ready when) const;
    /// A collective within this rank's host, with the leader as root.
    subproblem within_host(collective what, std::uint32_t segments) const;

private:
    problem smaller(std::size_t ranks) const;
    std::size_t host_of(rank r) const {
        return static_cast<std::size_t>(p_.hosts.empty() ? r.value : p_.hosts[static_cast<std::size_t>(r.value)]);
    }

    const problem& p_;
    rank me_;
    std::size_t mine_ = 0;
    std::vector<std::vector<rank>> members_{};
    std::vector<rank> leaders_{};
};

/// The function behind a row whose schedules are computed together.
using together_builder = std::vector<schedule>(const problem&, std::span<const rank>);

/// A broadcast that goes among the leaders, and then within each host, as `how` does it.
schedule bcast_on_two_levels(const problem& p, rank me, together_builder& how);
/// Data is combined at the leader of each host as in reduce/clairvoyant_plus, among the leaders as `among` does it, and
/// goes to all ranks of a host as `bcast` does it. A host has arrived when all its ranks have.
schedule allreduce_on_two_levels(const problem& p, rank me, together_builder& among, together_builder& bcast);
/// Appends the reduction of a host's ranks to their leader; returns where the leader has the sum.
slice reduce_in_host(builder& b, const host_view& h);

}  // namespace rubato::schedules
