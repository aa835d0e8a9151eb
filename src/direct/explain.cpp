// Decisions, for people and programs.
#include "choose/outcome.hpp"
#include "direct/contest.hpp"

#include <algorithm>

namespace rubato::direct {
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
    decision d;
    d.made = made;
    d.what = first_.what;
    d.bytes = first_.bytes;
    if (traits(first_.what).rooted) d.root = first_.root.value;
    d.ranks = with_.how.ranks;
    d.call = call_;
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

}  // namespace rubato::direct
