// Bine (binomial negabinary) trees and butterflies, De Sensi et al. 2025: partners are at the distances 1, -1, 3, -5,
// and so on from even ranks, and the other way from odd ones. Where a binomial tree goes 2^i ranks far, these go a
// third of 2^(i+1) + 1 or - 1: messages cross a third fewer ranks, and the upper cables of a network carry less.
#pragma once

#include <cstdint>

namespace rubato {

/// The number with round + 1 ones in base -2.
constexpr std::int64_t bine_distance(int round) {
    std::int64_t distance = 0;
    for (int i = 0; i <= round; ++i) distance = 1 - 2 * distance;
    return distance;
}

/// Of `size` numbers, a power of two, with whom one exchanges in a round. It exchanges with nobody twice.
constexpr std::uint32_t bine_partner(std::uint32_t number, int round, std::uint32_t size) {
    const auto distance = static_cast<std::uint32_t>(bine_distance(round));
    return (number % 2 == 0 ? number + distance : number - distance) & (size - 1);
}

/// Down a tree of root 0, farthest first, the round in which a number gets its data; that many rounds are left for it
/// to pass them on. The root has them before all `rounds`. Base -2 has these rounds where two neighbouring digits
/// differ.
constexpr int bine_entry(std::uint32_t number, int rounds) {
    constexpr std::uint32_t odd_digits = 0xaaaaaaaa;
    const std::uint32_t digits = (number + odd_digits) ^ odd_digits;
    int round = 0;
    while (round < rounds && ((digits >> round) & 1) == (round + 1 < rounds ? (digits >> (round + 1)) & 1 : 0)) ++round;
    return round;
}

}  // namespace rubato
