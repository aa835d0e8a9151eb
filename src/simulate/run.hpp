// What the simulators of all models share.
#pragma once

#include "rubato/model.hpp"
#include "schedule/program.hpp"

namespace rubato {

/// The one place where a modelled duration becomes whole nanoseconds.
std::int64_t whole_ns(double duration);

/// Marks step s as done.
inline void finish(program& p, std::uint32_t s, std::int64_t begin, std::int64_t end) {
    p.steps[s].waits_for = program::done;
    p.steps[s].ready = end;
    if (!p.begins.empty()) p.begins[s] = begin;
}

// Each runs all steps of the program that can run. `ready` of each step is the earliest time that its rank allows.
// `inside` tells what messages within a host cost.
void run(const hockney& m, const hockney& inside, program& p);
void run(const loggp& m, const loggp& inside, program& p);
void run(const loggp5& m, const loggp5& inside, program& p);

}  // namespace rubato
