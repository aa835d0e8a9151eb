#include "command/cli/command.hpp"
#include "command/cli/report_text.hpp"
#include "dropin/observe/notes.hpp"
#include "reports/report/diagnosis.hpp"

#include <fmt/format.h>

#include <cmath>

namespace rubato::command {
namespace {

constexpr std::size_t findings_shown = 5;
constexpr std::size_t widest = 118;

/// Words at most so wide, every line after this many spaces.
std::string wrapped(std::string_view text, std::size_t indent) {
    std::string out;
    std::size_t width = widest + 1;
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        text.remove_prefix(std::min(text.size(), word.size() + 1));
        if (width + 1 + word.size() > widest) {
            if (!out.empty()) out += '\n';
            out += std::string(indent, ' ');
            width = indent;
        } else {
            out += ' ';
            ++width;
        }
        out += word;
        width += word.size();
    }
    return out + '\n';
}

std::string finding_text(const reports::observed& o, const reports::diagnosis& d, const reports::finding& f) {
    const bool again = reports::said_before(d, f);
    std::string out = wrapped(
        fmt::format("* {}: {}{}", reports::row_text(o, f.row), again ? "again " : "", reports::name_of(f.why)), 0);
    const std::vector<std::string> all = reports::sentences(o, f);
    if (again) return out + wrapped(all.back(), 2);
    for (const std::string& s : all) out += wrapped(s, 2);
    if (f.why == reports::cause::none) return out;
    const reports::advice next = reports::next_step(o, f);
    out += wrapped(next.what + (next.command.empty() ? "." : ":"), 2);
    if (!next.command.empty()) out += fmt::format("    {}\n", next.command);
    return out;
}

std::string gain_text(const reports::observed& o, const reports::worth& w) {
    if (!w.gain) return fmt::format("not known: {}", w.unknown);
    if (o.from.duration <= time_ns{}) return format_time(*w.gain);
    return fmt::format("{} ({} of the run)", format_time(*w.gain),
                       percent(static_cast<double>(w.gain->count()) / static_cast<double>(o.from.duration.count())));
}

std::string worths_text(const reports::observed& o, const reports::diagnosis& d) {
    table lines{{"THE RUN", "WOULD SAVE", ">ERROR OF THE SIMULATION"}};
    for (const reports::worth& w : d.worths)
        lines.push_back({std::string(w.change), gain_text(o, w), w.error ? percent(*w.error, 0) : "-"});
    return lines.size() == 1 ? std::string() : fmt::format("\n{}", align(lines));
}

std::string diagnosis_text(const reports::observed& o, bool all) {
    if (o.from.rows.empty()) return {};
    const reports::diagnosis d = reports::diagnose(o);
    std::string out = wrapped(reports::headline(o, d), 0);
    std::size_t shown = 0;
    std::size_t left_out = 0;
    for (const reports::finding& f : d.findings) {
        if (!all && (f.why == reports::cause::none || shown == findings_shown)) {
            left_out += f.why == reports::cause::none ? 0 : 1;
            continue;
        }
        out += '\n' + finding_text(o, d, f);
        ++shown;
    }
    if (left_out > 0) out += fmt::format("\n{} more places are worth mending: --all\n", left_out);
    return out + worths_text(o, d);
}

using dropin::row;
using reports::observed;

constexpr std::size_t rows_shown = 20;
constexpr std::size_t algorithms_shown = 5;
constexpr std::size_t longest_where = 48;

std::string where(const observed& o, const row& r) {
    std::string text = o.places[r.site].text();
    if (text.size() > longest_where) text = fmt::format("...{}", text.substr(text.size() - longest_where + 3));
    const std::size_t ranks = o.from.communicators[r.communicator].members.size();
    if (static_cast<std::size_t>(r.callers) < ranks) text += fmt::format(", {} of {} ranks", r.callers, ranks);
    return text;
}

std::string operation_text(const row& r) {
    const std::string_view name = traits(r.what).name;
    switch (r.how) {
        case dropin::form::nonblocking: return fmt::format("i{}", name);
        case dropin::form::persistent: return fmt::format("{} (persistent)", name);
        case dropin::form::blocking: break;
    }
    return std::string(name);
}

std::string root_text(const row& r) { return traits(r.what).rooted ? fmt::format("{}", r.root) : "-"; }
std::string who_text(const observed& o, const row& r, const dropin::who_often& w) {
    return w.rank < 0 ? "-" : fmt::format("{} ({})", reports::world_rank(o, r, w.rank), percent(w.share, 0));
}

std::string foreseeable(const dropin::arrivals_seen& s) {
    if (s.predictable.predictor.empty() || s.imbalance <= time_ns{}) return "-";
    return fmt::format("{}, last {} ({})", percent(s.predictable.share(), 0), percent(s.predictable.last_right, 0),
                       s.predictable.predictor);
}

std::vector<std::string> line(const observed& o, const row& r) {
    std::vector<std::string> out{operation_text(r),
                                 format_bytes(r.bytes),
                                 root_text(r),
                                 where(o, r),
                                 fmt::format("{}", r.calls),
                                 format_time(r.time),
                                 r.median > time_ns{} ? format_time(r.median) : "-"};
    if (!r.seen)
        out.insert(out.end(), 5, "-");
    else
        out.insert(out.end(), {r.how == dropin::form::blocking ? percent(r.seen->waiting, 0) : "-",
                               fmt::format("{:.2f}", reports::imbalance_factor(o, r)), who_text(o, r, r.seen->first),
                               who_text(o, r, r.seen->last), foreseeable(*r.seen)});
    return out;
}

std::string rows_text(const observed& o, bool all) {
    const std::size_t shown = all ? o.from.rows.size() : std::min(rows_shown, o.from.rows.size());
    std::string out;
    for (std::size_t c = 0; c < o.from.communicators.size(); ++c) {
        table lines{{"OPERATION", ">BYTES", ">ROOT", "WHERE", ">CALLS", ">TIME", ">MEDIAN", ">WAITING", ">IMBALANCE",
                     ">FIRST", ">LAST", "FORESEEABLE"}};
        for (std::size_t i = 0; i < shown; ++i)
            if (o.from.rows[i].communicator == c) lines.push_back(line(o, o.from.rows[i]));
        if (lines.size() > 1)
            out += fmt::format("\n{}\n\n{}", reports::members_text(o, o.from.communicators[c]), align(lines));
    }
    if (shown < o.from.rows.size())
        out += fmt::format("\n{} more rows, in which less time was spent: --all\n", o.from.rows.size() - shown);
    return out.empty() ? "\nNo collective was seen.\n" : out;
}

std::string overlap_text(const observed& o) {
    table lines{{"OPERATION", ">BYTES", "WHERE", ">CALLS", ">START", ">APART", ">WAITED", ">COULD BE HIDDEN", ">ALONE",
                 ">HIDDEN"}};
    for (std::size_t i = 0; i < o.from.rows.size(); ++i) {
        const row& r = o.from.rows[i];
        const auto is = reports::overlap_of(o, i);
        if (!is) continue;
        const std::optional<double> hidden = is->hidden();
        lines.push_back({operation_text(r), format_bytes(r.bytes), where(o, r), fmt::format("{}", r.calls),
                         format_time(is->start), format_time(is->apart), format_time(is->waited),
                         format_time(is->could_be_hidden()), is->alone ? format_time(*is->alone) : "-",
                         hidden ? percent(*hidden, 0) : "-"});
    }
    if (lines.size() == 1) return {};
    return fmt::format(
        "\nnon-blocking calls: time in the start, then apart from it, then waiting for its end; what was waited for "
        "could be\n"
        "hidden as far as the program was apart. Hidden: of the time alone, simulated, what the program did not "
        "pay\n\n{}",
        align(lines));
}

std::string instead_text(const observed& o, bool all) {
    if (!o.network) return "\nWith --model MODEL, what each algorithm would have taken is simulated.\n";
    if (o.from.rows.empty()) return {};
    std::string out = fmt::format(
        "\nsampled calls simulated one by one under {}, each with its own arrivals, beside what was measured; means\n",
        o.model);
    std::size_t shown = 0;
    for (std::size_t i = 0; i < o.from.rows.size(); ++i) {
        const reports::examined& e = o.examined_rows[i];
        const row& r = o.from.rows[i];
        if (e.instead.empty() || !(all || reports::auto_may_replace(o.from, r))) continue;
        if (!all && ++shown > rows_shown) break;
        table lines{{"ALGORITHM", ">RUN TIME", ">TAIL", ">/MEASURED"},
                    {"as measured", format_time(e.run_time), format_time(e.tail), "1"}};
        for (std::size_t k = 0; k < e.instead.size() && (all || k < algorithms_shown); ++k) {
            const reports::what_if& w = e.instead[k];
            lines.push_back({w.name + (w.extrapolated ? " *" : ""), format_time(w.run_time), format_time(w.tail),
                             ratio_text(w.run_time, e.run_time)});
        }
        out += fmt::format("\n{}, {}{}, {}\n\n{}", operation_text(r), format_bytes(r.bytes),
                           traits(r.what).rooted ? fmt::format(", root {}", r.root) : "", where(o, r), align(lines));
        if (!e.ran.empty())
            out += fmt::format("{} {}: its simulated tail is {} than the measured one\n",
                               e.ran_is_known ? "what ran:" : "most similar to what ran:", e.ran,
                               fmt::format("{} {}", percent(std::abs(e.error), 0), e.error < 0 ? "shorter" : "longer"));
    }
    if (shown == 0 && !all) return {};
    return out;
}

template <class Times>
std::string tail_text(const std::optional<Times>& t) {
    return t ? format_time(t->tail) : "-";
}

std::string plan_text(const dropin::experience& e) {
    if (e.algorithm.empty()) return "native";
    if (e.segment == 0) return e.algorithm;
    std::string size = format_bytes(e.segment);
    std::erase(size, ' ');  // as algorithms are named elsewhere
    return fmt::format("{}@{}", e.algorithm, size);
}

std::vector<std::string> line_of(const profiled& p) {
    const dropin::experience& e = p.what;
    const std::optional<dropin::late_rank> late = dropin::latest(e);
    return {std::string(traits(e.kind.what).name),
            format_bytes(e.bytes),
            traits(e.kind.what).rooted ? fmt::format("{}", e.kind.root.value) : "-",
            fmt::format("{}", p.ranks),
            plan_text(e),
            format_time(e.of_native.tail),
            e.algorithm.empty() ? "-" : format_time(e.of_plan.tail),
            late ? fmt::format("{}", late->who.value) : "-",
            late ? format_time(late->by) : "-"};
}

std::string recalled_text(const observed& o) {
    if (o.from.from_profile.empty()) return {};
    std::vector<profiled> lines;
    for (const dropin::recalled& r : o.from.from_profile) lines.push_back({r.ranks, r.what});
    return fmt::format("\nfrom the profile; times are tails, from the last arrival to the last exit\n\n{}",
                       experiences_text(lines));
}

std::string decisions_text(const observed& o) {
    if (o.from.decisions.empty()) return {};
    table lines{{"OPERATION", ">BYTES", ">ROOT", ">CALL", "ALGORITHM", "DECISION", ">PREDICTED", ">MEASURED",
                 "INCUMBENT", ">ITS TAIL", ">LATE BY", "REASON"}};
    for (const dropin::decision& d : o.from.decisions)
        lines.push_back({std::string(traits(d.what).name), format_bytes(d.bytes),
                         d.root ? fmt::format("{}", *d.root) : "-", fmt::format("{}", d.call), d.algorithm,
                         std::string(dropin::name_of(d.made)), tail_text(d.promised), tail_text(d.measured),
                         d.incumbent.empty() ? "-" : d.incumbent, tail_text(d.of_incumbent),
                         d.pattern ? format_time(d.pattern->imbalance) : "-", d.reason});
    return fmt::format("\ndecisions; times are tails, from the last arrival to the last exit\n\n{}", align(lines));
}

}  // namespace

std::string observed_text(const observed& o, bool all) {
    return fmt::format("{}\n\n{}{}{}{}{}{}", reports::summary(o), diagnosis_text(o, all), rows_text(o, all),
                       overlap_text(o), instead_text(o, all), recalled_text(o), decisions_text(o));
}

std::string watched_text(const observed& o) {
    return fmt::format("{}\n\n{}{}", reports::summary(o), diagnosis_text(o, false), rows_text(o, false));
}

std::string experiences_text(const std::vector<profiled>& all) {
    table lines{
        {"OPERATION", ">BYTES", ">ROOT", ">RANKS", "PLAN", ">NATIVE TAIL", ">ITS TAIL", ">LATE RANK", ">LATE BY"}};
    for (const profiled& p : all) lines.push_back(line_of(p));
    return align(lines);
}

}  // namespace rubato::command
