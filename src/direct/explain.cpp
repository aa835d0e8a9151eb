// Decisions, for people and programs.
#include "choose/outcome.hpp"
#include "direct/contest.hpp"

#include <algorithm>

namespace rubato {

decision decision_at(const directed_call& c, std::int32_t ranks, std::uint64_t call) {
    decision d;
    d.what = c.what;
    d.bytes = c.bytes;
    if (traits(c.what).rooted) d.root = c.root.value;
    d.ranks = ranks;
    d.call = call;
    return d;
}

namespace direct {
namespace {

std::optional<decision::times> times_of(const std::optional<level>& l) {
    if (!l) return std::nullopt;
    return decision::times{l->tail, l->pace};
}

std::optional<decision::arrival_pattern> pattern_of(const std::vector<time_ns>& arrivals) {
    if (arrivals.empty()) return std::nullopt;
    const auto [first, last] = std::ranges::minmax_element(arrivals);
    return decision::arrival_pattern{static_cast<std::int32_t>(first - arrivals.begin()),
                                     static_cast<std::int32_t>(last - arrivals.begin()), *last - *first};
}

}  // namespace

void contest::explain(decision::verdict made, const contender& about, std::string_view reason) const {
    if (!with_.explain) return;
    const contender& now = contenders_[incumbent_];
    decision d = decision_at(first_, with_.how.ranks, call_);
    d.made = made;
    d.algorithm = about.name();
    if (about.use != nullptr) d.promised = {pieces(first_.bytes, about.segment), about.predicted, chosen_in_};
    d.measured = times_of(about.measured);
    d.incumbent = now.name();
    d.of_incumbent = times_of(now.measured);
    if (incumbent_ != native && challenger_ != native) d.of_native = times_of(contenders_[native].measured);
    d.pattern = pattern_of(prediction(now));
    d.reason = reason;
    with_.explain(d);
}

}  // namespace direct
}  // namespace rubato
