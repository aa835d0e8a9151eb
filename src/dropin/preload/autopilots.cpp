#include "dropin/preload/autopilots.hpp"

#include "engine/mpi/datatype.hpp"
#include "engine/mpi/process.hpp"

#include <algorithm>
#include <array>
#include <new>

namespace rubato::dropin {

void pass_graph_tags([[maybe_unused]] MPI_Comm comm) {
#ifndef MPICH_VERSION
    std::array<MPI_Request, 25> all{};
    for (MPI_Request& r : all) engine::check(PMPI_Ibarrier(comm, &r), "MPI_Ibarrier");
    engine::check(PMPI_Waitall(static_cast<int>(all.size()), all.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
#endif
}

void autopilots::prepare(const settings& how, std::shared_ptr<const rules> by, own_clock clock, time_ns begin) {
    how_.force = how.force;
    how_.rules = std::move(by);
    how_.careful = how.careful;
    how_.model = how.model;
    how_.background = how.background.when != background_use::never;
    how_.reproducible = how.reproducible;
    how_.leave = how.leave;
    how_.clock = std::move(clock);
    how_.process = &directing_cost_;
    directing_cost_.begin = begin;
    starts_ = how.background.when == background_use::wanted;
    for (const collective_traits& t : collectives()) {
        bool& replaced = replaces_[static_cast<std::size_t>(t.what)];
        replaced = how.mode != mode::observe && how_.may_replace(t.what);
        directs_ |= replaced;
    }
}

std::uint64_t autopilots::calls_to_wait(std::uint64_t calls, time_ns gain, std::optional<time_ns> in_calls) const {
    const auto has_run = static_cast<double>(in_calls.value_or(own_time() - directing_cost_.begin).count());
    const auto cost = static_cast<double>(directing_cost_.spent + took_.load().count());
    if (forces() || gain > took_.load() || cost <= has_run * how_.careful.spend) return 0;
    const double longer = cost / std::max(has_run * how_.careful.spend, 1.) - 1;
    return static_cast<std::uint64_t>(
        std::clamp(longer * static_cast<double>(calls), 1., static_cast<double>(longest_wait)));
}

process_pilot& autopilots::make(MPI_Comm comm, const autopilot::settings& how, autopilot::explainer explain,
                                process_pilot::keeper keep) {
    const time_ns begin = own_time();
    if (comm != MPI_COMM_WORLD) pass_graph_tags(comm);  // for the world that is done
    std::list<process_pilot> made(1);
    made.front().pilot.emplace(comm, how, std::move(explain));
    made.front().keep = std::move(keep);
    const time_ns took = own_time() - begin;
    ++alive_;
    took_ = took;
    directing_cost_.spent += took.count();
    const std::lock_guard lock(mutex_);
    all_.remove_if([](const process_pilot& p) { return !p.pilot; });
    all_.splice(all_.end(), made);
    return all_.back();
}

bool autopilots::ends(process_pilot& p) {
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

bool autopilots::go_on_ending() noexcept {
    const std::lock_guard lock(mutex_);
    try {
        some_retired_ = false;
        for (process_pilot& p : all_)
            if (p.retired && p.pilot && !p.in_use && !ends(p)) some_retired_ = true;
        return !some_retired_;
    } catch (const std::exception& e) {
        give_up(MPI_COMM_WORLD, e);  // other ranks wait for this one
    }
}

void autopilots::end_all() noexcept {
    {
        const std::lock_guard lock(mutex_);
        for (process_pilot& p : all_) {
            p.in_use = false;
            retire(p);
        }
    }
    while (!go_on_ending()) engine::let_others_go_on();
}

}  // namespace rubato::dropin
