#include "rubato/clairvoyant.hpp"

#include <fmt/format.h>

namespace rubato::clairvoyant {

void check(const instance& in) {
    problem p;
    p.what = collective::reduce;
    p.ranks = in.ranks;
    p.root = in.root;
    p.segments = in.segments;
    p.arrivals = in.arrivals;
    rubato::check(p);
    if (in.round_time < time_ns{1})
        throw error(fmt::format("round time {}", format_time(in.round_time)), "a round takes time",
                    "give at least 1ns: what it takes to send and combine one segment");
    constexpr time_ns most{std::int64_t{1} << 60};
    for (const time_ns t : in.arrivals)
        if (t > most || t < -most)
            throw error(fmt::format("arrival {}", format_time(t)), "times are within 36 years",
                        "measure from later on");
    if (in.round_time > most)
        throw error(fmt::format("round time {}", format_time(in.round_time)), "times are within 36 years",
                    "give a shorter one");
}

}  // namespace rubato::clairvoyant
