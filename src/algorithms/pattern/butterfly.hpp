// Exchanges between ranks whose numbers differ in one bit, for any number of ranks.
#pragma once

#include "rubato/builder.hpp"

#include <algorithm>
#include <optional>

namespace rubato {

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
    bine,        ///< Bine's partners (bine.hpp), the nearest first; does not keep the order
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

/// An allreduce: a reduce-scatter by halving, and back on the same ways.
schedule halved_and_gathered(const problem& p, rank me, pairing by);
/// An allreduce: in each round, pairs exchange all they have and combine it; the pairs of halving's last round come
/// first. Operands are combined in the order of positions.
schedule doubled(const problem& p, rank me, pairing by);
/// A reduce-scatter of a chunk for each rank: by halving, and then from who has a chunk to its owner. Positions are
/// numbered as chunks.
schedule halved_to_owners(const problem& p, rank me, pairing by);

}  // namespace rubato
