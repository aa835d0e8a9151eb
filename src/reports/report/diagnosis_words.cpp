#include "base/core/text.hpp"
#include "reports/report/diagnosis.hpp"

#include <fmt/format.h>

#include <cmath>

namespace rubato::reports {
namespace {

std::string share_text(double share) { return fmt::format("{:.{}f} %", 100 * share, share < 0.0995 ? 1 : 0); }

std::string share_of_run(const observed& o, time_ns t) {
    if (o.from.duration <= time_ns{}) return {};
    return share_text(static_cast<double>(t.count()) / static_cast<double>(o.from.duration.count()));
}

std::string p_text(double p) { return p < 1e-6 ? "p < 1e-6" : fmt::format("p = {:.2g}", p); }

std::string error_text(double error) {
    return fmt::format("{:.0f} % {}", 100 * std::abs(error), error < 0 ? "too fast" : "too slow");
}

std::string is_or_are(const std::vector<std::int32_t>& ranks) { return ranks.size() == 1 ? "is" : "are"; }

// Who is late, and the test that says so.

std::string same_ranks(const observed& o, const finding& f) {
    const latecomers& l = o.examined_rows[f.row].late;
    return fmt::format(
        "Last {} {}: at {} of the {} calls that cost most, where chance would make it {}, {} behind the median rank "
        "(binomial test, {}).",
        is_or_are(f.ranks), ranks_text(o, f.ranks), share_text(l.share), l.calls, share_text(l.by_chance),
        format_time(l.late), p_text(l.p));
}

std::string whole_host(const observed& o, const finding& f) {
    const latecomers& l = o.examined_rows[f.row].late;
    return fmt::format(
        "A whole host is late, {}: one of its ranks is last at {} of the {} calls that cost most, where chance would "
        "make it {}, {} behind the median rank (binomial test, {}).",
        ranks_text(o, f.ranks), share_text(l.share), l.calls, share_text(l.by_chance), format_time(l.late),
        p_text(l.p));
}

std::string ranks_in_turn(const observed& o, const finding& f) {
    const latecomers& l = o.examined_rows[f.row].late;
    const std::string late = format_time(l.late);
    if (l.period == 1)
        return fmt::format(
            "The late rank changes, {} behind the median rank: one is late for some calls in a row, then another. At "
            "{} of the {} calls that cost most the last rank is the one before, where chance would make it {} "
            "(binomial test, {}).",
            late, share_text(l.share), l.calls, share_text(l.by_chance), p_text(l.p));
    return fmt::format(
        "Ranks take turns to be late, {} behind the median rank: the last rank is the same again {} calls later at {} "
        "of the {} calls that cost most, where chance would make it {} (binomial test, {}).",
        late, l.period, share_text(l.share), l.calls, share_text(l.by_chance), p_text(l.p));
}

std::string anybody(const observed& o, const finding& f) {
    const latecomers& l = o.examined_rows[f.row].late;
    const std::string late = format_time(l.late);
    if (l.share >= most_of_them)
        return fmt::format("Somebody is late, {} behind the median rank: who that is cannot be told from chance by {}.",
                           late, base::counted(l.calls, "call"));
    return fmt::format(
        "Whoever is late, {} behind the median rank, is so by chance: no rank is last at half of the {} calls that "
        "cost most, and none takes turns with others (chi-square test that all are last equally often: {}{}).",
        late, l.calls, p_text(l.p), l.p < believed_p ? "; they are not, but nobody stands out" : "");
}

/// The row of most calls that come right before this row's on its communicator; nothing if few of them were kept.
std::optional<std::size_t> row_before(const observed& o, std::size_t row) {
    const dropin::row& r = o.from.rows[row];
    std::vector<std::size_t> found(o.from.rows.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
        const dropin::row& other = o.from.rows[i];
        if (other.communicator != r.communicator || !other.seen) continue;
        for (const dropin::brief& b : r.seen->all)
            if (b.number > 0 && std::ranges::binary_search(other.seen->all, b.number - 1, {}, &dropin::brief::number))
                ++found[i];
    }
    const auto most = std::ranges::max_element(found);
    if (2 * *most <= r.seen->all.size()) return std::nullopt;
    return static_cast<std::size_t>(most - found.begin());
}

/// Why ranks leave a call at different times.
std::string why_slow(const examined& e) {
    const what_if* const best = e.best_plan();
    if (best == nullptr) return "";
    const bool slow = static_cast<double>(e.tail.count()) > slow_call * static_cast<double>(best->tail.count());
    return slow ? ", because that call is slow" : ", because of the network";
}

std::string where_from(const observed& o, std::size_t row) {
    switch (o.examined_rows[row].from) {
        case origin::outside:
            return "The lateness arises outside collectives: in computing, or in messages of other kinds.";
        case origin::earlier:
            if (const auto before = row_before(o, row))
                return fmt::format(
                    "The lateness arises in the collective before, {}, which the late rank leaves after others{}.",
                    row_text(o, *before), why_slow(o.examined_rows[*before]));
            return "The lateness arises in an earlier collective, which the late rank leaves after others.";
        case origin::unknown: break;
    }
    return "Where the lateness arises is not known.";
}

std::string simulated_best(const examined& e) {
    const what_if& best = *e.best_plan();
    return fmt::format("{} of {} by the network's model", format_time(best.tail), best.name);
}

/// How far the simulation of what ran is from what was measured.
std::string error_of_model(const examined& e) {
    if (e.ran.empty()) return {};
    return fmt::format(" The model makes {}, {}, {}.", e.ran,
                       e.ran_is_known ? "which ran" : "the most similar to what ran", error_text(e.error));
}

std::string slow_call_text(const observed& o, const finding& f) {
    const examined& e = o.examined_rows[f.row];
    return fmt::format("The call itself is slow: it takes {} after the last arrival, not the {}.{}",
                       format_time(e.tail), simulated_best(e), error_of_model(e));
}

std::string slow_network_text(const observed& o, const finding& f) {
    const examined& e = o.examined_rows[f.row];
    return fmt::format(
        "Moving the data takes the time: {} after the last arrival, and no algorithm is much faster on this network "
        "({}).{}",
        format_time(e.tail), simulated_best(e), error_of_model(e));
}

std::string program_of(const observed& o) {
    if (o.from.mode == "imported") return "./your_program";  // the name is that of the trace
    return o.from.begun.command.empty() ? "./" + o.from.program : o.from.begun.command;
}

std::string launch(const observed& o) { return fmt::format("mpirun -n {} {}", o.from.ranks, program_of(o)); }

/// The same program with a profiler on one rank.
std::string profile_of(const observed& o, std::int32_t who) {
    const std::string program = program_of(o);
    std::string out = "mpirun";
    if (who > 0) out += fmt::format(" -n {} {} :", who, program);
    out += fmt::format(" -n 1 perf record -o rank{}.data {}", who, program);
    if (who + 1 < o.from.ranks) out += fmt::format(" : -n {} {}", o.from.ranks - who - 1, program);
    return out;
}

std::string auto_of(const observed& o) {
    return fmt::format("rubato exec --mode auto -o auto.rubato -- {}", launch(o));
}

bool replaceable(const observed& o, const finding& f) { return auto_may_replace(o.from, o.from.rows[f.row]); }

advice watch_rank(const observed& o, const finding& f) {
    return {fmt::format("See what rank {} does, or give it less work", f.ranks.front()),
            profile_of(o, f.ranks.front())};
}

advice watch_host(const observed& o, const finding& f) {
    const std::string host = o.from.host_of(f.ranks.front());
    return {fmt::format("Look at host {}, or run without it", host), fmt::format("ssh {} top -b -n 1", host)};
}

advice work_together(const observed& o, const finding& f) {
    if (replaceable(o, f))
        return {"Let all ranks do this work at the same time, or let Rubato work around it", auto_of(o)};
    return {"Let all ranks do this work at the same time. See what one of them does in its turn",
            profile_of(o, f.ranks.front())};
}

advice bind_ranks(const observed& o, const finding& f) {
    if (replaceable(o, f))
        return {"Bind ranks to cores, and leave cores to the system; or let Rubato work around it", auto_of(o)};
    return {"Bind ranks to cores, and leave cores to the system",
            fmt::format("mpirun --bind-to core -n {} {}", o.from.ranks, program_of(o))};
}

advice change_algorithm(const observed& o, const finding& f) {
    if (replaceable(o, f)) return {"Let Rubato choose the algorithm", auto_of(o)};
    return {"Compare the algorithms that the library has",
            fmt::format("mpirun -n {} rubato bench {}/native", o.from.ranks, traits(o.from.rows[f.row].what).name)};
}

advice measure_network(const observed&, const finding&) {
    return {"Measure the network, and compare it with what it should be", "mpirun -n 2 --map-by node rubato loggp"};
}

std::string small_wait(const observed&, const finding& f) {
    return fmt::format("Waiting: {} on each rank. Nothing is worth mending here.", format_time(f.waiting));
}
advice nothing(const observed&, const finding&) { return {"Nothing to do here", ""}; }

struct cause_words {
    cause why;
    std::string (*seen)(const observed&, const finding&);  ///< the first sentence: what was seen, and by which test
    advice (*next)(const observed&, const finding&);
    std::string_view change;  ///< "CHANGE the run would take 1 s less"
};
constexpr std::array words{
    cause_words{cause::rank, same_ranks, watch_rank, "Mended,"},
    cause_words{cause::host, whole_host, watch_host, "Mended,"},
    cause_words{cause::rotating, ranks_in_turn, work_together, "Mended,"},
    cause_words{cause::chance, anybody, bind_ranks, "Mended,"},
    cause_words{cause::collective, slow_call_text, change_algorithm, "Mended,"},
    cause_words{cause::network, slow_network_text, measure_network, "With a network that takes no time"},
    cause_words{cause::none, small_wait, nothing, ""},
};
static_assert(for_every_cause(words));
const cause_words& words_of(const finding& f) { return words[static_cast<std::size_t>(f.why)]; }

}  // namespace

std::string ranks_text(const observed& o, std::span<const std::int32_t> world_ranks) {
    if (world_ranks.empty()) return "nobody";
    std::vector<std::int32_t> all(world_ranks.begin(), world_ranks.end());
    std::ranges::sort(all);
    std::vector<std::string> hosts;
    for (const std::int32_t r : all)
        if (const std::string h = o.from.host_of(r); !h.empty() && std::ranges::find(hosts, h) == hosts.end())
            hosts.push_back(h);
    const std::string on = hosts.empty()       ? ""
                           : hosts.size() == 1 ? fmt::format(" on {}", hosts.front())
                                               : fmt::format(" on {} hosts", hosts.size());
    return fmt::format("rank{} {}{}", all.size() == 1 ? "" : "s", rank_list(all, 8), on);
}

std::string row_text(const observed& o, std::size_t row) {
    const dropin::row& r = o.from.rows[row];
    const collective_traits& t = traits(r.what);
    return fmt::format("{}{}{} at {}", t.name, t.moves_data() ? fmt::format(" of {}", format_bytes(r.bytes)) : "",
                       t.rooted ? fmt::format(", root {}", r.root) : "", o.places[r.site].text());
}

std::string headline(const observed& o, const diagnosis& d) {
    std::string out;
    if (o.from.duration > time_ns{})
        out = fmt::format(
            "{} of the run is waiting for late ranks in collectives ({} of {} on each rank), {} is moving "
            "data in them.",
            share_of_run(o, d.waiting), format_time(d.waiting), format_time(o.from.duration),
            share_of_run(o, d.moving));
    else
        out = fmt::format(
            "{} on each rank is waiting for late ranks in collectives, {} is moving data in them. How long "
            "the run took is not known.",
            format_time(d.waiting), format_time(d.moving));
    if (d.findings.empty() || d.findings.front().why == cause::none)
        return out +
               fmt::format(" Nothing is worth mending: no place would save {} of the run.", share_text(worth_mending));
    return out;
}

std::vector<std::string> sentences(const observed& o, const finding& f) {
    const cause_words& say = words_of(f);
    std::vector<std::string> out{say.seen(o, f)};
    if (f.why == cause::none) return out;
    const bool late = traits_of(f.why).lateness;
    if (late) out.push_back(where_from(o, f.row));
    const std::string share = share_of_run(o, f.waiting);
    const std::string gain = share_of_run(o, f.gain);
    out.push_back(fmt::format("{}: {} on each rank{}. {} the run would take {}{} less.",
                              late ? "Waiting" : "Moving data", format_time(f.waiting),
                              share.empty() ? "" : fmt::format(", {} of the run", share), say.change,
                              format_time(f.gain), gain.empty() ? "" : fmt::format(" ({})", gain)));
    if (f.places > 1) {
        const std::string of_all = share_of_run(o, f.gain_at_all);
        out.back() += fmt::format(" With {} other place{} of the same cause: {}{} less in all.", f.places - 1,
                                  f.places == 2 ? "" : "s", format_time(f.gain_at_all),
                                  of_all.empty() ? "" : fmt::format(" ({})", of_all));
    }
    return out;
}

bool said_before(const diagnosis& d, const finding& f) {
    if (f.ranks.empty() && f.why != cause::chance) return false;
    const auto same = [&](const finding& other) { return other.why == f.why && other.ranks == f.ranks; };
    return &*std::ranges::find_if(d.findings, same) != &f;
}

advice next_step(const observed& o, const finding& f) { return words_of(f).next(o, f); }

}  // namespace rubato::reports
