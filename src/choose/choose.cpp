#include "rubato/choose.hpp"

#include "parts.hpp"
#include "rubato/layout.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

namespace rubato {
namespace {

constexpr std::array<std::int64_t, 5> segment_sizes{4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10};
/// More of them cost steps and gain nothing.
constexpr std::int64_t most_segments = 256;
/// The size that tells whether an algorithm is worth trying with others, and how many times as long as the best it may
/// take.
constexpr std::int64_t first_size = 16 << 10;
constexpr int hopeless = 2;
/// What candidates must differ by to be told apart, as a share of the time after the last arrival: no model is better.
/// What it leaves out, such as processors that are shared, costs more the more messages there are.
constexpr double resolution = 0.05;

/// In how large pieces a segmenting algorithm may cut a chunk.
std::vector<std::int64_t> sizes_for(const problem& p, std::int64_t chunk) {
    if (p.segments > 1) return {std::max<std::int64_t>(1, (chunk + p.segments - 1) / p.segments)};
    std::vector<std::int64_t> sizes;
    for (const std::int64_t s : segment_sizes)
        if (s < chunk && chunk <= most_segments * s) sizes.push_back(s);
    if (sizes.empty())  // small, or very large
        sizes.push_back(chunk <= segment_sizes.front() ? std::max<std::int64_t>(1, chunk)
                                                       : (chunk + most_segments - 1) / most_segments);
    return sizes;
}

candidate make(const algorithm& a, const problem& p, std::int64_t chunk, std::int64_t segment, const model& m) {
    candidate c;
    c.use = &a;
    c.segment = segment;
    problem cut = p;
    cut.segments = c.segments = segment > 0 && p.segments > 1 ? p.segments : pieces(chunk, segment);
    c.round_time = round_time_of(a, cut, chunk, m);
    std::string size = segment == 0 ? "" : fmt::format("@{}", format_bytes(segment));
    std::erase(size, ' ');
    c.name = fmt::format("{}{}", a.id, size);
    return c;
}

/// With their ends: of each algorithm the candidate that cuts nearest to the usual size, and those that cut otherwise
/// unless that one is far behind.
std::vector<candidate> simulated(const problem& p, std::int64_t chunk, const model& m, std::vector<candidate> among) {
    const auto oddity = [](const candidate& c) {
        const std::int64_t size = c.segment == 0 ? first_size : c.segment;
        return static_cast<double>(std::max(size, first_size)) / static_cast<double>(std::min(size, first_size));
    };
    std::ranges::stable_sort(among, {}, [&](const candidate& c) { return std::pair(c.use, oddity(c)); });
    const time_ns begin = p.arrivals.empty() ? time_ns{} : std::ranges::min(p.arrivals);
    std::vector<candidate> found;
    time_ns soonest = longest_time;
    std::map<const algorithm*, time_ns> takes;
    const auto consider = [&](candidate& c) {
        if (c.use != nullptr && !find_end(c, p, chunk, m)) return;
        soonest = std::min(soonest, c.end - begin);
        takes.try_emplace(c.use, c.end - begin);
        found.push_back(std::move(c));
    };
    std::vector<candidate*> others;
    const algorithm* before = nullptr;
    for (candidate& c : among) {
        const algorithm* use = c.use;
        if (use != nullptr && use == before)
            others.push_back(&c);
        else
            consider(c);
        before = use;
    }
    for (candidate* c : others) {
        const auto first = takes.find(c->use);
        if (first != takes.end() && first->second <= hopeless * soonest) consider(*c);
    }
    return found;
}

}  // namespace

int candidate::partner_class() const { return ceil_log2(std::max<std::int64_t>(1, std::llround(partners))); }

std::uint32_t pieces(std::int64_t chunk, std::int64_t segment) {
    return segment == 0 ? 1 : static_cast<std::uint32_t>(std::max<std::int64_t>(1, (chunk + segment - 1) / segment));
}

time_ns round_time_of(const algorithm& a, const problem& p, std::int64_t chunk, const model& m) {
    if (!a.uses_round_time()) return {};
    return p.round_time > time_ns{} ? p.round_time : cautious_round_time(m, part_offset(chunk, p.segments, 1));
}

std::vector<candidate> candidates_for(const problem& p, std::int64_t chunk, const model& m, bool early) {
    std::vector<candidate> all;
    for (const algorithm& a : algorithms()) {
        if (a.what != p.what || a.dynamic != nullptr || (a.early && !early)) continue;
        if (a.host_aware && p.hosts.empty()) continue;  // another algorithm, then
        for (const std::int64_t segment : a.segmented ? sizes_for(p, chunk) : std::vector<std::int64_t>{0}) {
            candidate c = make(a, p, chunk, segment, m);
            problem planned = p;
            planned.round_time = c.round_time;
            if (!unmet_need(a, planned)) all.push_back(std::move(c));
        }
    }
    return all;
}

std::vector<candidate> choose(const problem& p, std::int64_t chunk, const model& m, std::vector<candidate> among) {
    check(p);
    std::vector<candidate> found = simulated(p, chunk, m, std::move(among));
    if (found.empty()) return found;
    std::ranges::stable_sort(found, {}, &candidate::end);
    const time_ns soonest = found.front().end;
    const time_ns last = p.arrivals.empty() ? time_ns{} : std::ranges::max(p.arrivals);
    // Even if all is over when the last one comes, it takes at least one message to get there.
    const time_ns works = std::max(soonest - last, segment_time(m, chunk));
    const time_ns near = soonest + time_ns(std::llround(resolution * static_cast<double>(works.count())));
    const auto end_of_near = std::ranges::find_if(found, [near](const candidate& c) { return c.end > near; });
    const auto chosen = std::ranges::min_element(found.begin(), end_of_near, {}, [](const candidate& c) {
        return std::tuple(c.use != nullptr, c.waits, c.partner_class(), c.messages);
    });
    std::rotate(found.begin(), chosen, chosen + 1);
    return found;
}

}  // namespace rubato
