// A reduction up a tree whose ranks may be late. What comes from below is combined without the rank's own data, which
// is added last: so when the rank arrives, one combination is left to do.
//
// The operands keep their order: those from lower ranks are combined with each other, those from higher ranks likewise,
// and the rank's own goes in between. A result that waits for its rank has its own place.
#include "algorithms/pattern/partial.hpp"
#include "algorithms/pattern/tree.hpp"

#include <algorithm>
#include <utility>

namespace rubato {
namespace {

class waiting_sum {
public:
    waiting_sum(builder& b, const problem& p, rank me, const tree& t)
        : b_(b), t_(t), commutative_(p.commutative), me_(me), slots_(b, t.children.size()) {}

    /// What the children have sent of this part.
    struct operands {
        std::optional<slice> left{};  // if the operator commutes, all of them
        std::optional<slice> right{};
    };

    operands take_in(std::uint32_t s) {
        operands have;
        const auto on_right = [this](rank child) { return !commutative_ && child > me_; };
        auto moves = std::ranges::count_if(t_.children, on_right);
        for (auto from = t_.children.rbegin(); from != t_.children.rend(); ++from) {
            const slice keep = have.right.value_or(slice{buffer::input});
            // A left operand is combined into the first one, a right one takes over what came before.
            const bool on_the_right = on_right(*from);
            const bool stays = on_the_right ? --moves == 0 : !have.left;
            const slice received = stays ? place(s, on_the_right || commutative_) : slots_.take(s, keep);
            b_.recv(*from, received);
            if (on_the_right) {
                if (have.right) b_.combine(*have.right, received);
                have.right = received;
            } else if (have.left) {
                b_.combine(received, *have.left);
            } else {
                have.left = received;
            }
        }
        return have;
    }

    void add_own(std::uint32_t s, operands have) {
        slice sum = b_.input().sub(s);
        if (commutative_) std::swap(have.left, have.right);
        if (have.right) {
            b_.combine(sum, *have.right);
            sum = *have.right;
        }
        if (have.left) {
            if (!have.right) {
                const slice own = place(s, true);
                b_.copy(sum, own);
                sum = own;
            }
            b_.combine(*have.left, sum);
        }
        if (t_.parent)
            b_.send(*t_.parent, sum);
        else
            b_.copy(sum, b_.output().sub(s));
    }

private:
    slice place(std::uint32_t s, bool of_result) {
        return of_result && !t_.parent ? b_.output().sub(s) : b_.scratch(s, 1);
    }

    builder& b_;
    const tree& t_;
    bool commutative_;
    rank me_;
    slot_ring slots_;
};

}  // namespace

void reduce_up_own_last(builder& b, const problem& p, rank me, const tree& t) {
    waiting_sum sum(b, p, me, t);
    std::vector<waiting_sum::operands> later;
    for (std::uint32_t s = 0; s < b.parts(); ++s) {
        const waiting_sum::operands have = sum.take_in(s);
        // Only the root can keep all its own data to the end: other ranks pass on each part before they take the next.
        if (t.parent)
            sum.add_own(s, have);
        else
            later.push_back(have);
    }
    for (std::uint32_t s = 0; s < later.size(); ++s) sum.add_own(s, later[s]);
}

}  // namespace rubato
