// Is it right? Runs all ranks' schedules on symbolic values and compares with what the collective promises.
//
// Every block holds a value: a block of a rank's input, or the combination of several ranks' in some order. Steps run
// under the strictest rules a schedule may meet: each rank sends in its order and receives in its order, one message
// at a time, a message needs both sides, nothing passes a combine or copy listed before it, and no combine passes a
// message. A schedule that does not deadlock under these rules never deadlocks.
#pragma once

#include "rubato/problem.hpp"
#include "rubato/schedule.hpp"

#include <span>
#include <string>
#include <vector>

namespace rubato {

/// What is wrong, a sentence each, naming rank and step; empty: the schedules are right.
/// If the problem's operator does not commute, the order of operands is checked too. `equal_parts`: the parts of a
/// chunk have one size; else a schedule must also be right where they differ, as a vector need not be a multiple of its
/// parts. `same_bits`: ranks that get the same result of a reduction must combine the same operands in the same order
/// and the same pieces, so that it has the same bits on all of them.
RUBATO_API std::vector<std::string> verify(const problem& p, std::span<const schedule> all, bool equal_parts = false,
                                           bool same_bits = false);

}  // namespace rubato
