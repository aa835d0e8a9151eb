// Runs well-formed schedules of all ranks on symbolic values, and compares the results with the promise.
#pragma once

#include "rubato/schedule.hpp"
#include "schedules/schedule/promises.hpp"

#include <fmt/format.h>

#include <span>
#include <string>
#include <vector>

namespace rubato::schedules {

/// What verify has found, a sentence each.
class findings {
public:
    explicit findings(std::span<const schedule> all) : all_(all) {}

    bool empty() const { return sentences_.empty(); }
    std::vector<std::string> take() && { return std::move(sentences_); }

    template <class... Args>
    void say(fmt::format_string<Args...> format, Args&&... args) {
        sentences_.push_back(fmt::format(format, std::forward<Args>(args)...));
    }
    /// Something about one step of a rank.
    template <class... Args>
    void say_step(std::int32_t r, std::size_t s, fmt::format_string<Args...> format, Args&&... args) {
        say("rank {}, step {} ({}): {}", r, s, rubato::to_string(all_[static_cast<std::size_t>(r)].steps[s]),
            fmt::format(format, std::forward<Args>(args)...));
    }

private:
    std::span<const schedule> all_;
    std::vector<std::string> sentences_{};
};

/// `same_bits`: results that are promised alike must also be combined alike.
void run_symbolically(const problem& p, const promises& promised, std::span<const schedule> all, bool same_bits,
                      findings& found);

}  // namespace rubato::schedules
