// Decisions, for people and programs.
#include "choose/outcome.hpp"
#include "direct/contest.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace rubato::direct {
namespace {

std::string level_text(std::string_view of, const std::optional<level>& l) {
    if (!l) return {};
    return fmt::format(R"(,"{0}_tail_ns":{1},"{0}_period_ns":{2})", of, l->tail.count(), l->pace.count());
}

/// Reasons name options and values, never in double quotes but perhaps by chance.
std::string quoted(std::string_view text) {
    std::string safe(text);
    std::ranges::replace_if(
        safe, [](char c) { return c == '"' || c == '\\' || c == '\n'; }, '\'');
    return safe;
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
    std::string text =
        fmt::format(R"({{"decision":"{}","operation":"{}","bytes":{},"ranks":{},"call":{},"algorithm":"{}")", decision,
                    traits(first_.what).name, first_.bytes, with_.how.ranks, call_, about.name());
    if (traits(first_.what).rooted) text += fmt::format(R"(,"root":{})", first_.root.value);
    if (about.use != nullptr && with_.how.force == nullptr)
        text += fmt::format(R"(,"segments":{},"predicted_tail_ns":{},"chosen_in_ns":{})",
                            pieces(first_.bytes, about.segment), about.predicted.count(), chosen_in_.count());
    text += level_text("measured", about.measured);
    text += fmt::format(R"(,"incumbent":"{}")", now.name());
    text += level_text("incumbent", now.measured);
    if (incumbent_ != native && challenger_ != native) text += level_text("native", contenders_[native].measured);
    with_.explain(fmt::format(R"({}{},"reason":"{}"}})", text, pattern_text(prediction(now)), quoted(reason)));
}

}  // namespace rubato::direct
