// How long computing takes: as long as it does, or a given time. Hosts of an emulated cluster share its cores, so that
// their ranks would slow each other down; there ranks compute little and sleep for the rest of the time.
#pragma once

#include "rubato/core.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <thread>

namespace applications {

class pace {
public:
    /// `step`: the time of an application's step, or 0; `late`: how much longer this rank takes for each.
    pace(rubato::time_ns step, rubato::time_ns late) : step_(step), late_(late) {}

    /// Computes a part of a step that is so large a share of it.
    template <class F>
    void operator()(double share, F&& part) const {
        const auto begin = std::chrono::steady_clock::now();
        part();
        const auto end = std::max(begin + of(step_, share), std::chrono::steady_clock::now()) + of(late_, share);
        if (step_.count() > 0 || late_.count() > 0) std::this_thread::sleep_until(end);
    }

private:
    static std::chrono::nanoseconds of(rubato::time_ns whole, double share) {
        return std::chrono::nanoseconds(static_cast<std::int64_t>(static_cast<double>(whole.count()) * share));
    }

    rubato::time_ns step_;
    rubato::time_ns late_;
};

}  // namespace applications
