// rubato sim --program: a program instead of one call.
#pragma once

#include "command/cli/machine.hpp"
#include "simulator/programs/program.hpp"

namespace rubato::command {

struct program_options {
    std::string file{};
    std::string plan{};
    std::string without{};

    /// The options --program, --plan and --without.
    void add_to(CLI::App& app);
};

/// A text, or a file of 'rubato exec'. `ranks` 0: those that it has.
simulator::program read_any_program(const std::string& file, std::int32_t ranks);

/// "allreduce/ring,bcast/chain". Throws if a collective is named twice, is not in the program, or has its algorithm
/// there.
simulator::program_plan plan_for(const simulator::program& p, const std::string& text);

/// `ranks` 0: not given.
void simulate_program(const program_options& o, std::int32_t ranks, const std::string& hosts,
                      const std::string& model_text, const std::string& inside_text,
                      const machine_options& machine_texts, const network_options& on_cables, bool json);

}  // namespace rubato::command
