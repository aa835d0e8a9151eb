#include "dropin/direct/follower.hpp"

#include "simulator/choose/outcome.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace rubato::dropin {
namespace {

/// Of forced algorithms. Pieces of 16 KiB keep a pipeline full; more pieces than the limit gain nothing.
constexpr std::int64_t segment = 16 << 10;
constexpr std::uint32_t most_segments = 4096;

}  // namespace

follower::follower(std::span<const algorithm* const> forced, std::int32_t ranks,
                   const std::function<model()>& ask_network, explainer explain)
    : why_("as was asked"), why_not_("another collective is forced"), ranks_(ranks), explain_(std::move(explain)) {
    std::optional<model> network;
    if (std::ranges::any_of(forced, [](const algorithm* a) { return a->uses_round_time(); })) network = ask_network();
    order_ = [all = std::vector(forced.begin(), forced.end()), network](const directed_call& c, directive& how) {
        const auto found = std::ranges::find(all, c.what, &algorithm::what);
        if (found == all.end()) return;
        const algorithm& use = **found;
        const bool is_first = std::exchange(how.use, &use) == nullptr;
        how.segments = use.segmented ? std::min(simulator::pieces(c.bytes, segment), most_segments) : 1;
        if (is_first && use.uses_round_time())
            how.round_time = cautious_round_time(*network, std::clamp<std::int64_t>(c.bytes, 1, segment));
    };
}

follower::follower(std::shared_ptr<const rules> by, std::int32_t ranks, explainer explain)
    : order_([by = std::move(by), ranks](const directed_call& c, directive& how) {
          problem p{.what = c.what, .ranks = ranks, .root = c.root};
          how = {};
          const rule* const found = by->find(p, c.bytes);
          if (found == nullptr) return;
          by->prepare(*found, p, c.bytes);
          how.use = found->use;
          how.segments = p.segments;
          how.round_time = p.round_time;
      }),
      why_("a rule says so"),
      why_not_("no rule says anything else"),
      ranks_(ranks),
      explain_(std::move(explain)) {}

const directive& follower::arrive(const directed_call& c, time_ns) {
    calls& of = calls_[c.kind()];
    current_ = &of;
    if (of.count == 0 || of.last.bytes != c.bytes) {  // an operation's sizes may differ a little
        of.last = c;
        order_(c, of.how);
    }
    if (++of.count == 1) {
        const bool follows = of.how.use != nullptr;
        explain(of, follows ? decision::verdict::forced : decision::verdict::left, follows ? why_ : why_not_);
    }
    return of.how;
}

void follower::refused(std::string_view reason) {
    if (!std::exchange(current_->refused, true)) explain(*current_, decision::verdict::left, reason);
}

void follower::explain(const calls& of, decision::verdict made, std::string_view reason) const {
    if (!explain_) return;
    decision d = decision_at(of.last, ranks_, of.count);
    d.made = made;
    if (of.how.use != nullptr) d.algorithm = of.how.use->id;
    d.reason = reason;
    explain_(d);
}

}  // namespace rubato::dropin
