// Local Redirect. Data that cannot be cut goes up a binomial tree; a rank whose partner has not arrived yet sends its
// data to another rank that has, without any prediction. The literature gives only this idea; the rules are ours.
//
// Places. The deputy of a rank is its child with the largest subtree. A rank may hand over to its parent, or to a
// second partner who stands in for a late one: its parent's deputy, or if it is that itself, its parent's parent. A
// rank of less depth is senior, and at the same depth a deputy. Data only goes to a senior rank, and ends at the root.
//
// Conversations. A rank makes an offer to its parent when its whole subtree has come to it, or when it has had nothing
// to do for the time of a round; and to its second partner when as much time has passed again. (Time has no other use.
// A rank that redirects as soon as a partner is a little late damages the tree for a gain that is smaller than a
// round.) The receiver of an offer answers it once, and its sender closes it once:
//   offer n     "I hold something": n is the size of the sender's subtree
//   accept      "hand over now": the receiver takes nobody else until the offer is closed
//   redirect r  "I have handed over to rank r": the offer is made to r instead
//   release     "you have withdrawn, so I do not wait for you"
//   hand n      closes, and the data follows; n more will come to the receiver that would have come to the sender
//   withdraw    closes: the sender has handed over elsewhere, or was redirected
//   skip        instead of an offer: there is nothing to offer any more, or the receiver has an offer already
// A rank that waits for no data sends its data to the first rank that has accepted it, or else accepts the offer of the
// smallest subtree, as the binomial tree does.
//
// Nothing is lost and no rank hangs. A rank knows how many offers and skips will come to it: one from each rank that
// has it as a partner, and those that it inherits with a hand. After handing over it redirects offers and passes skips
// on. It is done when all have come, all offers are closed, and its own are answered; so it leaves no message unread.
// When the root is done, no other rank holds data: the most senior holder would have an offer to make to the root. A
// rank only waits for juniors that have arrived (accept, hand) or for a rank to arrive (offer, answer). So it stays
// until its subtree and the partners that it has asked have arrived, and a deputy until its siblings have.
//
// Cost: if all arrive together and P is a power of two, ceil(log2 P) m (beta + gamma) and up to 6 alpha per level
// (simulated up to 128 ranks), with at most 5 messages per rank, of which one carries data.
// At most 8 k + 1 messages per rank of depth k: it makes up to 2 k offers, each with answer and closing, as that many
// seniors may redirect it, and one of its two lines of redirection may be 2 k skips.
// Rank counts: any. Source: ours, after the idea in Marendic et al. 2016, 2.3.
#include "schedules/algorithms/builders.hpp"
#include "schedules/algorithms/pattern/tree.hpp"

#include <algorithm>
#include <cassert>

namespace rubato::schedules {
namespace {

enum note_kind : std::int32_t { offer, accept, redirect, release, hand, withdraw, skip };

tree tree_of(const problem& p, rank r) { return knomial_tree(p.ranks, p.root, r, 2); }

rank deputy(const tree& t) {
    const auto largest = std::ranges::max_element(t.branches, {}, &interval::size);
    return t.children[static_cast<std::size_t>(largest - t.branches.begin())];
}

class local_redirect final : public state_machine {
public:
    local_redirect(const problem& p, rank me) : patience_(p.round_time) {
        const tree mine = tree_of(p, me);
        size_ = mine.covers.size();
        // To come: children, their deputies, and if this is a deputy itself, its siblings.
        to_come_ = static_cast<std::int32_t>(mine.children.size());
        for (const interval& branch : mine.branches) to_come_ += branch.size() > 1 ? 1 : 0;
        if (!mine.parent) return;
        const tree above = tree_of(p, *mine.parent);
        partners_.push_back(*mine.parent);
        if (deputy(above) != me) {
            partners_.push_back(deputy(above));
        } else {
            to_come_ += static_cast<std::int32_t>(above.children.size()) - 1;
            if (above.parent) partners_.push_back(*above.parent);
        }
    }

