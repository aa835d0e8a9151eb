// Who is late: predict it, call the roll, or let a chain grow by itself? In a *ticket chain* every rank that comes
// draws a ticket and is told who drew the one before. It takes that rank's partial sum, adds its own vector and hands
// on. The last ticket holds the total, which goes to the root, or along a line of all ranks. Simulated.
//
//   ticket_chain [MODEL [PAGE]]
//
// MODEL: of the network; "emulated" unless given: that of the emulated cluster, 50 Mbit/s.
// PAGE: prints only what is missing in this page; status 1 if anything is.
#include "engine/execute/roll_call.hpp"
#include "page_check.hpp"
#include "rubato/arrival.hpp"
#include "rubato/builder.hpp"
#include "rubato/choose.hpp"
#include "rubato/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <random>

namespace {

using namespace rubato;

constexpr std::int32_t ranks = 16;
constexpr int draws = 20;
constexpr std::string_view emulated = "loggp:L=4us,o=6us,g=3us,G=160ns,combine=0.1ns,rendezvous=65481";

using arrivals = std::vector<time_ns>;

std::size_t at(rank r) { return static_cast<std::size_t>(r.value); }

/// Ranks in the order of their times, equal ones by number.
std::vector<rank> in_order(const arrivals& a) {
    std::vector<rank> line;
    for (rank r; r.value < ranks; ++r.value) line.push_back(r);
    std::ranges::stable_sort(line, {}, [&](rank r) { return a[at(r)]; });
    return line;
}

class experiment {
public:
    experiment(const model& m, collective what, std::int64_t bytes)
        : network_(m), what_(what), bytes_(bytes), size_(layout::uniform(bytes)) {
        const hockney h = linear_costs(m);
        note_ = time_ns(static_cast<std::int64_t>(h.alpha));
        vector_ = time_ns(static_cast<std::int64_t>(h.beta * static_cast<double>(bytes)));
    }

    /// The time of one vector on a link.
    time_ns vector() const { return vector_; }

    candidate best(const arrivals& told, bool by_arrivals) const {
        problem p = problem_of(told);
        std::vector<candidate> among = candidates_for(p, bytes_, network_, false);
        if (by_arrivals) std::erase_if(among, [](const candidate& c) { return !c.use->arrival_aware; });
        return choose(p, bytes_, network_, std::move(among)).front();
    }
    /// The tail of a plan for `told` where ranks come otherwise.
    time_ns planned(const candidate& c, const arrivals& told, const arrivals& real) const {
        problem p = problem_of(told);
        p.segments = c.segments;
        p.round_time = c.round_time;
        return tail_of(build_all(*c.use, p), real, real);
    }
    /// The first to come keeps the roll. The plan is `c`, for who is there.
    time_ns rolled(const candidate& c, time_ns usual_tail, const arrivals& real) const {
        const time_ns patience =
            std::clamp<time_ns>(usual_tail / 64, std::chrono::microseconds(50), std::chrono::milliseconds(10));
        const std::vector<rank> line = in_order(real);
        const time_ns came = real[at(line.front())];
        problem p = problem_of(arrivals(ranks));
        p.segments = c.segments;
        p.round_time = c.round_time;
        time_ns last = came;
        std::size_t here = 1;
        for (; here < line.size(); ++here) {
            const time_ns says = real[at(line[here])] + note_;
            if (says > std::min(last + patience, came + 4 * patience)) break;
            last = says;
        }
        const time_ns verdict = here == line.size() ? last : std::min(last + patience, came + 4 * patience);
        for (std::size_t i = here; i < line.size(); ++i) p.arrivals[at(line[i])] = engine::lateness_in(p);
        arrivals begin = real;
        for (const rank r : line)
            begin[at(r)] = std::max(real[at(r)], verdict + (r == line.front() ? time_ns{} : note_));
        return tail_of(build_all(*c.use, p), begin, real);
    }
    /// In segments of that size.
    time_ns chained(std::int64_t segment, const arrivals& real) const {
        std::vector<rank> line = in_order(real);
        // Its ticket, and word to who drew the one before.
        arrivals begin = real;
        for (std::size_t i = 1; i < line.size(); ++i) begin[at(line[i])] += 2 * note_;
        problem p = problem_of({});
        p.segments = static_cast<std::uint32_t>((bytes_ + segment - 1) / segment);
        if (what_ == collective::reduce) {
            // The root takes the total, whatever its ticket.
            std::erase(line, p.root);
            line.push_back(p.root);
        }
        std::vector<schedule> all;
        for (rank me; me.value < ranks; ++me.value) all.push_back(chain(p, line, me));
        return tail_of(all, begin, real);
    }

private:
    problem problem_of(const arrivals& a) const {
        problem p;
        p.what = what_;
        p.ranks = ranks;
        p.arrivals = a;
        return p;
    }
    time_ns tail_of(std::span<const schedule> all, const arrivals& begin, const arrivals& real) const {
        return tail(real, simulate(network_, all, std::span(&size_, 1), begin).exits);
    }
    static schedule chain(const problem& p, const std::vector<rank>& line, rank me) {
        builder b(p, me, p.segments);
        const auto place = static_cast<std::size_t>(std::ranges::find(line, me) - line.begin());
        const bool first = place == 0;
        const bool last = place + 1 == line.size();
        const bool keeps = p.what == collective::allreduce || last;
        const slice sum = keeps ? b.output() : b.scratch_chunks();
        for (block s = 0; s < b.parts(); ++s) {
            if (!first) {
                b.recv(line[place - 1], sum.sub(s));
                b.combine(b.input().sub(s), sum.sub(s));
            }
            if (!last) b.send(line[place + 1], (first ? b.input() : sum).sub(s));
            // The total goes to who came first, and on from there.
            if (last && keeps && p.what == collective::allreduce) b.send(line.front(), sum.sub(s));
        }
        if (p.what != collective::allreduce || last) return std::move(b).finish();
        for (block s = 0; s < b.parts(); ++s) {
            b.recv(first ? line.back() : line[place - 1], b.output().sub(s));
            if (place + 2 < line.size()) b.send(line[place + 1], b.output().sub(s));
        }
        return std::move(b).finish();
    }

