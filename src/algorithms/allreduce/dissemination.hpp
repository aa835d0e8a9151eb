#pragma once

#include "rubato/builder.hpp"

namespace rubato {

/// Dissemination with this many peers in every round.
schedule disseminating_allreduce(const problem& p, rank me, std::int32_t ways);

}  // namespace rubato
