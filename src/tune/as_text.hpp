// Timed problems as text, to be sent from rank to rank.
#pragma once

#include "tune/tuning.hpp"

namespace rubato::tune {

std::string as_text(const timed_problem& p);
timed_problem from_text(const std::string& text);

}  // namespace rubato::tune
