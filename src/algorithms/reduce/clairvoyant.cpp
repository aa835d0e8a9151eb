// Clairvoyant. Arrivals are known, so ranks that have arrived combine with each other before the others arrive. In each
// round every rank receives one segment and sends one, the lowest it can, until the root has all segments.
//
// Cost: R rounds of alpha + m/N (beta + gamma) for N segments; R is ceil(log2 P) + N - 1 if all arrive together and P
// is a power of two. Ranks do not wait for rounds to end, only for what they need: so a run can only be faster than its
// rounds. Rank counts: any; sometimes a round more than the least if P is no power of two. Source: Marendic et al.
// 2016, 5.4; Proficz & Ocetkiewicz 2020.
#include "algorithms/builders.hpp"
#include "clairvoyant/rounds.hpp"

namespace rubato {
namespace {

clairvoyant::rounds rounds_of(const problem& p, std::span<const rank> who) {
    const clairvoyant::instance in = clairvoyant::instance_of(p);
    return who.size() == 1 ? clairvoyant::generate(in, who.front()) : clairvoyant::generate(in);
}

}  // namespace

std::vector<schedule> reduce_clairvoyant(const problem& p, std::span<const rank> who) {
    return clairvoyant::schedules_of(p, rounds_of(p, who), who);
}

std::vector<schedule> reduce_clairvoyant_own_last(const problem& p, std::span<const rank> who) {
    return clairvoyant::schedules_for_late_root(p, rounds_of(clairvoyant::with_root_there(p), who), who);
}

}  // namespace rubato
