#include "generators/heap.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>

#include <malloc.h>

namespace rubato::heap {

heap_count& heap() {
    thread_local heap_count count;
    return count;
}

namespace {

void* allocate(std::size_t size) noexcept {
    void* memory = std::malloc(std::max<std::size_t>(size, 1));
    heap_count& h = heap();
    h.now += static_cast<std::int64_t>(malloc_usable_size(memory));
    h.peak = std::max(h.peak, h.now);
    return memory;
}

void release(void* memory) noexcept {
    heap().now -= static_cast<std::int64_t>(malloc_usable_size(memory));
    std::free(memory);
}

}  // namespace
}  // namespace rubato::heap

// The standard library's other forms call these, but the sanitizer's do not: so both forms that go with a plain delete.
void* operator new(std::size_t size) {
    if (void* memory = rubato::heap::allocate(size)) return memory;
    throw std::bad_alloc();
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return rubato::heap::allocate(size); }
void operator delete(void* memory) noexcept { rubato::heap::release(memory); }
void operator delete(void* memory, std::size_t) noexcept { rubato::heap::release(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { rubato::heap::release(memory); }
