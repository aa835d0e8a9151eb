#pragma once

#include <CLI/CLI.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rubato::cli {

/// Makes the pieces of work 0 to count - 1, each a text, wherever there is somebody to do it; returns all of them, or
/// nothing to who only helped.
using work_sharing = std::function<std::optional<std::vector<std::string>>(
    std::size_t count, const std::function<std::string(std::size_t)>& work)>;

/// On the cores of this process.
std::optional<std::vector<std::string>> share_among_cores(std::size_t count,
                                                          const std::function<std::string(std::size_t)>& work);

/// Adds 'rubato tune'. `run` is given what to do, and calls it with a way to share the work.
void add_tune_command(CLI::App& command, std::function<void(const std::function<void(const work_sharing&)>&)> run);

}  // namespace rubato::cli
