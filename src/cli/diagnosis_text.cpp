#include "cli/diagnosis_text.hpp"

#include "cli/command.hpp"
#include "report/diagnosis.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato::cli {
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

std::string finding_text(const report::observed& o, const report::diagnosis& d, const report::finding& f) {
    const bool again = report::said_before(d, f);
    std::string out = wrapped(
        fmt::format("* {}: {}{}", report::place_of(o, f.row), again ? "again " : "", report::name_of(f.why)), 0);
    const std::vector<std::string> all = report::sentences(o, f);
    if (again) return out + wrapped(all.back(), 2);
    for (const std::string& s : all) out += wrapped(s, 2);
    if (f.why == report::cause::none) return out;
    const report::advice next = report::next_step(o, f);
    out += wrapped(next.what + (next.command.empty() ? "." : ":"), 2);
    if (!next.command.empty()) out += fmt::format("    {}\n", next.command);
    return out;
}

std::string gain_text(const report::observed& o, const report::worth& w) {
    if (!w.gain) return fmt::format("not known: {}", w.unknown);
    if (o.from.duration <= time_ns{}) return format_time(*w.gain);
    return fmt::format("{} ({} of the run)", format_time(*w.gain),
                       percent(static_cast<double>(w.gain->count()) / static_cast<double>(o.from.duration.count())));
}

std::string worths_text(const report::observed& o, const report::diagnosis& d) {
    table lines{{"THE RUN", "WOULD SAVE", "ERROR OF THE SIMULATION"}};
    for (const report::worth& w : d.worths)
        lines.push_back({std::string(w.change), gain_text(o, w), w.error ? percent(*w.error, 0) : "-"});
    return lines.size() == 1 ? std::string() : fmt::format("\n{}", align(lines, {false, false, true}));
}

}  // namespace

std::string diagnosis_text(const report::observed& o, bool all) {
    if (o.from.rows.empty()) return {};
    const report::diagnosis d = report::diagnose(o);
    std::string out = wrapped(report::headline(o, d), 0);
    std::size_t shown = 0;
    std::size_t left_out = 0;
    for (const report::finding& f : d.findings) {
        if (!all && (f.why == report::cause::none || shown == findings_shown)) {
            left_out += f.why == report::cause::none ? 0 : 1;
            continue;
        }
        out += '\n' + finding_text(o, d, f);
        ++shown;
    }
    if (left_out > 0) out += fmt::format("\n{} more places are worth mending: --all\n", left_out);
    return out + worths_text(o, d);
}

}  // namespace rubato::cli
