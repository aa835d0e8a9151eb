#pragma once

#include <cstdint>

namespace rubato::base {

/// splitmix64 (Steele, Lea, Flood 2014): 64 random bits at a time, the same on every machine.
class splitmix {
public:
    explicit splitmix(std::uint64_t seed) : state_(seed) {}

    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        return z ^ (z >> 31);
    }
    /// 0 to n - 1. Uneven by n / 2^32 at most, so for n well below that.
    std::uint64_t below(std::uint64_t n) { return ((next() >> 32) * n) >> 32; }

private:
    std::uint64_t state_;
};

}  // namespace rubato::base
