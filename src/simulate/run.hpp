// What the simulators of all models share.
#pragma once

#include "../schedule/program.hpp"
#include "rubato/model.hpp"

namespace rubato {

/// The one place where a modelled duration becomes whole nanoseconds.
std::int64_t whole_ns(double duration);

/// Marks step s as done.
inline void finish(program& p, std::uint32_t s, std::int64_t begin, std::int64_t end) {
    p.steps[s].waits_for = program::done;
    p.steps[s].ready = end;
    if (!p.begins.empty()) p.begins[s] = begin;
}

// Each runs all steps of the program that can run. `ready` of each step has been set to when its rank allows it.
void run(const hockney& m, program& p);
void run(const loggp& m, program& p);
void run(const loggp5& m, program& p);

}  // namespace rubato
