// One line of the source is one place.
#pragma once

#include "observe/observation.hpp"
#include "report/symbols.hpp"

namespace rubato::report {

/// Joins rows of equal calls from one line: a compiler may have made several calls of it. Then sorts them, most time
/// first.
void join_lines(observe::observation& o, std::span<const place> places);

}  // namespace rubato::report
