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

/// A reduce-scatter by recursive halving, after which each number holds what belongs to one position in the vector.
/// Numbers that differ in bit 0 exchange first, then bit 1, and so on: that keeps the order of operands, and makes the
/// position the number with its bits reversed. With `far_first` the last bit comes first, and positions are numbers.
struct halving {
    const problem& p;
    const folding& fold;
    rank me;
    bool far_first = false;
    std::uint32_t doubled = 0;  ///< so many of the first positions have two blocks; the others have one

    std::uint32_t position(rank r) const { return exchange(fold.number(r)); }
    rank rank_at(std::uint32_t position) const { return fold.keeper(exchange(position)); }
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
    std::uint32_t exchange(std::uint32_t number_or_position) const;
    void fold_halves(builder& b, rank mate, slice input, slice home) const;
};

}  // namespace rubato
