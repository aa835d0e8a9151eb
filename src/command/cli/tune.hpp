#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace rubato::command {

/// Makes the pieces of work 0 to count - 1, each a text, wherever there is somebody to do it; returns all of them, or
/// nothing to who only helped.
using work_sharing = std::function<std::optional<std::vector<std::string>>(
    std::size_t count, const std::function<std::string(std::size_t)>& work)>;

/// Under mpirun: calls `tune` with a way to share the work among the ranks; returns the exit status. Nothing if there
/// is one rank.
std::optional<int> tune_on_ranks(const std::function<void(const work_sharing&)>& tune);

}  // namespace rubato::command
