// References for lower_bound() and generate_plus(): when a process may take part, by the definition, and the fewest
// possible rounds, by trying everything.
#pragma once

#include "schedules/clairvoyant/clairvoyant.hpp"

namespace rubato::schedules {

/// May a process take part in a round? As lower_bound() defines it. The instance must outlive this.
class admission {
public:
    explicit admission(const instance& in);

    bool operator()(std::int32_t r, std::int64_t round) const {
        return delay(r) <= (round + 1) * in_.round_time.count() + (round >= in_.segments ? drift_ : 0);
    }

private:
    std::int64_t delay(std::int32_t r) const {
        return in_.arrivals.empty() ? 0 : in_.arrivals[static_cast<std::size_t>(r)].count() - earliest_;
    }

    const instance& in_;
    std::int64_t earliest_ = 0;
    std::int64_t drift_ = 0;
};

/// Takes seconds already for 7 ranks and 4 segments.
std::int64_t fewest_rounds(const instance& in);

}  // namespace rubato::schedules
