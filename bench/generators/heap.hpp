// Measures how much memory some work allocates. This program's operator new counts, for each thread.
#pragma once

#include <cstdint>

namespace rubato::heap {

/// Of this thread: bytes allocated now, and the most since `peak` was set.
struct heap_count {
    std::int64_t now = 0;
    std::int64_t peak = 0;
};
heap_count& heap();

/// The most bytes that `work` has allocated at once, beyond those allocated before it.
template <class Work>
std::int64_t peak_heap(Work work) {
    const std::int64_t before = heap().peak = heap().now;
    work();
    return heap().peak - before;
}

}  // namespace rubato::heap
