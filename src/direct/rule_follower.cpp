#include "direct/rule_follower.hpp"

#include <utility>

namespace rubato {

const directive& rule_follower::arrive(const directed_call& c, time_ns) {
    const auto [found, is_new] = calls_.try_emplace(c.kind());
    current_ = &found->second;
    if (is_new || current_->first.bytes != c.bytes) {  // an operation's sizes may differ a little
        current_->first = c;
        look_up(*current_);
    }
    if (++current_->count == 1) {
        const bool follows = current_->how.use != nullptr;
        explain(*current_, follows ? decision::verdict::forced : decision::verdict::left,
                follows ? "a rule says so" : "no rule says anything else");
    }
    return current_->how;
}

void rule_follower::look_up(calls& of) const {
    problem p;
    p.what = of.first.what;
    p.ranks = ranks_;
    p.root = of.first.root;
    const rule* const found = by_->find(p, of.first.bytes);
    of.how = {};
    if (found == nullptr) return;
    by_->prepare(*found, p, of.first.bytes);
    of.how.use = found->use;
    of.how.segments = p.segments;
    of.how.round_time = p.round_time;
}

void rule_follower::refused(std::string_view reason) {
    if (!std::exchange(current_->refused, true)) explain(*current_, decision::verdict::left, reason);
}

void rule_follower::explain(const calls& of, decision::verdict made, std::string_view reason) const {
    if (!explain_) return;
    decision d = decision_at(of.first, ranks_, of.count);
    d.made = made;
    if (of.how.use != nullptr) d.algorithm = of.how.use->id;
    d.reason = reason;
    explain_(d);
}

}  // namespace rubato
