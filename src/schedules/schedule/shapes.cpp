#include "schedules/schedule/shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace rubato::schedules {

std::uint32_t shape::find(const std::vector<end>& ends, std::uint32_t distance, std::uint32_t message) {
    const auto found = std::ranges::lower_bound(ends, std::pair(distance, message), {},
                                                [](const end& e) { return std::pair(e.distance, e.message); });
    return found != ends.end() && found->distance == distance && found->message == message ? found->step : none;
}

std::size_t shape_table::hashed::operator()(key_view k) const {
    std::uint64_t h = k.size();
    for (const std::uint64_t word : k) h = (h ^ word) * 0x9e3779b97f4a7c15U ^ (h >> 29);
    return h;
}

std::uint32_t shape_table::distance_of(std::int32_t peer) const {
    const auto me = static_cast<std::uint32_t>(of_rank_.size());
    const auto other = static_cast<std::uint32_t>(peer);
    return peer < 0 || other >= ranks_ ? shape::none : other >= me ? other - me : other + ranks_ - me;
}

/// `sized` makes a sized step of one.
template <class Schedule, class Sized>
shape_table::key_view shape_table::key_of(const Schedule& s, std::int64_t scratch, std::span<const after_begin> after,
                                          Sized sized) {
    const std::size_t indices = s.first_dependency.size() + s.dependencies.size();
    const std::size_t most = 2 + 3 * s.steps.size() + (indices + 1) / 2 + after.size();
    if (key_.size() < most) key_.resize(2 * most);
    std::uint64_t* at = key_.data();
    *at++ = s.steps.size();
    *at++ = static_cast<std::uint64_t>(scratch);
    for (const auto& step : s.steps) {
        const sized_step t = sized(step);
        const auto kind = static_cast<std::uint64_t>(t.kind) | (t.needs_arrival ? 4U : 0U) | (t.work != 0 ? 8U : 0U);
        *at++ = kind | static_cast<std::uint64_t>(t.bytes) << 4;
        if (t.is_message()) *at++ = std::uint64_t{distance_of(t.peer)} << 32 | t.message;
        if (t.work != 0) *at++ = static_cast<std::uint64_t>(t.work);
    }
    if (indices % 2 != 0) at[indices / 2] = 0;
    auto* index = reinterpret_cast<std::byte*>(at);
    for (const std::vector<std::uint32_t>* part : {&s.first_dependency, &s.dependencies}) {
        if (!part->empty()) std::memcpy(index, part->data(), part->size() * sizeof(std::uint32_t));
        index += part->size() * sizeof(std::uint32_t);
    }
    at += (indices + 1) / 2;
    for (const after_begin& a : after) *at++ = std::uint64_t{a.step} << 32 | a.begun;
    return {key_.data(), at};
}

/// Of the next rank; `sized` gives its schedule if no rank before has such a one.
template <class Sized>
void shape_table::add_of(key_view k, Sized sized) {
    if (of_rank_.empty() || !std::ranges::equal(k, last_key_)) {
        auto found = known_.find(k);
        if (found == known_.end()) found = known_.emplace(shape_key(k.begin(), k.end()), make(sized())).first;
        last_key_ = found->first;
        of_rank_.push_back(found->second);
    } else {
        of_rank_.push_back(of_rank_.back());
    }
    first_.push_back(first_.back() + k[0]);
}

void shape_table::add(const sized_schedule& s) {
    const auto as_it_is = [](const sized_step& t) { return t; };
    add_of(key_of(s, s.scratch, s.after, as_it_is), [&]() -> const sized_schedule& { return s; });
}

void shape_table::add(const schedule& s, const layout& sizes) {
    const auto sized = [&](const step& t) { return size_step(s, t, sizes); };
    add_of(key_of(s, sizes.scratch_units(s), {}, sized), [&]() -> const sized_schedule& {
        size_schedule(s, sizes, sized_);
        return sized_;
    });
}

