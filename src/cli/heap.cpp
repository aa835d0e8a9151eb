#include "heap.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

#include <malloc.h>

namespace rubato::cli {

heap_count& heap() {
    thread_local heap_count count;
    return count;
}

namespace {

void* counted(void* memory) {
    if (!memory) throw std::bad_alloc();
    heap_count& h = heap();
    h.now += static_cast<std::int64_t>(malloc_usable_size(memory));
    h.peak = std::max(h.peak, h.now);
    return memory;
}

void release(void* memory) {
    heap().now -= static_cast<std::int64_t>(malloc_usable_size(memory));
    std::free(memory);
}

void* aligned(std::size_t size, std::align_val_t alignment) {
    const auto a = static_cast<std::size_t>(alignment);
    return counted(std::aligned_alloc(a, (size + a - 1) / a * a));
}

}  // namespace
}  // namespace rubato::cli

// The other forms call these.
void* operator new(std::size_t size) { return rubato::cli::counted(std::malloc(std::max<std::size_t>(size, 1))); }
void* operator new(std::size_t size, std::align_val_t alignment) { return rubato::cli::aligned(size, alignment); }
void operator delete(void* memory) noexcept { rubato::cli::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { rubato::cli::release(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { rubato::cli::release(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { rubato::cli::release(memory); }
