// Traces made by others, as observations of a program.
#pragma once

#include "exports/trace.hpp"

namespace rubato::exports {

/// The file traces.otf2 of a trace, or its folder. Collectives that block are read, with the place in the program: what
/// `rubato export` noted, or else the function around the call. Throws with the place of what is wrong.
trace read_otf2(const std::filesystem::path& file);

/// A line per call, after one of column names: rank, collective, arrival and exit, and what else there is of bytes,
/// root, communicator, members, call, place, host, form. Throws with the line of what is wrong.
trace read_csv(const std::filesystem::path& file);

/// As if the drop-in had seen it.
observe::observation observe_trace(const trace& t);

}  // namespace rubato::exports
