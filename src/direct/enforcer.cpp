#include "direct/enforcer.hpp"

#include "choose/outcome.hpp"

#include <algorithm>
#include <utility>

namespace rubato {
namespace {

/// Pieces of 16 KiB keep a pipeline full; more pieces than the limit gain nothing.
constexpr std::int64_t segment = 16 << 10;
constexpr std::uint32_t most_segments = 4096;

}  // namespace

const directive& enforcer::arrive(const directed_call& c, time_ns) {
    const auto [found, is_new] = calls_.try_emplace(c.kind());
    current_ = &found->second;
    if (is_new) {
        current_->first = c;
        current_->round_time = round_time_for(c.bytes);
    }
    if (++current_->count == 1) explain(*current_, decision::verdict::forced, "as was asked");
    how_.use = &use_;
    how_.segments = use_.segmented ? std::min(pieces(c.bytes, segment), most_segments) : 1;
    how_.round_time = current_->round_time;
    return how_;
}

void enforcer::refused(std::string_view reason) {
    if (!std::exchange(current_->refused, true)) explain(*current_, decision::verdict::left, reason);
}

time_ns enforcer::round_time_for(std::int64_t bytes) const {
    if (!network_) return {};
    return cautious_round_time(*network_, std::clamp<std::int64_t>(bytes, 1, segment));
}

void enforcer::explain(const calls& of, decision::verdict made, std::string_view reason) const {
    if (!explain_) return;
    decision d = decision_at(of.first, ranks_, of.count);
    d.made = made;
    d.algorithm = use_.id;
    d.reason = reason;
    explain_(d);
}

}  // namespace rubato
