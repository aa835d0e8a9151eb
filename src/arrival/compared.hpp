// What predictors share: exact arithmetic, and comparing predictions with observations.
#pragma once

#include "arrival/predictor.hpp"
#include "arrival/ring_buffer.hpp"
#include "rubato/problem.hpp"

#include <algorithm>

namespace rubato {

/// Holds every sum and product here: times have 60 bits, windows 10.
__extension__ using wide = __int128;
inline constexpr std::int64_t longest_window = 1024;

inline time_ns limited(wide t) {
    constexpr wide most = longest_time.count();
    return time_ns(static_cast<std::int64_t>(std::clamp(t, -most, most)));
}

/// Rounded to the nearest, halves up; `divisor` is positive.
inline time_ns divided(wide t, wide divisor) {
    const wide doubled = 2 * t + divisor;
    const wide quotient = doubled / (2 * divisor);
    return limited(doubled % (2 * divisor) < 0 ? quotient - 1 : quotient);
}

/// 0 if there are none.
inline time_ns mean(const ring<time_ns>& times) {
    wide sum = 0;
    for (std::size_t i = 0; i < times.size(); ++i) sum += times[i].count();
    return times.size() == 0 ? time_ns{} : divided(sum, static_cast<wide>(times.size()));
}

/// Measures its own error. Derived classes make the predictions.
class compared : public predictor {
public:
    explicit compared(std::int32_t ahead) : ahead_(ahead), predicted_(static_cast<std::size_t>(ahead)) {}

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

}  // namespace rubato
