#include "contender.hpp"

#include "rubato/arrival.hpp"
#include "rubato/simulate.hpp"

#include <fmt/format.h>

#include <map>

namespace reproduction {

using namespace rubato;

namespace {

problem make_problem(const algorithm& a, std::int64_t bytes, std::uint32_t segments) {
    problem p;
    p.what = collective::reduce;
    p.ranks = ranks;
    p.segments = segments;
    if (a.name() == "radix_k") p.radix = {4, 4, 8};
    p.arrivals.assign(ranks, {});
    if (a.has(need::round_time)) p.round_time = segment_time(curie(), part_offset(bytes, segments, 1));
    return p;
}

}  // namespace

const model& curie() {
    static const model m = parse_model("curie");
    return m;
}

const hockney& costs() {
    static const hockney c = linear_costs(curie());
    return c;
}

contender::contender(std::string_view name, std::int64_t bytes, std::uint32_t segments)
    : a_(find_algorithm(fmt::format("reduce/{}", name))), bytes_(bytes) {
    segments_ = segments > 0 ? segments : choose_segments();
    balanced_ = run({});
}

time_ns contender::run(time_ns delay, rank late) {
    problem p = make_problem(a_, bytes_, segments_);
    p.arrivals[static_cast<std::size_t>(late.value)] = delay;
    if (all_.empty() || a_.arrival_aware) all_ = build_all(a_, p);
    const layout l = layout::uniform(bytes_);
    return run_time(p.arrivals, simulate(curie(), all_, std::span(&l, 1), p.arrivals).exits);
}

double contender::absorption(time_ns delay) {
    return normalised(rubato::absorption(balanced_, run(delay), delay), balanced_);
}

/// As `rubato sim` does: the formula's number for algorithms that plan in rounds, else the best power of two.
std::uint32_t contender::choose_segments() {
    if (!a_.segmented) return 1;
    if (a_.has(need::round_time)) return optimal_segments(curie(), ranks, bytes_);
    static std::map<std::pair<std::string_view, std::int64_t>, std::uint32_t> known;
    std::uint32_t& best = known[{a_.id, bytes_}];
    if (best > 0) return best;
    time_ns fastest = time_ns::max();
    for (segments_ = 1; segments_ <= 1024; segments_ *= 2) {
        all_.clear();
        const time_ns t = run({});
        if (t < fastest) {
            fastest = t;
            best = segments_;
        }
    }
    all_.clear();
    return best;
}

}  // namespace reproduction
