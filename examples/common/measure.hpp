// The forms of an application by turns, and their times.
#pragma once

#include "common/application.hpp"

#include <string>
#include <vector>

namespace applications {

struct plan {
    std::vector<form> forms{};
    const rubato::algorithm* algorithm = nullptr;  ///< see collectives
    std::int64_t repetitions = 5;
    rubato::time_ns step{};  ///< see pace
    std::int64_t slow_rank = 0;
    rubato::time_ns slow_by{};
};

/// The longest time of any rank, in nanoseconds, of each repetition.
struct outcome {
    form how;
    std::vector<double> times{};
};

/// Forms take turns within a repetition, so that other load affects all alike; each repetition begins with another
/// one. A first one makes connections and is not measured. Throws `wrong_result` on all ranks.
std::vector<outcome> measure(application& what, const plan& p);

struct wrong_result {
    form how;
    std::string fault;  ///< empty where another rank says it
};

}  // namespace applications
