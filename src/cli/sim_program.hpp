// rubato sim --program: a program instead of one call.
#pragma once

#include "cli/command.hpp"
#include "cli/machine.hpp"
#include "cli/network_options.hpp"
#include "programs/program.hpp"

#include <string>

namespace rubato::cli {

struct program_options {
    std::string file{};
    std::string plan{};
    std::string without{};

    /// The options --program, --plan and --without.
    void add_to(CLI::App& app);
};

/// "allreduce/ring,bcast/chain". Throws if a collective is named twice.
program_plan parse_plan(const std::string& text);
/// Throws if a collective of the plan is not in the program, or has its algorithm there.
void check_plan(const program_plan& plan, const program& p);

/// A program that was observed, as far as its calls were kept.
struct observed_program {
    program what{};
    time_ns took{};           ///< from the first arrival to the last exit that were kept
    std::uint64_t calls = 0;  ///< that it made
    std::uint64_t replayed = 0;
};

/// Other ranks take the times of those that there were, in turn; 0: the ranks that there were. Throws if the file has
/// too little.
observed_program read_observed_program(const std::string& file, std::int32_t ranks);

/// `ranks` 0: not given.
void simulate_program(const program_options& o, std::int32_t ranks, const std::string& hosts,
                      const std::string& model_text, const std::string& inside_text,
                      const machine_options& machine_texts, const network_options& on_cables, bool json);

}  // namespace rubato::cli
