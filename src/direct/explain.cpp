// Decisions, for people and programs.
#include "../choose/parts.hpp"
#include "contest.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato::direct {
namespace {

std::string level_text(std::string_view of, const std::optional<level>& l) {
    if (!l) return {};
    return fmt::format(R"(,"{0}_tail_ns":{1},"{0}_period_ns":{2})", of, l->tail.count(), l->pace.count());
}

std::string pattern_text(const std::vector<time_ns>& arrivals) {
    if (arrivals.empty()) return {};
    const auto [first, last] = std::ranges::minmax_element(arrivals);
    return fmt::format(R"(,"pattern":{{"first":{},"last":{},"imbalance_ns":{}}})", first - arrivals.begin(),
                       last - arrivals.begin(), (*last - *first).count());
}

}  // namespace

void contest::explain(std::string_view decision, const contender& about, std::string_view reason) const {
    if (!with_.explain) return;
    const contender& now = contenders_[incumbent_];
    std::string text = fmt::format(
        R"({{"decision":"{}","operation":"{}","root":{},"bytes":{},"ranks":{},"call":{},"algorithm":"{}")", decision,
        traits(first_.what).name, first_.root.value, first_.bytes, with_.how.ranks, call_, about.name());
    if (about.use != nullptr)
        text += fmt::format(R"(,"segments":{},"predicted_tail_ns":{},"chosen_in_ns":{})",
                            pieces(first_.bytes, about.segment), about.predicted.count(), chosen_in_.count());
    text += level_text("measured", about.measured);
    text += fmt::format(R"(,"incumbent":"{}")", now.name());
    text += level_text("incumbent", now.measured);
    if (incumbent_ != native && challenger_ != native) text += level_text("native", contenders_[native].measured);
    with_.explain(fmt::format(R"({}{},"reason":"{}"}})", text, pattern_text(prediction(now)), reason));
}

}  // namespace rubato::direct
