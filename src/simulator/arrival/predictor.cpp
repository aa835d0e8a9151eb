#include "simulator/arrival/predictor.hpp"

#include "base/core/text.hpp"
#include "rubato/arrival.hpp"
#include "rubato/problem.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <cstddef>

namespace rubato::simulator {
namespace {

/// Holds every sum and product here: times have 60 bits, windows 10.
__extension__ using wide = __int128;
constexpr std::int64_t longest_window = 1024;

time_ns limited(wide t) {
    constexpr wide most = longest_time.count();
    return time_ns(static_cast<std::int64_t>(std::clamp(t, -most, most)));
}

/// Rounded to the nearest, halves up; `divisor` is positive.
time_ns divided(wide t, wide divisor) {
    const wide doubled = 2 * t + divisor;
    const wide quotient = doubled / (2 * divisor);
    return limited(doubled % (2 * divisor) < 0 ? quotient - 1 : quotient);
}

/// Keeps the last `capacity` values, oldest first. All its memory is taken when it is made.
template <class T>
class ring {
public:
    explicit ring(std::size_t capacity) : kept_(capacity) { assert(capacity > 0); }

    void push(const T& value) {
        if (size_ < kept_.size()) {
            kept_[size_++] = value;
            return;
        }
        kept_[oldest_] = value;
        if (++oldest_ == kept_.size()) oldest_ = 0;
    }

    std::size_t size() const { return size_; }
    std::size_t capacity() const { return kept_.size(); }
    /// 0 is the oldest.
    const T& operator[](std::size_t i) const {
        assert(i < size_);
        const std::size_t at = oldest_ + i;
        return kept_[at < kept_.size() ? at : at - kept_.size()];
    }
    const T& newest() const { return (*this)[size_ - 1]; }

private:
    std::vector<T> kept_;
    std::size_t size_ = 0;
    std::size_t oldest_ = 0;
};

/// 0 if there are none.
time_ns mean(const ring<time_ns>& times) {
    wide sum = 0;
    for (std::size_t i = 0; i < times.size(); ++i) sum += times[i].count();
    return times.size() == 0 ? time_ns{} : divided(sum, static_cast<wide>(times.size()));
}

/// Measures its own error. Derived classes make the predictions.
class checked_predictor : public predictor {
public:
    explicit checked_predictor(std::int32_t ahead) : ahead_(ahead), predicted_(static_cast<std::size_t>(ahead)) {}

    void observe(time_ns t) final {
        if (t != no_arrival) {
            t = limited(t.count());
            if (predicted_.size() == predicted_.capacity()) errors_.push(std::chrono::abs(predicted_[0] - t));
            take(t);
            empty_ = false;
        } else {
            miss();
        }
        if (!empty_) predicted_.push(guess());
    }

    prediction next() const final {
        if (empty_) return {};
        return {guess(), errors_.size() == 0 ? unsure : mean(errors_)};
    }

protected:
    virtual void take(time_ns t) = 0;
    virtual void miss() {}
    virtual time_ns guess() const = 0;

    std::int32_t ahead() const { return ahead_; }

private:
    static constexpr std::size_t errors_kept = 8;

    std::int32_t ahead_;
    bool empty_ = true;
    ring<time_ns> predicted_;  // when full, the oldest is for the time observed next
    ring<time_ns> errors_{errors_kept};
};

class always_balanced final : public checked_predictor {
public:
    always_balanced(const base::parameters&, std::int32_t ahead) : checked_predictor(ahead) {}

private:
    void take(time_ns) override {}
    time_ns guess() const override { return {}; }
};

class last final : public checked_predictor {
public:
    last(const base::parameters&, std::int32_t ahead) : checked_predictor(ahead) {}

private:
    void take(time_ns t) override { last_ = t; }
    time_ns guess() const override { return last_; }

    time_ns last_{};
};

std::size_t window_of(const base::parameters& given, std::int64_t least) {
    return static_cast<std::size_t>(parse_integer(given.get("window"), "window", least, longest_window));
}

class average final : public checked_predictor {
public:
    average(const base::parameters& given, std::int32_t ahead)
        : checked_predictor(ahead), recent_(window_of(given, 1)) {}

private:
    void take(time_ns t) override { recent_.push(t); }
    time_ns guess() const override { return mean(recent_); }

