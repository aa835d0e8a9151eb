// Turns a problem's rounds into every rank's schedule, and into a picture of who holds what when.
#pragma once

#include "clairvoyant/clairvoyant.hpp"
#include "rubato/schedule.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::clairvoyant {

/// The part of a problem that its rounds depend on. Without a round time all arrive together, so any value will do.
RUBATO_API instance instance_of(const problem& p);

/// A segment that is complete at the root is passed from one rank to another, after the transfers of this round.
struct relay {
    std::int64_t round = 0;
    rank from{};
    rank to{};
    std::uint32_t segment = 0;
};

/// The schedules of some ranks, for rounds of any origin; `r` must have all transfers of these ranks. In each round a
/// rank sends at most one segment that it holds and receives at most one. Relays are in the order of rounds; they serve
/// collectives whose result is needed on other ranks than the root.
RUBATO_API std::vector<schedule> schedules_of(const problem& p, const rounds& r, std::span<const rank> who,
                                              std::span<const relay> relays = {});
/// The problem with a root that is there from the start, at least to receive.
RUBATO_API problem with_root_there(problem p);
/// Schedules in which the others finish their work for a late root before it arrives. Unless it is predicted to be
/// among the first, it keeps its own data until the end and then adds it to what it has received. It sends nothing,
/// even where the rounds, those of with_root_there, say so.
RUBATO_API std::vector<schedule> schedules_for_late_root(const problem& p, const rounds& r, std::span<const rank> who);

/// An SVG picture: what each rank holds of each segment from round to round, and who sends what to whom.
RUBATO_API std::string draw(std::string_view title, const instance& in, const rounds& r);

}  // namespace rubato::clairvoyant
