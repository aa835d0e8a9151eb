// Independent pieces of work on all cores, and the line that says how far a long command is.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace rubato::command {

/// On a terminal, after two seconds; it is gone in the end.
class progress_line {
public:
    explicit progress_line(bool wanted = true);
    ~progress_line() { clear(); }
    progress_line(const progress_line&) = delete;
    progress_line& operator=(const progress_line&) = delete;

    void say(const std::string& text);
    /// "40 % simulated, 3 s"; without the share if `all` is 0. Some times a second at most.
    void say(double done, double all, std::string_view doing);
    void clear();

private:
    using clock = std::chrono::steady_clock;

    bool wanted_;
    bool shown_ = false;
    clock::time_point start_ = clock::now();
    clock::time_point last_{};
};

/// Calls work(0), work(1), ... once for each of the weights, which are relative durations, and shows the progress. An
/// exception in one of them is thrown when all have ended.
void for_each_in_parallel(std::span<const double> weights, std::string_view doing,
                          const std::function<void(std::size_t)>& work);
/// For calls of about equal duration.
void for_each_in_parallel(std::size_t count, std::string_view doing, const std::function<void(std::size_t)>& work);

}  // namespace rubato::command