    ring<time_ns> recent_;
};

class exponential_average final : public checked_predictor {
public:
    exponential_average(const base::parameters& given, std::int32_t ahead)
        : checked_predictor(ahead),
          weight_(std::llround(base::parse_real(given.get("weight"), "weight", 0.001, 1) * one)) {}

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

class trend final : public checked_predictor {
public:
    trend(const base::parameters& given, std::int32_t ahead) : checked_predictor(ahead), recent_(window_of(given, 2)) {}

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

/// A series that is known beforehand.
class given final : public checked_predictor {
public:
    given(std::vector<time_ns> times, std::int32_t ahead)
        : checked_predictor(ahead),
          times_(std::move(times)),
          next_(static_cast<std::size_t>(ahead - 1) % times_.size()) {}

private:
    void take(time_ns) override { miss(); }
    void miss() override { next_ = (next_ + 1) % times_.size(); }
    time_ns guess() const override { return times_[next_]; }

    std::vector<time_ns> times_;
    std::size_t next_;  // before anything was observed: the line before the one to predict
};

/// How long after the earliest each rank arrives.
void count_from_earliest(std::span<time_ns> arrivals) {
    time_ns earliest = time_ns::max();
    for (const time_ns t : arrivals)
        if (t != no_arrival) earliest = std::min(earliest, t);
    for (time_ns& t : arrivals)
        if (t != no_arrival) t = limited(static_cast<wide>(t.count()) - earliest.count());
}

template <class Kind>
std::unique_ptr<predictor> make(const base::parameters& given, std::int32_t ahead) {
    return std::make_unique<Kind>(given, ahead);
}

struct predictor_kind {
    std::string_view name;
    std::string_view takes;  ///< the name of its parameter, if it has one
    std::unique_ptr<predictor> (*make)(const base::parameters&, std::int32_t);
};

constexpr std::array kinds{
    predictor_kind{"balanced", "", make<always_balanced>},
    predictor_kind{"last", "", make<last>},
    predictor_kind{"average", "window", make<average>},
    predictor_kind{"exponential", "weight", make<exponential_average>},
    predictor_kind{"trend", "window", make<trend>},
};
constexpr std::array<std::string_view, 5> usual{"balanced", "last", "average:window=5", "exponential:weight=0.5",
                                                "trend:window=8"};

}  // namespace

std::unique_ptr<predictor> make_predictor(std::string_view text, std::int32_t ahead) {
    assert(ahead >= 1 && ahead <= 1024);
    const auto [name, rest] = base::named_text(text);
    for (const predictor_kind& k : kinds) {
        if (k.name != name) continue;
        const base::parameters read(text, rest, {&k.takes, k.takes.empty() ? 0U : 1U});
        return k.make(read, ahead);
    }
    throw error(fmt::format("unknown predictor '{}'", name),
                fmt::format("rubato knows {}, and for a whole pattern given:TRACE", base::names_of(kinds)),
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

pattern_predictor::pattern_predictor(std::string_view text, std::int32_t ranks, std::int32_t ahead)
    : observed_(static_cast<std::size_t>(ranks)) {
    constexpr std::string_view known = "given:";
    if (!text.starts_with(known)) {
        for (std::int32_t r = 0; r < ranks; ++r) ranks_.push_back(make_predictor(text, ahead));
        return;
    }
    std::vector<std::vector<time_ns>> lines = read_trace(std::string(text.substr(known.size())), ranks);
    for (std::vector<time_ns>& line : lines) count_from_earliest(line);
    for (std::size_t r = 0; r < observed_.size(); ++r) {
        std::vector<time_ns> column;
        column.reserve(lines.size());
        for (const std::vector<time_ns>& line : lines) column.push_back(line[r]);
        ranks_.push_back(std::make_unique<given>(std::move(column), ahead));
    }
}

void pattern_predictor::observe(std::span<const time_ns> arrivals) {
    assert(arrivals.size() == ranks_.size());
    std::vector<time_ns> late(arrivals.begin(), arrivals.end());
    count_from_earliest(late);
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        ranks_[r]->observe(late[r]);
        if (late[r] != no_arrival) observed_[r] = true;
    }
}

bool pattern_predictor::next(std::vector<time_ns>& arrivals) const {
    arrivals.assign(ranks_.size(), no_arrival);
    bool any = false;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
        if (!observed_[r]) continue;
        arrivals[r] = std::max(ranks_[r]->next().value, time_ns{});  // no rank is earlier than the earliest
        any = true;
    }
    count_from_earliest(arrivals);
    std::ranges::replace(arrivals, no_arrival, time_ns{});
    return any;
}

time_ns pattern_predictor::uncertainty() const {
    wide sum = 0;
    wide sure = 0;
    for (const auto& r : ranks_) {
        const time_ns u = r->next().uncertainty;
        if (u == unsure) continue;
        sum += u.count();
        ++sure;
    }
    return sure == 0 ? unsure : divided(sum, sure);
}

time_ns pattern_predictor::worst_uncertainty() const {
    time_ns worst{};
    for (const auto& r : ranks_) worst = std::max(worst, r->next().uncertainty);
    return worst;
}

}  // namespace rubato::simulator
