#include "preload/fleet.hpp"

#include <algorithm>

namespace rubato::preload {

void fleet::prepare(const settings& how, std::shared_ptr<const rules> by, own_clock clock, time_ns begin) {
    how_ = {.force = how.force,
            .rules = std::move(by),
            .margin = how.margin,
            .spend = how.spend,
            .model = how.model,
            .background = how.background.when != background_use::never,
            .reproducible = how.reproducible,
            .leave = how.leave,
            .clock = std::move(clock),
            .process = &effort_};
    effort_.begin = begin;
    starts_ = how.background.when == background_use::wanted;
    for (const collective_traits& t : collectives()) {
        const bool left_alone = std::ranges::find(how.leave, t.what) != how.leave.end();
        bool& replaced = replaces_[static_cast<std::size_t>(t.what)];
        if (how.mode == mode::automatic) replaced = !left_alone;
        if (how.mode == mode::force) replaced = find_algorithm(how.force).what == t.what && !left_alone;
        if (how.mode == mode::rules) replaced = how_.rules->concern(t.what) && !left_alone;
    }
}

std::uint64_t fleet::calls_to_wait(std::uint64_t calls, time_ns gain, std::optional<time_ns> in_calls) const {
    const auto has_run = static_cast<double>(in_calls.value_or(own_time() - effort_.begin).count());
    const auto cost = static_cast<double>(effort_.spent + took_.load().count());
    if (forces() || gain > took_.load() || cost <= has_run * how_.spend) return 0;
    const double longer = cost / std::max(has_run * how_.spend, 1.) - 1;
    return static_cast<std::uint64_t>(
        std::clamp(longer * static_cast<double>(calls), 1., static_cast<double>(longest_wait)));
}

void fleet::count(time_ns took) {
    ++alive_;
    took_ = took;
    effort_.spent += took.count();
}

}  // namespace rubato::preload
