// Numbers drawn from seeds, and digests of results: the same on every machine and with every MPI library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace random_program {

/// Spreads the bits of x (splitmix64).
constexpr std::uint64_t spread(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15U;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
    return x ^ (x >> 31);
}

class dice {
public:
    explicit dice(std::uint64_t seed, std::uint64_t who = 0) : state_(spread(seed ^ spread(who))) {}
    std::uint64_t seed() { return state_ = spread(state_); }
    int below(int n) { return static_cast<int>(seed() % static_cast<std::uint64_t>(n)); }
    int between(int least, int most) { return least + below(most - least + 1); }
    bool chance(int percent) { return below(100) < percent; }
    template <class List>
    auto& one_of(List& list) {
        return list[static_cast<std::size_t>(below(static_cast<int>(std::size(list))))];
    }

private:
    std::uint64_t state_;
};

class digest {
public:
    void add(std::uint64_t word) {
        value_ = (value_ ^ word) * 0x100000001b3U;
        value_ ^= value_ >> 29;
    }
    void add(std::span<const std::byte> bytes) {
        add(bytes.size());
        while (!bytes.empty()) {
            std::uint64_t word = 0;
            const std::size_t n = bytes.size() < sizeof word ? bytes.size() : sizeof word;
            std::memcpy(&word, bytes.data(), n);
            add(word);
            bytes = bytes.subspan(n);
        }
    }
    std::uint64_t value() const { return value_; }

private:
    std::uint64_t value_ = 0xcbf29ce484222325U;
};

}  // namespace random_program
