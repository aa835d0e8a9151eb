#include "command/experiments/noise_maker.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

namespace rubato::command {
namespace {

/// False if the pipe was closed before.
bool wait_until(time_ns when, int closed) {
    for (;;) {
        const std::int64_t left = (when - own_time()).count();
        if (left <= 0) return true;
        constexpr std::int64_t second = 1'000'000'000;
        const timespec how_long{left / second, left % second};
        pollfd end{closed, POLLIN, 0};
        if (ppoll(&end, 1, &how_long, nullptr) > 0) return false;
    }
}

/// It lets the process go on after each stop, whatever happens meanwhile.
void make_noise(noise::processor detours, time_ns zero, int closed, pid_t whom) {
    for (time_ns now{};; now = own_time() - zero) {
        const auto next = detours.after(now);
        if (!wait_until(zero + time_ns(next.begin), closed)) return;
        kill(whom, SIGSTOP);
        const bool ends = !wait_until(zero + time_ns(next.end), closed);
        kill(whom, SIGCONT);
        if (ends) return;
    }
}

}  // namespace

noise_maker::noise_maker(const noise& detours, std::uint32_t rank, time_ns zero) {
    if (!detours.any()) return;
    std::array<int, 2> ends{};
    const pid_t me = getpid();
    if (pipe(ends.data()) != 0 || (other_ = fork()) < 0)
        throw error("noise cannot be made", std::strerror(errno), "let the system start one more process per rank");
    if (other_ == 0) {
        close(ends[1]);
        make_noise(detours.of(rank), zero, ends[0], me);
        _exit(0);
    }
    close(ends[0]);
    ends_ = ends[1];
}

noise_maker::~noise_maker() {
    if (other_ < 0) return;
    close(ends_);
    waitpid(other_, nullptr, 0);
}

}  // namespace rubato::command
