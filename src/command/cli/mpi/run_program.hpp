// rubato run --program: a program as 'rubato sim --program' has it, on MPI.
#pragma once

#include <cstdint>
#include <string>

namespace rubato::command {

struct run_program_options {
    std::string file{};
    std::string plan{};
    std::string model_text = "curie";
    std::string noise_text{};
    std::int32_t repetitions = 5;
    bool json = false;
};

/// Collective. True if all results are right.
bool run_program(const run_program_options& o, int me, int ranks);

}  // namespace rubato::command
