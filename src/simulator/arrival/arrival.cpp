// Arrival patterns and the measures of Marendic et al. 2016, sec. 3.
//
// A random pattern must be the same on every machine. So the generator, the distributions and the logarithm under them
// are our own: the standard library's distributions differ between implementations, its functions in the last digit.
// Each rank has its own stream, so what a rank draws depends neither on the number of ranks nor on the others' draws.
#include "rubato/arrival.hpp"

#include "base/core/portable.hpp"
#include "base/core/splitmix.hpp"
#include "base/core/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <numbers>

namespace rubato {
namespace {

constexpr double latest = 1e18;  // so that times can be added without overflow

/// For x <= 0.
double exponential(double x) {
    if (x < -700) return 0;
    const double whole = std::floor(x / std::numbers::ln2 + 0.5);
    const double rest = x - whole * std::numbers::ln2;
    double sum = 1;
    for (int k = 15; k >= 1; --k) sum = 1 + sum * rest / k;
    return std::ldexp(sum, static_cast<int>(whole));
}

class generator {
public:
    generator(std::int64_t seed, std::int64_t invocation, std::int32_t rank) : bits_(static_cast<std::uint64_t>(seed)) {
        bits_ = base::splitmix(bits_.next() + static_cast<std::uint64_t>(invocation));
        bits_ = base::splitmix(bits_.next() + static_cast<std::uint64_t>(rank));
        bits_ = base::splitmix(bits_.next());
    }

    /// Above 0, at most 1, so that it has a logarithm.
    double uniform() { return static_cast<double>((bits_.next() >> 11) + 1) * 0x1p-53; }

    /// Polar method of Marsaglia.
    double normal() {
        while (true) {
            const double x = 2 * uniform() - 1;
            const double y = 2 * uniform() - 1;
            const double s = x * x + y * y;
            if (s > 0 && s < 1) return x * std::sqrt(-2 * base::natural_log(s) / s);
        }
    }

    /// Marsaglia and Tsang 2000.
    double gamma(double shape) {
        if (shape < 1) {
            const double u = uniform();
            return gamma(shape + 1) * exponential(base::natural_log(u) / shape);
        }
        const double d = shape - 1. / 3;
        const double c = 1 / std::sqrt(9 * d);
        while (true) {
            const double x = normal();
            const double root = 1 + c * x;
            if (root <= 0) continue;
            const double v = root * root * root;
            if (base::natural_log(uniform()) < x * x / 2 + d - d * v + d * base::natural_log(v)) return d * v;
        }
    }

private:
    base::splitmix bits_;
};

time_ns to_time(double ns) { return time_ns(std::llround(std::clamp(ns, 0., latest))); }

double parse_arrival(std::string_view text) {
    const double t = parse_time_exact(text);
    if (t > latest)
        throw error(fmt::format("'{}' is too late", text), "a rank arrives within 31 years", "give an earlier time");
    return t;
}

struct request {
    const base::parameters& given;
    std::int32_t ranks;
    std::int64_t invocation;

