// Operating-system noise: now and then a rank's processor does something else, a *detour*.
#pragma once

#include "rubato/core.hpp"

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

namespace rubato {

/// When a rank's processor is somewhere else. A value; all ranks' detours follow from it.
class RUBATO_API noise {
public:
    /// None.
    noise() = default;
    bool any() const { return shared_ != nullptr; }

    /// The processor of one rank.
    class RUBATO_API processor {
    public:
        /// When work that begins then, and takes so long without detours, is done. Beginnings never go back.
        time_ns end_of(time_ns begin, time_ns work);
        struct detour {
            std::int64_t begin;  ///< ns
            std::int64_t end;
        };
        /// The first detour that ends after that time, if there is noise. Times never go back.
        detour after(time_ns time);

    private:
        friend class noise;
        void next();

        const noise* of_ = nullptr;
        std::uint64_t state_ = 0;  // of its random numbers
        std::int64_t round_ = 0;   // of the trace: when it began for this rank
        std::size_t at_ = 0;       // in the trace
        detour detour_{};          // the present or next
    };
    /// The noise must outlive it.
    processor of(std::uint32_t rank) const;

private:
    friend RUBATO_API noise parse_noise(std::string_view text);
    enum class kind : std::uint8_t { fixed, random, trace };
    struct entry {
        std::int64_t begin;
        std::int64_t duration;
    };
    struct shared {
        kind what = kind::fixed;
        std::int64_t period = 0;
        std::int64_t duration = 0;
        std::uint64_t seed = 0;
        std::vector<entry> trace{};  // and how long it is, in `period`
    };
    std::shared_ptr<const shared> shared_{};
};

/// `fixed:period=1ms,duration=10us,seed=1`: a detour in every period, on each rank at another time of it.
/// `random:period=1ms,duration=10us,seed=1`: times between detours, and their durations, are drawn from exponential
/// distributions with these means. `file:NAME[,seed=1]`: a trace of two columns, when a detour began and how long it
/// was; each rank begins at another place of it, and begins again at its end. Throws if the text makes no sense.
RUBATO_API noise parse_noise(std::string_view text);

}  // namespace rubato
