#include "schedules/algorithms/pattern/partial.hpp"

namespace rubato::schedules {

slice nested_scratch(builder& b, std::optional<slice>& whole, slice like) {
    if (!whole) whole = b.scratch(like.shape, like.count);
    return blocks_in(*whole, like.shape, like.count);
}

slice slot_ring::take(block shape, slice keep) {
    if (slots_.size() < most_) {
        slots_.push_back(b_.scratch(0, 1));
        return slots_.back().holding(shape, 1);
    }
    const auto next = [this] { return slots_[taken_++ % slots_.size()]; };
    slice slot = next();
    if (keep.where == buffer::scratch && keep.first == slot.first) slot = next();
    return slot.holding(shape, 1);
}

builder::step_id partial::absorb(rank from, bool on_right) {
    const slice at_home = blocks_in(home_, value_.shape, value_.count);
    if (commutative_) on_right = value_.where == buffer::input;
    if (value_.where == buffer::input && !on_right) {
        b_.copy(value_, at_home);
        value_ = at_home;
        at_home_ = true;
    }
    const slice received = at_home_ ? nested_scratch(b_, away_, value_) : at_home;
    b_.recv(from, received);
    if (!on_right) return b_.combine(received, value_);
    const builder::step_id combined = b_.combine(value_, received);
    value_ = received;
    at_home_ = !at_home_;
    return combined;
}

partial partial_vector(builder& b, bool commutative, int moves) {
    if (moves % 2 == 0) return {b, commutative, b.input(), b.output()};
    return {b, commutative, b.input(), b.scratch_chunks(), b.output()};
}

}  // namespace rubato::schedules
