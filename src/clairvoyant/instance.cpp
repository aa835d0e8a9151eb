#include "clairvoyant/clairvoyant.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato::clairvoyant {

void check(const instance& in) {
    problem p;
    p.what = collective::reduce;
    p.ranks = in.ranks;
    p.root = in.root;
    p.segments = in.segments;
    p.arrivals = in.arrivals;
    p.round_time = std::max(in.round_time, time_ns{});
    rubato::check(p);
    if (in.round_time < time_ns{1})
        throw error(fmt::format("round time {}", format_time(in.round_time)), "a round takes time",
                    "give at least 1ns: what it takes to send and combine one segment");
}

}  // namespace rubato::clairvoyant
