// Exchanges between ranks whose numbers differ in one bit, for any number of ranks.
#pragma once

#include "rubato/builder.hpp"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace rubato::schedules {

/// Any number of ranks as a power of two. The first ranks form pairs of neighbours; of each pair the giver hands its
/// data to the keeper and takes no further part. The others are numbered in the order of ranks, so that the order of
/// operands can be kept.
struct folding {
    std::uint32_t size;   ///< the largest power of two that is not above the rank count
    std::uint32_t pairs;  ///< as many as there are ranks beyond it
    rank stays;           ///< is no giver

    explicit folding(std::int32_t ranks, rank stays = rank(0));

    std::optional<rank> mate(rank r) const;
    bool gives(rank r) const { return mate(r) && keeper(number(r)) != r; }
    std::uint32_t number(rank r) const;
    rank keeper(std::uint32_t number) const;
};

/// Who exchanges with whom, round by round.
enum class pairing : std::uint8_t {
    near_first,  ///< numbers that differ in bit 0, then bit 1, and so on: that keeps the order of operands
    far_first,   ///< the last bit comes first
    bine,        ///< Bine's partners (below), the nearest first; does not keep the order
};

/// A reduce-scatter by recursive halving, after which each number holds what belongs to one position in the vector: the
/// number with its bits reversed if near ones exchange first, and the number itself if far ones do. In each round a
/// rank keeps half of its positions; its partner, which had the same ones, keeps the other half.
struct halving {
    const problem& p;
    const folding& fold;
    rank me;
    pairing by = pairing::near_first;
    std::uint32_t doubled = 0;  ///< so many of the first positions have two blocks; the others have one

    std::uint32_t position(rank r) const;
    rank rank_at(std::uint32_t position) const;
    /// With whom this rank exchanges in the round in which it keeps n positions.
    rank peer(std::uint32_t n) const;
    block start(std::uint32_t position) const { return position + std::min(position, doubled); }
    /// The blocks of n positions.
    slice at(slice whole, std::uint32_t position, std::uint32_t n = 1) const;

    /// Scratch for all that this rank combines.
    slice make_home(builder& b) const;
    /// Appends the reduce-scatter and returns where the result is; nowhere at a giver. The result is in `home` if the
    /// operator commutes, or in `last` if that is given (which it may be only then). Folding is Rabenseifner's: a pair
    /// exchanges halves, each combines one, the giver hands its half over.
    std::optional<slice> reduce_scatter(builder& b, slice input, slice home, std::optional<slice> last = {}) const;
    /// Appends the allgather that undoes it, without the givers.
    void allgather(builder& b, slice home) const;

private:
    void fold_halves(builder& b, rank mate, slice input, slice home) const;
};

/// An allreduce: a reduce-scatter by halving, and back between the same ranks. Rabenseifner's if near ranks come first.
/// Cost: 2 n alpha + (P-1)/P m (2 beta + gamma), n = log2 P; beyond a power of two 3 alpha + 2 m beta + m/2 gamma more.
schedule halved_and_gathered(const problem& p, rank me, pairing by);
/// An allreduce: in each round, pairs exchange all they have and combine it; the pairs of halving's last round come
/// first. Operands are combined in the order of positions, even if they commute: of 0 and -0, or a number and NaN, a
/// maximum may be the left one, and all ranks must get the same.
/// Cost: n (alpha + m beta + m gamma); beyond a power of two 2 alpha + 2 m beta + m gamma more.
schedule doubled(const problem& p, rank me, pairing by);
/// A reduce-scatter of a chunk for each rank: by halving, and then from who has a chunk to its owner. Positions are
/// numbered as chunks. Chunks that are exchanged together are neighbours, so they may differ in size.
/// Cost: n alpha + (P-1) m (beta + gamma), m = one chunk, and alpha + m beta more if near ranks come first, as then
/// each rank ends with another one's chunk.
schedule halved_to_owners(const problem& p, rank me, pairing by);

// Bine (binomial negabinary) trees and butterflies, De Sensi et al. 2025: partners are at the distances 1, -1, 3, -5,
// and so on from even ranks, and the other way from odd ones. Where a binomial tree goes 2^i ranks far, these go a
// third of 2^(i+1) + 1 or - 1: messages cross a third fewer ranks, and the upper cables of a network carry less.

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

}  // namespace rubato::schedules
