// Preloaded into a program: from some time on C++ gets no memory, as the program says.
#include <cstdlib>
#include <new>

namespace {
long left = -1;  // until it fails; negative: for ever
}

extern "C" void fail_after(long allocations) { left = allocations; }

void* operator new(std::size_t bytes) {
    if (left == 0) throw std::bad_alloc();
    if (left > 0) --left;
    if (void* const memory = std::malloc(bytes > 0 ? bytes : 1)) return memory;
    throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
