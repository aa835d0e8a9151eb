// The messages of a program that `rubato exec` has observed.
#pragma once

#include "cli/topo_congestion.hpp"

#include <string>

namespace rubato::cli {

/// The collectives of all its communicators, with the algorithms that MPI libraries use for their sizes, weighted by
/// calls. Throws if the file is no observation or names no collective that moves data between ranks.
named_traffic observed_traffic(const std::string& file);

}  // namespace rubato::cli
