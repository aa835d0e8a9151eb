// Partial results of a reduction: where they lie, and how the next operand is taken in without needless copies.
#pragma once

#include "rubato/builder.hpp"

#include <algorithm>
#include <optional>
#include <vector>

namespace rubato::schedules {

/// The blocks of shape [first, first + n) of a slice that holds them.
inline slice blocks_in(slice whole, block first, std::uint32_t n) { return whole.sub(first - whole.shape, n); }

/// A scratch place for blocks of the shape of `like`, made when first needed. Later calls return parts of it.
slice nested_scratch(builder& b, std::optional<slice>& whole, slice like);

/// Scratch places of one block, used in turn, and made when first asked for. There are enough for two segments, each
/// with its operands and the rank's own, so that one is received while the other is combined; but not for more operands
/// than in a binary tree, as they are combined one after the other anyway and many would take much memory.
class slot_ring {
public:
    slot_ring(builder& b, std::size_t operands) : b_(b), most_(2 * (std::min<std::size_t>(operands, 2) + 1)) {}

    /// The next place, for block `shape`; never the one that `keep` lies in.
    slice take(block shape, slice keep);

private:
    builder& b_;
    std::size_t most_;
    std::vector<slice> slots_{};
    std::size_t taken_ = 0;
};

/// What a rank has combined so far. It starts as the rank's input, which is only read, and then lies in `home`.
/// Later right operands move it to where they are received, to `away` and back; left operands leave it where it is.
class partial {
public:
    /// Without `away`, that place is made when needed, as large as the value is then. Neither place needs to hold
    /// more than the blocks that are combined in it. A value that is not in the input must be in `home`.
    partial(builder& b, bool commutative, slice value, slice home, std::optional<slice> away = {})
        : b_(b), commutative_(commutative), value_(value), home_(home), away_(away) {}

    slice value() const { return value_; }
    void narrow(block first, std::uint32_t n) { value_ = blocks_in(value_, first, n); }
    /// Receives an operand as large as the value and combines. If the operator commutes, the side is chosen so that
    /// nothing is copied and the value stays where it is. Gives the combine.
    builder::step_id absorb(rank from, bool on_right);

private:
    builder& b_;
    bool commutative_;
    slice value_;
    slice home_;
    std::optional<slice> away_;
    bool at_home_ = value_.where != buffer::input;
};

/// The whole input of a rank, such that the value is in the output after its first operand and `moves` right ones.
partial partial_vector(builder& b, bool commutative, int moves);

}  // namespace rubato::schedules
