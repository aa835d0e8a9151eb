#include "direct/pacer.hpp"

#include "direct/level.hpp"
#include "direct/messages.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato {
namespace {

/// Calls by which a pace is measured, and those after it, in which ranks gather it.
constexpr std::uint64_t measured = 6;
constexpr std::uint64_t gathering = 2;
constexpr std::uint64_t least_patience = 64;
constexpr std::uint64_t most_patience = 4096;
/// A pace must be better by this share: it varies.
constexpr double margin = 0.03;
/// Where even the rank that waits least waits for this share of the time, a plan is tried; where for the second, at
/// once.
constexpr double worthwhile = 0.05;
constexpr double no_doubt = 0.2;

struct told_pace {
    time_ns pace{};    ///< per call
    time_ns waited{};  ///< of that
    time_ns has_run{};
};

}  // namespace

std::optional<bool> pacer::plans(const started_call& c) {
    record& r = records_.try_emplace(c.what.kind()).first->second;
    if (r.left == 0 && !go_on(r, c)) return std::nullopt;
    --r.left;
    ++r.calls;
    return (r.now == phase::trial) != r.plan;
}

void pacer::enter(record& r, phase next, std::uint64_t calls, const started_call& c) const {
    r.now = next;
    r.left = calls;
    r.begun = c.now;
    r.waited = c.waited;
}

void pacer::ask(record& r, const started_call& c) const {
    const auto per_call = [](time_ns t) { return t / static_cast<std::int64_t>(measured); };
    const told_pace mine{per_call(c.now - r.begun), per_call(c.waited - r.waited),
                         how_.process != nullptr ? c.now - how_.process->begin : c.now};
    r.asked = others_.gather(direct::bytes_of(mine));
}

/// The calls of a phase are over; false if it is not known yet what comes next.
bool pacer::go_on(record& r, const started_call& c) {
    switch (r.now) {
        case phase::rest: enter(r, phase::look, measured, c); break;
        case phase::look:
        case phase::trial:
            ask(r, c);
            enter(r, r.now == phase::look ? phase::after_look : phase::after_trial, gathering, c);
            break;
        case phase::after_look:
        case phase::after_trial:
            if (!others_.is_there(r.asked)) return false;
            r.now == phase::after_look ? judge_look(r, c) : judge_trial(r, c);
            break;
    }
    return true;
}

/// Whether the other of the two is tried.
void pacer::judge_look(record& r, const started_call& c) {
    const auto all = direct::messages_in<told_pace>(others_.take(r.asked));
    r.pace = std::ranges::max(all, {}, &told_pace::pace).pace;
    const time_ns waited = std::ranges::min(all, {}, &told_pace::waited).waited;
    const time_ns has_run = std::ranges::min(all, {}, &told_pace::has_run).has_run;
    const bool promises = r.plan || waited >= direct::part(r.pace, worthwhile);
    const bool sure = !r.tried && waited >= direct::part(r.pace, no_doubt);
    const time_ns loss = static_cast<std::int64_t>(measured) * (r.tried ? r.gap : waited);
    if (promises && (sure || spent_ + loss <= direct::part(has_run, how_.spend))) {
        if (!r.plan)
            explain(r, c, decision::verdict::tried,
                    fmt::format("the program waits for it {:.0f} % of the time",
                                100 * static_cast<double>(waited.count()) /
                                    static_cast<double>(std::max<time_ns::rep>(1, r.pace.count()))));
        r.tried = true;
        return enter(r, phase::trial, measured, c);
    }
    if (!promises && !r.tried && r.patience == 0)
        explain(r, c, decision::verdict::left, "the program hardly waits for it");
    r.patience = std::max(r.patience, least_patience);
    enter(r, phase::rest, r.patience, c);
}

void pacer::judge_trial(record& r, const started_call& c) {
    const auto all = direct::messages_in<told_pace>(others_.take(r.asked));
    const time_ns pace = std::ranges::max(all, {}, &told_pace::pace).pace;
    r.gap = std::max(pace - r.pace, r.pace - pace);
    if (pace > r.pace) {
        const time_ns loss = static_cast<std::int64_t>(measured) * (pace - r.pace);
        spent_ += loss;
        if (how_.process != nullptr) how_.process->spent += loss.count();
    }
    const bool better = pace < r.pace - direct::part(r.pace, margin);
    if (r.plan == better)
        explain(r, c, decision::verdict::withdrawn, better ? "the native one has become better" : "it is no better", pace);
    else if (better)
        explain(r, c, decision::verdict::kept, "the program is faster with it", pace);
    r.patience = better ? least_patience : std::clamp(2 * r.patience, least_patience, most_patience);
    if (better) r.plan = !r.plan;
    enter(r, phase::rest, r.patience, c);
}

void pacer::explain(const record& r, const started_call& c, decision::verdict made, std::string_view reason,
                    std::optional<time_ns> pace) const {
    if (!explain_) return;
    decision d;
    d.made = made;
    d.what = c.what.what;
    d.bytes = c.what.bytes;
    if (traits(d.what).rooted) d.root = c.what.root.value;
    d.ranks = how_.ranks;
    d.call = r.calls + 1;
    d.algorithm = c.algorithm;
    d.incumbent = "native";
    const time_ns of_plan = r.plan ? r.pace : pace.value_or(time_ns{});
    if (pace) d.measured = decision::times{{}, of_plan};
    d.of_incumbent = decision::times{{}, r.plan ? *pace : r.pace};
    d.reason = reason;
    explain_(d);
}

}  // namespace rubato
