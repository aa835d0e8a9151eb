// Waiting for requests of which Rubato completes some.
#pragma once

#include <atomic>

namespace rubato::preload {

/// Non-blocking calls of the program's that Rubato makes. While there are any, calls that wait for or test requests go
/// on with them; the background thread alone would do so later.
inline constinit std::atomic<int> requests_under_way{0};

}  // namespace rubato::preload
