#pragma once

#include "topology/routing.hpp"

#include <string>

namespace rubato::topology {

/// The network as SVG: in rows by the distance from endpoints, or in a circle if all switches have endpoints. The
/// colour of a cable tells how many of the routes between all endpoints use it. Throws if it is too large to be viewed.
RUBATO_API std::string draw_svg(const routes& r);

}  // namespace rubato::topology
