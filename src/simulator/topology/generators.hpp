// The networks that can be named: NETWORK is one grammar for all of Rubato.
#pragma once

#include "base/core/text.hpp"
#include "simulator/topology/cabling.hpp"

#include <string_view>

namespace rubato::simulator {

/// "crossbar:ports=16", "fattree:crossbar=32,ports=512,oversubscription=1:1,depth=1", "torus:8x8x8", "file:NAME", ...
/// Throws if it is not of that form.
RUBATO_API network parse_network(std::string_view text);
/// A line for each form, for help texts.
RUBATO_API std::string network_forms();

// What "file:" reads. `file` names it in errors.
network read_dot(std::string_view content, const std::string& file);
network read_ibnetdiscover(std::string_view content, const std::string& file);

}  // namespace rubato::simulator