shape* shape_table::make(const sized_schedule& s) {
    shape& made = shapes_.emplace_back();
    made.scratch = s.scratch;
    made.steps.resize(s.steps.size() + 1);
    for (std::uint32_t i = 0; i < s.steps.size(); ++i) {
        const sized_step& t = s.steps[i];
        shape_step& m = made.steps[i];
        m.kind = t.kind;
        m.needs_arrival = t.needs_arrival;
        m.bytes = t.bytes;
        m.work = t.work;
        m.waits_for = static_cast<std::uint32_t>(s.dependencies_of(i).size());
        for (const std::uint32_t d : s.dependencies_of(i)) ++made.steps[d].followers;
        if (!t.is_message()) continue;
        m.distance = distance_of(t.peer);
        m.message = t.message;
        (t.kind == step_kind::send ? made.sends : made.recvs).push_back({m.distance, m.message, i});
    }
    for (auto* ends : {&made.sends, &made.recvs})
        std::ranges::stable_sort(*ends, {}, [](const shape::end& e) { return std::pair(e.distance, e.message); });
    for (const auto* ends : {&made.sends, &made.recvs})
        for (const shape::end& e : *ends)
            if (e.distance != shape::none) made.steps[e.step].partner = made.partner_of(made.steps[e.step], ranks_);
    // Filling each step's followers from the back makes their end their beginning.
    std::uint32_t at = 0;
    for (shape_step& m : made.steps) m.followers = at += m.followers;
    made.followers.resize(at);
    for (std::uint32_t i = static_cast<std::uint32_t>(s.steps.size()); i-- > 0;)
        for (const std::uint32_t d : s.dependencies_of(i)) made.followers[--made.steps[d].followers] = i;
    made.after = s.after;
    std::ranges::sort(made.after, {}, [](const after_begin& a) { return std::pair(a.begun, a.step); });
    for (const after_begin& a : made.after) {
        made.steps[a.begun].is_awaited = true;
        ++made.steps[a.step].waits_for;
    }
    return &made;
}

void shape_table::serve_in_order(const std::array<std::uint8_t, step_names.size()>& ports) {
    for (shape& each : shapes_)
        for (std::size_t port = 0; port < 2; ++port) {
            shape_step* last = nullptr;
            for (std::uint32_t s = 0; s < each.size(); ++s) {
                shape_step& t = each.steps[s];
                if (port == 0) t.ports_before = 0;
                t.next[port] = shape::none;
                if ((unsigned{ports[static_cast<std::size_t>(t.kind)]} >> port & 1U) == 0) continue;
                if (last != nullptr) {
                    last->next[port] = s;
                    ++t.ports_before;
                }
                last = &t;
            }
        }
}

void shape_table::deadlock(std::uint32_t rank, std::uint32_t step) const {
    const shape_step& t = of(rank).steps[step];
    const bool is_message = t.kind == step_kind::send || t.kind == step_kind::recv;
    const std::string peer = !is_message ? ""
                             : t.distance == shape::none
                                 ? " with a rank that there is not"
                                 : fmt::format(" {} {} (message {})", t.kind == step_kind::send ? "to" : "from",
                                               peer_of(rank, t), t.message);
    throw error(fmt::format("rank {} never runs step {} ({}{})", rank, step,
                            step_names[static_cast<std::size_t>(t.kind)], peer),
                "the schedules deadlock or do not match", "see what verify says of them");
}

shape_table shapes_of(std::span<const schedule> all, std::span<const layout> layouts) {
    if (layouts.size() != 1 && layouts.size() != all.size())
        throw error(fmt::format("{} layouts for {} ranks", layouts.size(), all.size()),
                    "there is one layout for all ranks, or one for each", "give 1 or as many as ranks");
    shape_table ranks(static_cast<std::int32_t>(all.size()));
    for (std::size_t r = 0; r < all.size(); ++r) ranks.add(all[r], layouts[layouts.size() == 1 ? 0 : r]);
    return ranks;
}

}  // namespace rubato::schedules
