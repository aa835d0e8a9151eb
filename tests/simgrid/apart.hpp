// SimGrid can be started once in a process, so each run has one of its own.
#pragma once

#include "rubato/core.hpp"

#include <array>
#include <cstdio>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

namespace rubato {

/// What `work` returns, `count` numbers, from a process of its own.
template <class Work>
std::vector<double> apart(std::size_t count, Work work) {
    std::array<int, 2> pipe{};
    if (::pipe(pipe.data()) != 0) throw error("no pipe");
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        const std::vector<double> found = work();
        const auto size = static_cast<ssize_t>(found.size() * sizeof(double));
        _exit(write(pipe[1], found.data(), static_cast<std::size_t>(size)) == size ? 0 : 1);
    }
    close(pipe[1]);
    std::vector<double> found(count);
    auto* to = reinterpret_cast<char*>(found.data());
    for (std::size_t left = found.size() * sizeof(double); left > 0;) {
        const ssize_t n = read(pipe[0], to, left);
        if (n <= 0) break;
        to += n;
        left -= static_cast<std::size_t>(n);
    }
    close(pipe[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0) throw error("SimGrid failed");
    return found;
}

}  // namespace rubato
