#include "preload/fleet.hpp"

#include "mpi/process.hpp"
#include "preload/graph_tags.hpp"

#include <algorithm>
#include <new>

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
        directs_ |= replaced;
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

fleet_pilot& fleet::make(MPI_Comm comm, const autopilot::settings& how, autopilot::explainer explain,
                         fleet_pilot::keeper keep) {
    const time_ns begin = own_time();
    if (comm != MPI_COMM_WORLD) pass_graph_tags(comm);  // for the world that is done
    std::list<fleet_pilot> made(1);
    made.front().pilot.emplace(comm, how, std::move(explain));
    made.front().keep = std::move(keep);
    const time_ns took = own_time() - begin;
    ++alive_;
    took_ = took;
    effort_.spent += took.count();
    const std::lock_guard lock(mutex_);
    all_.remove_if([](const fleet_pilot& p) { return !p.pilot; });
    all_.splice(all_.end(), made);
    return all_.back();
}

bool fleet::ends(fleet_pilot& p) {
    if (!p.pilot->end()) return false;
    try {
        if (p.keep) p.keep(p.pilot->learned());
    } catch (const std::bad_alloc&) {
        // It is forgotten.
    }
    p.pilot.reset();
    --alive_;
    return true;
}

bool fleet::go_on_ending() noexcept {
    const std::lock_guard lock(mutex_);
    try {
        some_retired_ = false;
        for (fleet_pilot& p : all_)
            if (p.retired && p.pilot && !p.in_use && !ends(p)) some_retired_ = true;
        return !some_retired_;
    } catch (const std::exception& e) {
        give_up(MPI_COMM_WORLD, e);  // other ranks wait for this one
    }
}

void fleet::end_all() noexcept {
    {
        const std::lock_guard lock(mutex_);
        for (fleet_pilot& p : all_) {
            p.in_use = false;
            retire(p);
        }
    }
    while (!go_on_ending()) mpi::let_others_go_on();
}

}  // namespace rubato::preload