    double time(std::string_view name) const { return parse_arrival(given.get(name)); }
};

template <class Draw>
std::vector<time_ns> for_each_rank(const request& q, Draw draw) {
    std::vector<time_ns> times(static_cast<std::size_t>(q.ranks));
    for (std::int32_t r = 0; r < q.ranks; ++r) times[static_cast<std::size_t>(r)] = to_time(draw(r));
    return times;
}

template <class Draw>
std::vector<time_ns> draw_for_each_rank(const request& q, Draw draw) {
    const std::int64_t seed = parse_integer(q.given.get("seed"), "seed", 0, INT64_MAX);
    return for_each_rank(q, [&](std::int32_t r) {
        generator random(seed, q.invocation, r);
        return draw(random);
    });
}

std::vector<time_ns> balanced(const request& q) {
    return for_each_rank(q, [](std::int32_t) { return 0.; });
}

std::vector<time_ns> single(const request& q) {
    const std::int64_t late = parse_integer(q.given.get("rank"), "rank", 0, q.ranks - 1);
    return for_each_rank(q, [late, delay = q.time("delay")](std::int32_t r) { return r == late ? delay : 0; });
}

std::vector<time_ns> alternating(const request& q) {
    return for_each_rank(
        q, [even = q.time("even"), odd = q.time("odd")](std::int32_t r) { return r % 2 == 0 ? even : odd; });
}

std::vector<time_ns> uniform(const request& q) {
    return draw_for_each_rank(q, [max = q.time("max")](generator& random) { return random.uniform() * max; });
}

std::vector<time_ns> normal(const request& q) {
    return draw_for_each_rank(
        q, [mean = q.time("mean"), sd = q.time("sd")](generator& random) { return mean + sd * random.normal(); });
}

std::vector<time_ns> gamma(const request& q) {
    const double shape = base::parse_real(q.given.get("shape"), "shape", 1e-3, 1e6);
    return draw_for_each_rank(
        q, [shape, scale = q.time("scale")](generator& random) { return random.gamma(shape) * scale; });
}

std::vector<time_ns> bernoulli(const request& q) {
    const double p = base::parse_real(q.given.get("p"), "probability", 0, 1);
    return draw_for_each_rank(
        q, [p, delay = q.time("delay")](generator& random) { return random.uniform() <= p ? delay : 0; });
}

struct pattern {
    std::string_view name;
    std::array<std::string_view, 3> takes;  // empty ones are none
    std::vector<time_ns> (*make)(const request&);
};

constexpr std::array patterns{
    pattern{"balanced", {}, balanced},
    pattern{"single", {"rank", "delay"}, single},
    pattern{"alternating", {"even", "odd"}, alternating},
    pattern{"uniform", {"max", "seed"}, uniform},
    pattern{"normal", {"mean", "sd", "seed"}, normal},
    pattern{"gamma", {"shape", "scale", "seed"}, gamma},
    pattern{"bernoulli", {"p", "delay", "seed"}, bernoulli},
};

std::vector<base::numbered_line> trace_lines(const std::string& file, std::int32_t ranks) {
    std::vector<base::numbered_line> lines = base::lines_of(base::read_text(file, "trace"), file, "trace");
    const std::size_t wanted =
        ranks == 0 ? base::split_fields(lines.front().text).size() : static_cast<std::size_t>(ranks);
    for (const base::numbered_line& line : lines) {
        const std::size_t columns = base::split_fields(line.text).size();
        if (columns != wanted)
            throw error(fmt::format("line {} of trace '{}' holds {} times", line.number, file, columns),
                        fmt::format("there are {} ranks", wanted), "give each line as many times as ranks");
    }
    return lines;
}

std::vector<time_ns> read_line(const base::numbered_line& line, const std::string& file) {
    std::vector<time_ns> times;
    for (const std::string_view field : base::split_fields(line.text)) {
        try {
            times.push_back(to_time(parse_arrival(field)));
        } catch (const error& e) {
            throw error(fmt::format("line {} of trace '{}'", line.number, file), e.what(), "correct it");
        }
    }
    return times;
}

std::vector<time_ns> read_list(std::string_view text, std::int32_t ranks) {
    std::vector<time_ns> times;
    for (const std::string_view field : base::split_fields(text)) times.push_back(to_time(parse_arrival(field)));
    if (times.size() != static_cast<std::size_t>(ranks))
        throw error(fmt::format("{} arrival times for {} ranks", times.size(), ranks), "each rank has one arrival time",
                    "give as many times as ranks");
    return times;
}

}  // namespace

std::vector<time_ns> parse_arrivals(std::string_view text, std::int32_t ranks, std::int64_t invocation) {
    assert(ranks > 0 && invocation >= 0);
    const auto [name, rest] = base::named_text(text);
    if (name == "trace") {
        const std::string file(rest);
        const std::vector<base::numbered_line> lines = trace_lines(file, ranks);
        return read_line(lines[static_cast<std::size_t>(invocation) % lines.size()], file);
    }
    for (const pattern& p : patterns) {
        if (p.name != name) continue;
        const auto end = std::ranges::find(p.takes, "");
        const base::parameters given(text, rest, {p.takes.begin(), end});
        return p.make({given, ranks, invocation});
    }
    const bool has_name = !name.empty() && ((name[0] >= 'a' && name[0] <= 'z') || (name[0] >= 'A' && name[0] <= 'Z'));
    if (!has_name && !text.empty()) return read_list(text, ranks);
    throw error(fmt::format("unknown arrival pattern '{}'", name),
                fmt::format("rubato knows {}, trace, and plain lists of times", base::names_of(patterns)),
                "use one of them, for example single:rank=0,delay=5ms");
}

std::vector<std::vector<time_ns>> read_trace(const std::string& file, std::int32_t ranks) {
    std::vector<std::vector<time_ns>> trace;
    for (const base::numbered_line& line : trace_lines(file, ranks)) trace.push_back(read_line(line, file));
    return trace;
}

std::vector<std::string> patterns_to_try(std::int32_t ranks, rank special) {
    const std::int32_t other = (special.value + 1) % ranks;
    const auto list = [ranks](auto microseconds) {
        std::string times;
        for (std::int32_t r = 0; r < ranks; ++r) times += fmt::format("{}{}us", r == 0 ? "" : ",", microseconds(r));
        return times;
    };
    const auto all_but = [&](std::int32_t early) {
        return list([early](std::int32_t r) { return r == early ? 0 : 200; });
    };
    return {fmt::format("single:rank={},delay=200us", special.value),
            fmt::format("single:rank={},delay=200us", other),
            all_but(special.value),
            all_but(other),
            "alternating:even=0,odd=100us",
            "alternating:even=100us,odd=0",
            "uniform:max=200us,seed=1",
            "normal:mean=100us,sd=30us,seed=1",
            "gamma:shape=2,scale=30us,seed=1",
            "bernoulli:p=0.3,delay=100us,seed=1",
            list([](std::int32_t r) { return r % 5 * 5; })};  // ties, also after some rounds
}

time_ns absolute_imbalance(std::span<const time_ns> arrivals) {
    return std::ranges::max(arrivals) - std::ranges::min(arrivals);
}

time_ns run_time(std::span<const time_ns> arrivals, std::span<const time_ns> exits) {
    return std::ranges::max(exits) - std::ranges::min(arrivals);
}

time_ns tail(std::span<const time_ns> arrivals, std::span<const time_ns> exits) {
    return std::ranges::max(exits) - std::ranges::max(arrivals);
}

time_ns absorption(time_ns balanced, time_ns run_time, time_ns imbalance) { return balanced - run_time + imbalance; }

double normalised(time_ns t, time_ns balanced) {
    return static_cast<double>(t.count()) / static_cast<double>(balanced.count());
}

}  // namespace rubato
