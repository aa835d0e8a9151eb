#include "arrival/predictor.hpp"

#include "arrival/compared.hpp"
#include "core/text.hpp"

#include <fmt/format.h>

#include <array>
#include <cassert>
#include <cmath>

namespace rubato {
namespace {

class balanced final : public compared {
public:
    balanced(const parameters&, std::int32_t ahead) : compared(ahead) {}

private:
    void take(time_ns) override {}
    time_ns guess() const override { return {}; }
};

class last final : public compared {
public:
    last(const parameters&, std::int32_t ahead) : compared(ahead) {}

private:
    void take(time_ns t) override { last_ = t; }
    time_ns guess() const override { return last_; }

    time_ns last_{};
};

std::size_t window_of(const parameters& given, std::int64_t least) {
    return static_cast<std::size_t>(parse_integer(given.get("window"), "window", least, longest_window));
}

class average final : public compared {
public:
    average(const parameters& given, std::int32_t ahead) : compared(ahead), recent_(window_of(given, 1)) {}

private:
    void take(time_ns t) override { recent_.push(t); }
    time_ns guess() const override { return mean(recent_); }

    ring<time_ns> recent_;
};

class exponential final : public compared {
public:
    exponential(const parameters& given, std::int32_t ahead)
        : compared(ahead), weight_(std::llround(parse_real(given.get("weight"), "weight", 0.001, 1) * one)) {}

private:
    static constexpr std::int64_t one = 1 << 16;

    void take(time_ns t) override {
        const wide scaled = static_cast<wide>(t.count()) * one;
        estimate_ = first_ ? scaled : estimate_ + (scaled - estimate_) * weight_ / one;
        first_ = false;
    }
    time_ns guess() const override { return divided(estimate_, one); }

    std::int64_t weight_;  // in units of 2^-16, as the estimate is
    wide estimate_ = 0;
    bool first_ = true;
};

class trend final : public compared {
public:
    trend(const parameters& given, std::int32_t ahead) : compared(ahead), recent_(window_of(given, 2)) {}

private:
    void take(time_ns t) override { recent_.push(t); }

    /// The line is mean_y + slope (x - mean_x) with x = 0, 1, ...; everything is over one divisor.
    time_ns guess() const override {
        const auto n = static_cast<wide>(recent_.size());
        wide y = 0;
        wide xy = 0;
        for (std::size_t x = 0; x < recent_.size(); ++x) {
            y += recent_[x].count();
            xy += static_cast<wide>(x) * recent_[x].count();
        }
        if (n < 2) return limited(y);
        const wide x = n * (n - 1) / 2;
        const wide spread = n * n * (n * n - 1) / 12;  // n sum(x^2) - sum(x)^2
        const wide slope = n * xy - x * y;             // the line's, times spread
        return divided(y * spread + slope * (n * (n - 1 + ahead()) - x), n * spread);
    }

    ring<time_ns> recent_;
};

template <class Kind>
std::unique_ptr<predictor> make(const parameters& given, std::int32_t ahead) {
    return std::make_unique<Kind>(given, ahead);
}

struct kind {
    std::string_view name;
    std::string_view takes;  ///< the name of its parameter, if it has one
    std::unique_ptr<predictor> (*make)(const parameters&, std::int32_t);
};

constexpr std::array kinds{
    kind{"balanced", "", make<balanced>},     kind{"last", "", make<last>},
    kind{"average", "window", make<average>}, kind{"exponential", "weight", make<exponential>},
    kind{"trend", "window", make<trend>},
};
constexpr std::array<std::string_view, 5> usual{"balanced", "last", "average:window=5", "exponential:weight=0.5",
                                                "trend:window=8"};

}  // namespace

std::unique_ptr<predictor> make_predictor(std::string_view text, std::int32_t ahead) {
    assert(ahead >= 1 && ahead <= 1024);
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    const std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
    for (const kind& k : kinds) {
        if (k.name != name) continue;
        const parameters read(text, rest, {&k.takes, k.takes.empty() ? 0U : 1U});
        return k.make(read, ahead);
    }
    std::string names;
    for (const kind& k : kinds) names += fmt::format("{}, ", k.name);
    throw error(fmt::format("unknown predictor '{}'", name),
                fmt::format("rubato knows {}and for a whole pattern given:TRACE", names),
                "use one of them, for example average:window=5");
}

std::span<const std::string_view> predictors_to_try() { return usual; }

prediction edge(time_ns start, time_ns now, double done) {
    if (!(done > 0 && done < 1))  // written so that a NaN fails too
        throw error(fmt::format("a fraction of {}", done), "at an edge, more than nothing and less than all is done",
                    "give a number above 0 and below 1");
    if (now < start) throw error("an edge before the start", "work is done after it began", "give times of one clock");
    const wide elapsed = static_cast<wide>(now.count()) - start.count();
    constexpr double most = 0x1p60;
    const auto whole = static_cast<wide>(std::min(static_cast<double>(elapsed) / done + 0.5, most));
    const time_ns rest = limited(std::max<wide>(whole - elapsed, 0));
    const wide arrival = std::min<wide>(static_cast<wide>(now.count()) + rest.count(), time_ns::max().count());
    return {time_ns(static_cast<std::int64_t>(arrival)), rest};
}

}  // namespace rubato
