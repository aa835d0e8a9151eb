// rubato choose --program: what makes a whole program fastest.
#pragma once

#include <cstdint>
#include <string>

namespace rubato::command {

/// `ranks` 0: those that the program has.
void choose_for_program(const std::string& file, std::int32_t ranks, const std::string& model_text, bool json);

}  // namespace rubato::command