    void receive(rank from, const note& text) override {
        switch (text.kind) {
            case offer:
                --to_come_;
                ++open_;
                if (given_to_)
                    tell(from, {redirect, given_to_->value});
                else
                    offers_.emplace_back(text.value, from);
                break;
            case skip:
                --to_come_;
                if (given_to_) tell(*given_to_, {skip});
                break;
            case withdraw:
                --open_;
                if (busy_with_ == from)
                    busy_with_.reset();
                else if (std::erase_if(offers_, [from](const auto& o) { return o.second == from; }) > 0)
                    tell(from, {release});
                break;
            case hand:
                --open_;
                to_come_ += text.value;
                contributions_ += text.more;
                take(from);
                break;
            default: answered(from, text);
        }
    }

    void taken(rank from) override {
        assert(busy_with_ == from);
        (void)from;
        busy_with_.reset();
    }

    void decide(time_ns now) override {
        const bool idle = !given_to_ && !busy_with_ && !accepted_by_ && offers_.empty();
        if (!idle) idle_since_.reset();
        if (idle && !idle_since_) idle_since_ = now;
        if (given_to_ || busy_with_) return;
        if (accepted_by_) return give(*accepted_by_);
        if (!offers_.empty()) {
            const auto best = std::ranges::min_element(offers_);
            busy_with_ = best->second;
            offers_.erase(best);
            return tell(*busy_with_, {accept});
        }
        while (now >= wake_at()) {
            approach(partners_[approached_++]);
            idle_since_ = now;
        }
    }

    time_ns wake_at() const override {
        if (!idle_since_ || approached_ == partners_.size()) return time_ns::max();
        const bool complete = contributions_ == size_;
        return *idle_since_ + (complete && approached_ == 0 ? time_ns{} : patience_);
    }

    bool done() const override {
        return to_come_ == 0 && open_ == 0 && unanswered_.empty() && !busy_with_ &&
               (given_to_.has_value() || partners_.empty());
    }

private:
    /// Makes an offer, if there is something to offer and it was not made before.
    void approach(rank to) {
        if (accepted_by_ || std::ranges::find(asked_, to) != asked_.end()) return tell(to, {skip});
        asked_.push_back(to);
        unanswered_.push_back(to);
        tell(to, {offer, size_});
    }

    /// An answer to an offer of this rank.
    void answered(rank from, const note& text) {
        std::erase(unanswered_, from);
        if (text.kind == accept && !accepted_by_) {
            accepted_by_ = from;
            return;
        }
        if (!given_to_) tell(from, {withdraw});  // otherwise this was done in give()
        if (text.kind == redirect) approach(rank(text.value));
    }

    void give(rank to) {
        given_to_ = to;
        tell(to, {hand, to_come_ + static_cast<std::int32_t>(offers_.size()), contributions_});
        hand_over(to);
        for (const rank r : unanswered_) tell(r, {withdraw});
        for (; approached_ < partners_.size(); ++approached_) approach(partners_[approached_]);
        for (const auto& [order, from] : offers_) tell(from, {redirect, to.value});
        offers_.clear();
    }

    time_ns patience_;
    std::int32_t size_ = 0;         // of the subtree
    std::vector<rank> partners_{};  // the parent first; the root has none
    std::size_t approached_ = 0;    // of the partners
    std::vector<rank> asked_{};     // all who ever got an offer
    std::vector<rank> unanswered_{};
    std::optional<rank> accepted_by_{};
    std::optional<rank> given_to_{};
    std::vector<std::pair<std::int32_t, rank>> offers_{};  // unanswered, with their order
    std::optional<rank> busy_with_{};                      // from its acceptance until its data is taken
    std::optional<time_ns> idle_since_{};
    std::int32_t contributions_ = 1;  // in what this rank holds
    std::int32_t to_come_ = 0;        // offers and skips; one that is inherited may come before its hand
    std::int32_t open_ = 0;           // offers got that are not closed
};

}  // namespace

std::unique_ptr<state_machine> reduce_local_redirect(const problem& p, rank me) {
    return std::make_unique<local_redirect>(p, me);
}

}  // namespace rubato::schedules
