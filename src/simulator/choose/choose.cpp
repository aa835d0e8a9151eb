// Every algorithm that can solve a problem is simulated with the predicted arrivals; the result depends only on the
// arguments. Segments: first of 64 KiB, then down to 4 KiB. An algorithm's bytes take some time on the busiest link,
// and its time beyond that shrinks at most as fast as the segments; so there is a bound on what refining can win, and
// most are not refined at all.
// Near equals: of those within 5 % of the soonest the first is the one that depends least on what models leave out:
// without messages above the rendezvous limit, then with fewer partners, by powers of two (connections must be warm),
// then with fewer messages. Of the measured comparison's 90 cases 88 are within 10 % of the fastest by these rules, 70
// by the number of messages alone.
// Never candidates: algorithms whose ranks may get different bits, and those that choose while they run.
#include "rubato/choose.hpp"

#include "base/core/overloaded.hpp"
#include "rubato/layout.hpp"
#include "simulator/choose/outcome.hpp"
#include "simulator/simulate/bound.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>
#include <utility>

namespace rubato {
namespace {

/// More segments cost steps and gain nothing.
constexpr std::int64_t most_segments = 256;
/// A candidate known to take so many times as long as the best is not simulated.
constexpr int hopeless = 2;
/// Candidates whose ends differ by less, as a share of the time after the last arrival, count as equal: no model is
/// more exact. What a model leaves out, such as shared processors, costs more with more messages.
constexpr double resolution = 0.05;
/// A smaller gain, as the same share, is not worth another try.
constexpr double worthwhile = 0.01;
/// How wrong a rough estimate may be, as the same share.
constexpr double roughness = 0.2;

/// The sizes of pieces that a segmenting algorithm may cut a chunk into.
std::vector<std::int64_t> sizes_for(std::int64_t chunk, std::optional<std::uint32_t> segments) {
    if (segments) return {std::max<std::int64_t>(1, (chunk + *segments - 1) / *segments)};
    std::vector<std::int64_t> sizes;
    for (const std::int64_t s : simulator::segment_sizes)
        if (s < chunk && chunk <= most_segments * s) sizes.push_back(s);
    if (sizes.empty())  // small, or very large
        sizes.push_back(chunk <= simulator::segment_sizes.front() ? std::max<std::int64_t>(1, chunk)
                                                                  : (chunk + most_segments - 1) / most_segments);
    return sizes;
}

/// The radices to try: the algorithm's own, and where f messages leave at once also others, up to so many. A k-nomial
/// tree sends k - 1.
std::vector<std::int32_t> radices_for(const algorithm& a, const problem& p, const model& m) {
    std::vector<std::int32_t> all{0};
    const std::int32_t at_once =
        std::visit(base::overloaded{[](const hockney&) { return 1; }, [](const loggp& n) { return n.f; },
                                    [](const loggp5&) { return 1; }, [](const loggops&) { return 1; }},
                   m.network);
    if (at_once < 2 || !a.takes_radix || a.has(need::radix_product) || !p.radix.empty()) return all;
    constexpr std::array<std::int32_t, 8> some{2, 3, 4, 6, 8, 12, 16, 24};
    const std::int32_t most = std::min(at_once + 1, p.ranks - 1);
    for (const std::int32_t k : some)
        if (k <= most) all.push_back(k);
    return all;
}

candidate make(const algorithm& a, const problem& p, std::int64_t chunk, std::int64_t segment, std::int32_t radix,
               const model& m, std::optional<std::uint32_t> segments) {
    candidate c;
    c.use = &a;
    c.segment = segment;
    c.radix = radix;
    problem cut = p;
    cut.segments = c.segments = segment > 0 && segments ? *segments : simulator::pieces(chunk, segment);
    c.round_time = simulator::round_time_of(a, cut, chunk, m);
    std::string size = segment == 0 ? "" : fmt::format("@{}", format_bytes(segment));
    std::erase(size, ' ');
    c.name = fmt::format("{}{}{}", a.id, radix > 0 ? fmt::format(":{}", radix) : "", size);
    return c;
}

/// A candidate with its end, which may be a rough estimate.
struct tried {
    candidate c;
    bool rough;
};

/// One algorithm, with one radix, and its segment sizes, the coarsest first. They are tried one after the other, as
/// long as the finest could still be worth it.
class family {
public:
    explicit family(std::vector<candidate> ways) : ways_(std::move(ways)) {
        std::ranges::stable_sort(ways_, {}, &candidate::segments);
    }

