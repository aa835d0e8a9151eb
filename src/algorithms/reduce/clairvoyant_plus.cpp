// Clairvoyant in fewer rounds. The same kind of plan, but the last ranks to arrive are served first, and the root never
// sends: so the latest ranks, which have least time, always have a partner.
//
// Cost: R rounds of alpha + m/N (beta + gamma) for N segments; never more than Clairvoyant's, and ceil(log2 P) + N - 1
// if all arrive together. Rank counts: any. Source: ours; the rounds are those of Marendic et al. 2016, 5.4.
#include "algorithms/builders.hpp"
#include "clairvoyant/rounds.hpp"

namespace rubato {

std::vector<schedule> reduce_clairvoyant_plus(const problem& p, std::span<const rank> who) {
    return clairvoyant::schedules_of(p, clairvoyant::generate_plus(clairvoyant::instance_of(p)), who);
}

std::vector<schedule> reduce_clairvoyant_plus_own_last(const problem& p, std::span<const rank> who) {
    const clairvoyant::instance in = clairvoyant::instance_of(clairvoyant::with_root_there(p));
    return clairvoyant::schedules_for_late_root(p, clairvoyant::generate_plus(in), who);
}

}  // namespace rubato
