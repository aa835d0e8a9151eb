// A random program: communicators that come and go, calls of every kind on them, several at once.
#pragma once

#include "call.hpp"

#include <memory>

namespace random_program {

struct settings {
    bool threads;  // granted by MPI
    bool trace;    // each call on standard error
    bool rounded;  // some reductions round, and all ranks must get the same bits
};

/// What the program computes on this rank. Collective.
std::uint64_t run(std::uint64_t seed, const settings& how);

}  // namespace random_program