    /// The earliest possible end with finer segments. They make pipelines fill sooner: the time beyond that of all
    /// bytes on the busiest link may shrink as segments do.
    std::optional<time_ns> hope() const {
        if (next_ == ways_.size()) return std::nullopt;
        const double share =
            static_cast<double>(ways_[next_ - 1].segments) / static_cast<double>(ways_.back().segments);
        const time_ns base = std::min(base_, end_);
        return base + time_ns(std::llround(share * static_cast<double>((end_ - base).count())));
    }
    /// Whether one of the tried sizes ends by then and makes no message wait for its receiver.
    bool reaches(time_ns end) const { return best_ <= end; }

    void try_next(const simulator::setting& s, time_ns limit, simulator::known_outcomes& known,
                  std::vector<tried>& found) {
        candidate& c = ways_[next_++];
        const std::optional<simulator::outcome> o = simulator::find_end(c, s, limit, simulator::look::rough, known);
        if (!o) {
            next_ = ways_.size();
            return;
        }
        // Plans for late ranks may become quite different with finer segments. For other algorithms, if finer segments
        // do not help, still finer ones do not.
        const bool plans = c.use->arrival_aware;
        if (next_ > 1 && c.end >= end_ && !plans) next_ = ways_.size();
        base_ = plans || !s.equal_links ? s.bound : std::max(o->wire, s.bound);
        end_ = c.end;
        if (!c.waits) best_ = std::min(best_, end_);
        found.push_back({std::move(c), o->rough});
    }

private:
    std::vector<candidate> ways_;
    std::size_t next_ = 0;
    time_ns base_{};
    time_ns end_{};                // of the last that was tried
    time_ns best_ = longest_time;  // of those that do not wait
};

time_ns bound_of(const problem& p, std::int64_t chunk, const model& m, bool equal_links) {
    std::vector<time_ns> arrivals = p.arrivals;
    arrivals.resize(static_cast<std::size_t>(p.ranks));
    const hockney costs = linear_costs(m);
    if (!equal_links) return std::ranges::max(arrivals);
    // Without latency, which does not occupy a link in some models.
    return simulator::earliest_end(p.what, arrivals, p.root, chunk * traits(p.what).sized_chunks(p.ranks),
                                   {time_ns{}, costs.beta});
}

/// Algorithms that ignore arrivals come first: if no rank is late, others have equal schedules and are not simulated.
std::vector<family> families_of(std::vector<candidate> among) {
    std::ranges::stable_sort(among, {}, [](const candidate& c) { return c.use->arrival_aware; });
    using key = std::pair<const algorithm*, std::int32_t>;
    std::vector<std::pair<key, std::vector<candidate>>> groups;
    for (candidate& c : among) {
        const key use{c.use, c.radix};
        const auto known = std::ranges::find(groups, use, [](const auto& g) { return g.first; });
        auto& ways = known != groups.end() ? known->second : groups.emplace_back(use, std::vector<candidate>{}).second;
        ways.push_back(std::move(c));
    }
    std::vector<family> all;
    all.reserve(groups.size());
    for (auto& [use, ways] : groups) all.emplace_back(std::move(ways));
    return all;
}

/// The candidates with their ends: every algorithm, with finer segments where that may pay, simulated closely where
/// that may change the choice.
std::vector<candidate> simulated(const simulator::setting& s, std::vector<candidate> among) {
    std::vector<tried> found;
    for (const candidate& c : among)
        if (c.use == nullptr) found.push_back({c, false});
    std::erase_if(among, [](const candidate& c) { return c.use == nullptr; });
    std::vector<family> all = families_of(std::move(among));
    const auto end_of = [](const tried& t) { return t.c.end; };
    const auto soonest = [&] {
        return found.empty() ? longest_time : end_of(*std::ranges::min_element(found, {}, end_of));
    };
    const auto around_soonest = [&] { return simulator::around(soonest(), s.last_arrival(), s.chunk, s.network); };
    const time_ns begin = s.first_arrival();
    simulator::known_outcomes known;
    for (family& f : all) {
        const time_ns limit = found.empty() ? longest_time : begin + hopeless * (soonest() - begin);
        f.try_next(s, limit, known, found);
    }
    while (!found.empty()) {
        const simulator::margins m = around_soonest();
        family* most_hopeful = nullptr;
        for (family& f : all) {
            if (!f.hope() || *f.hope() > (f.reaches(m.near) ? m.better : m.near)) continue;
            if (most_hopeful == nullptr || *f.hope() < *most_hopeful->hope()) most_hopeful = &f;
        }
        if (most_hopeful == nullptr) break;
        most_hopeful->try_next(s, longest_time, known, found);
    }
    for (;;) {
        const time_ns unsure = around_soonest().unsure;
        const auto next = std::ranges::find_if(found, [=](const tried& t) { return t.rough && t.c.end <= unsure; });
        if (next == found.end()) break;
        (void)simulator::find_end(next->c, s, longest_time, simulator::look::close, known);
        next->rough = false;
    }
    std::vector<candidate> ends;
    ends.reserve(found.size());
    for (tried& t : found) ends.push_back(std::move(t.c));
    return ends;
}

}  // namespace

int candidate::partner_class() const { return ceil_log2(std::max<std::int64_t>(1, std::llround(partners))); }

void simulator::check_kinds(const model& network, const model* inside) {
    if (inside != nullptr && inside->network.index() != network.network.index())
        throw error("a model of messages within hosts that is of another kind than the network's",
                    "messages cost the same kind of things", "give two of the same kind, such as hockney:...");
}

simulator::margins simulator::around(time_ns soonest, time_ns last_arrival, std::int64_t chunk, const model& network) {
    // Not 0, even if all ends with the last arrival: at least the time of one message.
    const time_ns works = std::max(soonest - last_arrival, segment_time(network, chunk));
    const auto share = [works](double of) { return time_ns(std::llround(of * static_cast<double>(works.count()))); };
    return {soonest + share(resolution), soonest - share(worthwhile), soonest + share(roughness)};
}

std::vector<candidate> simulator::in_order(std::vector<candidate> found, time_ns last_arrival, std::int64_t chunk,
                                           const model& network) {
    if (found.empty()) return found;
    std::ranges::stable_sort(found, {}, &candidate::end);
    const time_ns near = around(found.front().end, last_arrival, chunk, network).near;
    const auto end_of_near = std::ranges::find_if(found, [near](const candidate& c) { return c.end > near; });
    const auto chosen = std::ranges::min_element(found.begin(), end_of_near, {}, [](const candidate& c) {
        return std::tuple(c.use != nullptr, c.waits, c.partner_class(), c.messages);
    });
    std::rotate(found.begin(), chosen, chosen + 1);
    return found;
}

std::uint32_t simulator::pieces(std::int64_t chunk, std::int64_t segment) {
    return segment == 0 ? 1 : static_cast<std::uint32_t>(std::max<std::int64_t>(1, (chunk + segment - 1) / segment));
}

time_ns simulator::round_time_of(const algorithm& a, const problem& p, std::int64_t chunk, const model& m) {
    if (!a.uses_round_time()) return {};
    return p.round_time > time_ns{} ? p.round_time : cautious_round_time(m, part_offset(chunk, p.segments, 1));
}

std::vector<candidate> candidates_of(const algorithm& a, const problem& p, std::int64_t chunk, const model& m,
                                     std::optional<std::uint32_t> segments) {
    if (!segments && p.segments > 1) segments = p.segments;
    std::vector<candidate> all;
    for (const std::int32_t radix : radices_for(a, p, m)) {
        for (const std::int64_t segment : a.segmented ? sizes_for(chunk, segments) : std::vector<std::int64_t>{0}) {
            candidate c = make(a, p, chunk, segment, radix, m, segments);
            problem planned = p;
            planned.round_time = c.round_time;
            if (radix > 0) planned.radix = {radix};
            if (!unmet_need(a, planned)) all.push_back(std::move(c));
        }
    }
    return all;
}

std::vector<candidate> candidates_for(const problem& p, std::int64_t chunk, const model& m, bool early,
                                      std::optional<std::uint32_t> segments, bool cables) {
    std::vector<candidate> all;
    for (const algorithm& a : algorithms()) {
        if (a.what != p.what || a.dynamic != nullptr || (a.early && !early)) continue;
        if (!a.same_bits) continue;                     // MPI gives all ranks the same result
        if (a.host_aware && p.hosts.empty()) continue;  // another algorithm, then
        if (a.nearness && !cables) continue;            // equal to another one
        for (candidate& c : candidates_of(a, p, chunk, m, segments)) all.push_back(std::move(c));
    }
    return all;
}

std::vector<candidate> choose(const problem& p, std::int64_t chunk, const model& m, std::vector<candidate> among,
                              const model* inside, const end_on_cables& cables) {
    check(p);
    simulator::check_kinds(m, inside);
    // On cables, what ranks of one host send each other does not use their link.
    const bool equal_links = inside == nullptr && (!cables || p.hosts.empty());
    const simulator::setting s{p, chunk, m, inside, equal_links, bound_of(p, chunk, m, equal_links), cables};
    std::vector<candidate> found = simulated(s, std::move(among));
    return simulator::in_order(std::move(found), s.last_arrival(), chunk, m);
}

}  // namespace rubato
