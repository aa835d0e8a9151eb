// What can be made of a problem's rounds: every rank's schedule, and a picture of who holds what when.
#pragma once

#include "clairvoyant/clairvoyant.hpp"
#include "rubato/schedule.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rubato::clairvoyant {

/// The part of a problem that its rounds depend on. Without a round time any is as good: all arrive together.
RUBATO_API instance instance_of(const problem& p);

/// What is complete at the root goes on from one rank to another, after the transfers of this round.
struct relay {
    std::int64_t round = 0;
    rank from{};
    rank to{};
    std::uint32_t segment = 0;
};

/// The schedules of some ranks, whoever made the rounds; `r` must have all transfers of these ranks. In each round a
/// rank sends at most one segment that it holds and receives at most one. Relays are by round; for collectives whose
/// result is wanted elsewhere than at the root.
RUBATO_API std::vector<schedule> schedules_of(const problem& p, const rounds& r, std::span<const rank> who,
                                              std::span<const relay> relays = {});
/// With a root that is there from the start, if only to receive.
RUBATO_API problem with_root_there(problem p);
/// The schedules where others' work for a late root is done before it comes. Unless it is predicted to be among the
/// first, it keeps its own data until the end and then adds it to what has come: it sends nothing, though the rounds,
/// those of with_root_there, may say so.
RUBATO_API std::vector<schedule> schedules_for_late_root(const problem& p, const rounds& r, std::span<const rank> who);

/// An SVG picture: what each rank holds of each segment from round to round, and who hands what to whom.
RUBATO_API std::string draw(std::string_view title, const instance& in, const rounds& r);

}  // namespace rubato::clairvoyant
