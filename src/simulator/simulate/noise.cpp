#include "rubato/noise.hpp"

#include "base/core/portable.hpp"
#include "base/core/splitmix.hpp"
#include "base/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato {
namespace {

/// Ranks' random numbers have nothing in common.
std::uint64_t seed_of(std::uint64_t seed, std::uint32_t rank) {
    base::splitmix mixed(seed);
    return mixed.next() ^ base::splitmix(rank + std::uint64_t{1}).next();
}

/// From 0, which is never drawn, to 1.
double uniform(std::uint64_t& state) {
    base::splitmix random(state);
    const std::uint64_t bits = random.next();
    state = bits;
    return static_cast<double>((bits >> 11) + 1) / 9007199254740992.0;
}

std::int64_t exponential(std::uint64_t& state, std::int64_t mean) {
    return base::nearest_time(-base::natural_log(uniform(state)) * static_cast<double>(mean)).count();
}

}  // namespace

noise::processor noise::of(std::uint32_t rank) const {
    processor p;
    p.of_ = this;
    if (!shared_) return p;
    p.state_ = seed_of(shared_->seed, rank);
    const auto somewhere = static_cast<std::int64_t>(uniform(p.state_) * static_cast<double>(shared_->period));
    switch (shared_->what) {
        case kind::fixed: p.detour_ = {somewhere, somewhere + shared_->duration}; break;
        case kind::random: p.next(); break;
        case kind::trace:
            p.round_ = -somewhere;
            p.detour_ = {p.round_ + shared_->trace[0].begin,
                         p.round_ + shared_->trace[0].begin + shared_->trace[0].duration};
            break;
    }
    return p;
}

void noise::processor::next() {
    const shared& s = *of_->shared_;
    switch (s.what) {
        case kind::fixed: detour_ = {detour_.begin + s.period, detour_.end + s.period}; break;
        case kind::random:
            detour_.begin = detour_.end + exponential(state_, s.period);
            detour_.end = detour_.begin + exponential(state_, s.duration);
            break;
        case kind::trace:
            if (++at_ == s.trace.size()) {
                at_ = 0;
                round_ += s.period;
            }
            detour_ = {round_ + s.trace[at_].begin, round_ + s.trace[at_].begin + s.trace[at_].duration};
            break;
    }
}

noise::processor::detour noise::processor::after(time_ns t) {
    const shared& s = *of_->shared_;
    const std::int64_t time = t.count();
    if (s.what != kind::random && time - detour_.end > s.period) {
        const std::int64_t rounds = (time - detour_.end) / s.period;
        round_ += rounds * s.period;
        detour_.begin += rounds * s.period;
        detour_.end += rounds * s.period;
    }
    while (detour_.end <= time) next();
    return detour_;
}

time_ns noise::processor::end_of(time_ns begin, time_ns work) {
    std::int64_t at = begin.count();
    std::int64_t left = work.count();
    if (!of_->any()) return begin + work;
    for (;;) {
        const detour next = after(time_ns(at));
        if (next.begin > at) {
            if (left <= next.begin - at) return time_ns(at + left);
            left -= next.begin - at;
        }
        at = next.end;
    }
}

noise parse_noise(std::string_view text) {
    const auto [name, rest] = base::named_text(text);
    noise result;
    auto s = std::make_shared<noise::shared>();
    const auto seed = [](std::string_view given) {
        return static_cast<std::uint64_t>(parse_integer(given, "seed", 0, INT64_MAX));
    };
    if (name == "fixed" || name == "random") {
        const base::parameters given(text, rest, {"period", "duration", "seed"});
        s->what = name == "fixed" ? noise::kind::fixed : noise::kind::random;
        s->period = parse_time(given.get("period")).count();
        s->duration = parse_time(given.get("duration")).count();
        if (const auto value = given.find("seed")) s->seed = seed(*value);
        if (s->period <= 0)
            throw error("noise without a period", "detours come again and again", "give one such as 1ms");
        if (s->what == noise::kind::fixed && s->duration >= s->period)
            throw error(fmt::format("noise that takes {} of every {}", format_time(time_ns(s->duration)),
                                    format_time(time_ns(s->period))),
                        "nothing would be left for the program", "give a shorter duration");
        if (s->duration == 0) return result;
    } else if (name == "file") {
        const std::size_t comma = rest.rfind(",seed=");
        const std::string file(rest.substr(0, comma));
        if (comma != std::string_view::npos) s->seed = seed(rest.substr(comma + 6));
        s->what = noise::kind::trace;
        std::int64_t end = 0;
        for (const base::numbered_line& line :
             base::lines_of(base::read_text(file, "noise trace"), file, "noise trace")) {
            const auto fields = base::split_fields(line.text);
            const auto wrong = [&](std::string_view what, std::string_view why) {
                throw error(fmt::format("line {} of noise trace '{}': {}", line.number, file, what), why, "correct it");
            };
            if (fields.size() != 2)
                wrong(fmt::format("{} columns", fields.size()), "it has when a detour began, and how long it was");
            try {
                const std::int64_t begin = parse_time(fields[0]).count();
                const std::int64_t duration = parse_time(fields[1]).count();
                if (begin < end)
                    wrong("a detour that begins before the last one ends", "they are in the order of time");
                if (duration > 0) s->trace.push_back({begin, duration});
                end = begin + duration;
            } catch (const error& e) {
                if (std::string_view(e.what()).starts_with("line ")) throw;
                wrong(line.text, e.what());
            }
        }
        if (s->trace.empty()) return result;
        // As far from the last to the first again as from one to the next, on the whole.
        const std::int64_t first = s->trace.front().begin;
        for (noise::entry& e : s->trace) e.begin -= first;
        s->period = end - first + std::max<std::int64_t>(1, (end - first) / static_cast<std::int64_t>(s->trace.size()));
    } else {
        throw error(fmt::format("unknown noise '{}'", name), "rubato knows fixed, random and file",
                    "use one of them, for example fixed:period=1ms,duration=10us,seed=1");
    }
    result.shared_ = std::move(s);
    return result;
}

}  // namespace rubato
