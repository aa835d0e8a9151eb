// Clairvoyant. It is known who arrives when, so those who are there combine among themselves while the others are still
// on their way. In each round every rank takes in one segment and hands over one, the lowest it can, and all segments
// trickle down to the root.
//
// Cost: R rounds of alpha + m/N (beta + gamma) for N segments; R is ceil(log2 P) + N - 1 if all arrive together and P
// is a power of two. Ranks do not keep step, they only wait for what they need: so it can only be faster than the
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
