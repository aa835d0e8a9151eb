// Operating-system noise as it is simulated, but on a process that runs: it is stopped for as long as a detour takes.
#pragma once

#include "rubato/clock.hpp"
#include "rubato/noise.hpp"

#include <unistd.h>

namespace rubato::command {

/// While it lives, another process stops this one in its detours. What the kernel does for it, such as taking in
/// messages, goes on.
class noise_maker {
public:
    /// `zero`: when the noise begins, by own_time. It must outlive the object.
    noise_maker(const noise& detours, std::uint32_t rank, time_ns zero);
    ~noise_maker();
    noise_maker(const noise_maker&) = delete;
    noise_maker& operator=(const noise_maker&) = delete;

private:
    pid_t other_ = -1;
    int ends_ = -1;  // the other process ends when this is closed
};

}  // namespace rubato::command
