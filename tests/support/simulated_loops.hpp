// Directors in a simulated world where a network carries messages: ranks leave a call when their own part is done, and
// may be ahead of each other. What the world does to lateness is a response, as directors also think.
#pragma once

#include "rubato/layout.hpp"
#include "simulator/choose/response.hpp"
#include "support/simulated_directors.hpp"

#include <fstream>
#include <sstream>

namespace rubato::direct_test {

/// Calls of one operation, nothing else between them.
struct loop {
    int ranks = 16;
    std::uint64_t calls = 43;
    dropin::directed_call what{collective::reduce, rank(0), 512 << 10};
    std::int64_t chunk = 512 << 10;  ///< bytes
    std::string_view native = "reduce/binomial";
    std::function<time_ns(std::uint64_t call, int r)> compute{};
    bool meets = false;                 ///< ranks wait for each other after each call
    std::vector<std::int32_t> hosts{};  ///< empty: each rank has its own
    model inside = parse_model("loggp:L=5us,o=2us,g=1us,G=1ns,rendezvous=64KiB");
    model network = parse_model("loggp:L=100us,o=20us,g=5us,G=167ns,rendezvous=64KiB");
};

/// The first columns of a file, in turn.
inline std::function<time_ns(std::uint64_t call, int r)> recorded(const std::string& file, int ranks) {
    std::ifstream in(std::string(RUBATO_SOURCE) + "/examples/traces/" + file);
    std::vector<std::vector<time_ns>> lines;
    for (std::string line; std::getline(in, line);) {
        if (line.empty() || line.front() == '#') continue;
        std::istringstream words(line);
        std::vector<time_ns>& times = lines.emplace_back();
        for (std::string word; std::ssize(times) < ranks && words >> word;) times.push_back(parse_time(word));
    }
    return [lines](std::uint64_t call, int r) { return lines[(call - 1) % lines.size()][static_cast<std::size_t>(r)]; };
}

/// The ranks' clocks and interfaces.
class loop_world {
public:
    explicit loop_world(const loop& l) : l_(l), states_(3 * static_cast<std::size_t>(l.ranks)) {}

    void compute(std::uint64_t call) {
        for (int r = 0; r < l_.ranks; ++r) states_[static_cast<std::size_t>(r)] += l_.compute(call, r).count();
    }
    std::vector<time_ns> clocks() const {
        std::vector<time_ns> all;
        for (int r = 0; r < l_.ranks; ++r) all.emplace_back(states_[static_cast<std::size_t>(r)]);
        return all;
    }
    void call(const algorithm& use, std::uint32_t segments, time_ns round_time, const arrivals& by) {
        problem p{.what = l_.what.what, .ranks = l_.ranks, .root = l_.what.root};
        p.segments = segments;
        p.round_time = round_time;
        p.arrivals = by;
        p.hosts = l_.hosts;
        std::vector<std::int64_t> after(states_.size());
        simulator::response_of(build_all(use, p), layout::uniform(l_.chunk), l_.network,
                               {l_.hosts, l_.hosts.empty() ? nullptr : &l_.inside, by})
            ->pass(states_, after);
        states_ = after;
        if (!l_.meets) return;
        const auto ranks = std::span(states_).first(static_cast<std::size_t>(l_.ranks));
        std::ranges::fill(ranks, std::ranges::max(ranks));
    }
    time_ns end() const { return std::ranges::max(clocks()); }

private:
    const loop& l_;
    std::vector<std::int64_t> states_;
};

/// All calls by one algorithm.
inline time_ns played(const loop& l, std::string_view id, std::int64_t segment = 0) {
    loop_world w(l);
    const std::uint32_t segments = segment == 0 ? 1 : static_cast<std::uint32_t>((l.chunk + segment - 1) / segment);
    for (std::uint64_t call = 1; call <= l.calls; ++call) {
        w.compute(call);
        w.call(find_algorithm(id), segments, {}, {});
    }
    return w.end();
}

inline outcome directed(const loop& l, const std::vector<dropin::experience>& remembered = {}) {
    outcome o;
    loop_world w(l);
    std::vector<time_ns> clocks(static_cast<std::size_t>(l.ranks));
    directors all(
        l.ranks, clocks, [](int) { return dropin::director::choice{}; }, nullptr, remembered, l.network,
        [&](int, dropin::director::settings& s) { s.shared = l.hosts; });
    if (!l.hosts.empty()) all.know_inside(l.inside);
    for (std::uint64_t call = 1; call <= l.calls; ++call) {
        w.compute(call);
        std::ranges::copy(w.clocks(), clocks.begin());  // the boards refer to it
        dropin::directed_call c = l.what;
        // Its own calls count, too, where all wait for all.
        c.meetings = (l.meets ? call : 0) + (dropin::is_meeting(traits(c.what)) ? call : 0);
        std::vector<dropin::directive> told;
        for (int r = 0; r < l.ranks; ++r) told.push_back(all[r].arrive(c, clocks[static_cast<std::size_t>(r)]));
        const dropin::directive& how = told.front();
        for (const dropin::directive& other : told) EXPECT_TRUE(alike(how, other)) << "call " << call;
        if (how.use == nullptr)
            w.call(find_algorithm(l.native), 1, {}, {});
        else
            w.call(*how.use, how.segments, how.round_time, how.roll_call ? clocks : how.arrivals);
        const std::vector<time_ns> exits = w.clocks();
        for (int r = 0; r < l.ranks; ++r) all[r].leave(exits[static_cast<std::size_t>(r)]);
        o.used.emplace_back(how.use == nullptr ? "" : how.use->id);
        o.directives.push_back(how);
    }
    o.explained = all.explained().front();
    o.total = w.end();
    o.learned = all[0].learned();
    return o;
}

}  // namespace rubato::direct_test
