#include "dropin/observe/observation.hpp"
#include "reports/tune/problems.hpp"
#include "rubato/arrival.hpp"
#include "rubato/choose.hpp"
#include "simulator/choose/outcome.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato::reports {
namespace {

/// A library's algorithms, uncut and in segments: without a rule it cuts nothing.
std::vector<candidate> ways_of(const library& of, const problem& p, std::int64_t chunk) {
    std::vector<candidate> all;
    for (const algorithm* a : of.algorithms_for(p.what, p.ranks)) {
        if (unmet_need(*a, p)) continue;
        std::vector<std::int64_t> sizes{0};
        for (const std::int64_t s : simulator::segment_sizes)
            if (a->segmented && s < chunk) sizes.push_back(s);
        for (const std::int64_t s : sizes) {
            candidate c;
            c.use = a;
            c.segment = s;
            c.segments = simulator::pieces(chunk, s);
            c.name = to_string(way{a, s});
            all.push_back(std::move(c));
        }
    }
    return all;
}

}  // namespace

std::vector<std::string> usual_patterns(std::int32_t ranks, std::int64_t bytes, const model& network,
                                        std::uint64_t seed) {
    std::vector<std::string> patterns{"balanced"};
    const time_ns message = segment_time(network, std::max<std::int64_t>(bytes, 1));
    for (const std::int64_t times : {1, 8}) {
        const std::int64_t late = times * message.count();
        patterns.push_back(fmt::format("single:rank={},delay={}ns", ranks - 1, late));
        patterns.push_back(fmt::format("single:rank=0,delay={}ns", late));
        patterns.push_back(fmt::format("uniform:max={}ns,seed={}", late, seed));
    }
    return patterns;
}

std::vector<asked_problem> observed_problems(const std::string& file, std::size_t most) {
    const dropin::observation o = dropin::read(file);
    std::vector<asked_problem> found;
    for (const dropin::row& r : o.rows) {
        const auto ranks = static_cast<std::int32_t>(o.communicators[r.communicator].members.size());
        if (!r.seen || ranks < 2 || r.root >= ranks || traits(r.what).on_graph) continue;
        asked_problem p{r.what, ranks, r.bytes, traits(r.what).rooted ? r.root : 0};
        if (traits(r.what).chunked() && !traits(r.what).irregular) p.bytes *= ranks;
        const std::vector<dropin::invocation>& kept = r.seen->examples;
        const std::size_t step = std::max<std::size_t>(1, (kept.size() + most - 1) / most);
        for (std::size_t i = 0; i < kept.size(); i += step) p.patterns.push_back(kept[i].arrivals);
        if (p.patterns.empty()) p.patterns.push_back(r.seen->pattern);
        const auto same = std::ranges::find_if(found, [&p](const asked_problem& q) {
            return q.what == p.what && q.ranks == p.ranks && q.bytes == p.bytes;
        });
        if (same == found.end())
            found.push_back(std::move(p));
        else  // called from elsewhere
            same->patterns.insert(same->patterns.end(), p.patterns.begin(), p.patterns.end());
    }
    if (found.empty())
        throw error(fmt::format("'{}' has nothing to tune", file),
                    "no collective was called by two or more ranks whose arrivals are known",
                    "observe a program that does, with 'rubato exec'");
    return found;
}

std::string observed_model(const std::string& file) { return dropin::read(file).model; }

timed_problem simulate_ways(const asked_problem& p, const model& network, const contenders& who) {
    timed_problem out{p.what, p.ranks, p.bytes};
    const std::int32_t chunks = traits(p.what).sized_chunks(p.ranks);
    const std::int64_t chunk = (p.bytes + chunks - 1) / chunks;
    problem q{p.what, p.ranks, rank(p.root)};
    q.commutative = who.commutative;
    const std::vector<candidate> all =
        who.of != nullptr ? ways_of(*who.of, q, chunk) : candidates_for(q, chunk, network, who.early);
    for (const candidate& c : all) out.ways.push_back({{c.use, c.use->segmented ? c.segment : 0}});
    for (const std::vector<time_ns>& arrivals : p.patterns) {
        q.arrivals = arrivals;
        out.imbalances.push_back(absolute_imbalance(arrivals));
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::vector<candidate> timed = choose(q, chunk, network, {all[i]});
            if (!timed.empty()) out.ways[i].run_times.push_back(timed.front().end - std::ranges::min(arrivals));
        }
    }
    std::erase_if(out.ways, [&p](const timed_way& w) { return w.run_times.size() != p.patterns.size(); });
    if (who.of == nullptr) return out;
    const std::optional<way> otherwise = who.of->otherwise(p.what, p.ranks, p.bytes);
    if (otherwise && out.find(*otherwise) != nullptr) out.otherwise = otherwise;
    return out;
}

}  // namespace rubato::reports