    model network_;
    collective what_;
    std::int64_t bytes_;
    layout size_;
    time_ns note_{};
    time_ns vector_{};
};

/// Arrivals in times of a vector.
struct family {
    std::string_view name;
    std::function<std::vector<double>(std::mt19937_64&)> next;
};

std::vector<double> some_late(std::mt19937_64& random, std::size_t count) {
    std::vector<double> all(ranks);
    std::fill_n(all.begin(), count, 2.0);
    for (std::size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[random() % i]);
    return all;
}

std::vector<double> spread(std::mt19937_64& random, double most) {
    std::vector<double> all(ranks);
    for (double& d : all) d = most * static_cast<double>(random() >> 11U) * 0x1p-53;
    return all;
}

std::string row(const experiment& e, const family& f, std::string_view what, std::string_view size) {
    std::mt19937_64 random(2016);
    const auto draw = [&] {
        arrivals a;
        for (const double d : f.next(random))
            a.emplace_back(static_cast<std::int64_t>(d * static_cast<double>(e.vector().count())));
        return a;
    };
    static constexpr std::array segments = {std::int64_t{64} << 10, std::int64_t{32} << 10, std::int64_t{16} << 10,
                                            std::int64_t{8} << 10, std::int64_t{4} << 10};
    time_ns sure{}, wrong{}, rolled{};
    std::array<time_ns, segments.size()> chained{};
    arrivals last = draw();
    for (int i = 0; i < draws; ++i) {
        const arrivals real = draw();
        const candidate now = e.best(real, false);
        const time_ns best = e.planned(now, real, real);
        sure += best;
        wrong += e.planned(e.best(last, false), last, real);
        rolled += e.rolled(e.best(last, true), best, real);
        for (std::size_t s = 0; s < segments.size(); ++s) chained[s] += e.chained(segments[s], real);
        last = real;
    }
    const auto in_vectors = [&](time_ns t) {
        return static_cast<double>(t.count()) / draws / static_cast<double>(e.vector().count());
    };
    return fmt::format("| {} | {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} |\n", what, size, f.name, in_vectors(sure),
                       in_vectors(wrong), in_vectors(rolled), in_vectors(std::ranges::min(chained)));
}

}  // namespace

int main(int argc, char** argv) {
    const std::string_view named = argc > 1 ? argv[1] : "emulated";
    const model network = parse_model(named == "emulated" ? emulated : named);
    const std::vector<family> families = {
        {"together", [](auto&) { return std::vector<double>(ranks); }},
        {"within 0.25", [](auto& random) { return spread(random, 0.25); }},
        {"one late by 2", [](auto& random) { return some_late(random, 1); }},
        {"four late by 2", [](auto& random) { return some_late(random, 4); }},
        {"within 4", [](auto& random) { return spread(random, 4); }},
        {"within 16", [](auto& random) { return spread(random, 16); }},
    };
    std::string output =
        "| collective | size | arrivals | prediction, right | prediction, of the call before | roll call | ticket "
        "chain |\n"
        "|---|---|---|---|---|---|---|\n";
    for (const collective what : {collective::reduce, collective::allreduce})
        for (const auto& [size, text] :
             {std::pair{64 << 10, "64 KiB"}, std::pair{512 << 10, "512 KiB"}, std::pair{4 << 20, "4 MiB"}}) {
            const experiment e(network, what, size);
            for (const family& f : families) output += row(e, f, traits(what).name, text);
        }
    const bool compares = argc > 2;
    if (compares) output = missing_in(argv[2], aligned(lines_of(output)));
    fmt::print("{}", output);
    return compares && !output.empty() ? 1 : 0;
}
