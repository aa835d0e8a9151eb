#include "schedule/shapes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace rubato {

std::uint32_t shape::find(const std::vector<end>& ends, std::uint32_t distance, std::uint32_t message) {
    const auto found = std::ranges::lower_bound(ends, std::pair(distance, message), {},
                                                [](const end& e) { return std::pair(e.distance, e.message); });
    return found != ends.end() && found->distance == distance && found->message == message ? found->step : none;
}

std::size_t shape_table::hashed::operator()(const key& k) const {
    std::uint64_t h = k.size();
    for (const std::uint64_t word : k) h = (h ^ word) * 0x9e3779b97f4a7c15U ^ (h >> 29);
    return h;
}

std::uint32_t shape_table::distance_of(std::int32_t peer) const {
    const auto me = static_cast<std::uint32_t>(of_rank_.size());
    const auto other = static_cast<std::uint32_t>(peer);
    return peer < 0 || other >= ranks_ ? shape::none : other >= me ? other - me : other + ranks_ - me;
}

void shape_table::add(const sized_schedule& s) {
    key_.assign({s.steps.size(), static_cast<std::uint64_t>(s.scratch)});
    for (const sized_step& t : s.steps) {
        const auto kind = static_cast<std::uint64_t>(t.kind) | (t.needs_arrival ? 4U : 0U) | (t.work != 0 ? 8U : 0U);
        key_.push_back(kind | std::uint64_t{t.message} << 8);
        key_.push_back(static_cast<std::uint64_t>(t.bytes));
        if (t.work != 0) key_.push_back(static_cast<std::uint64_t>(t.work));
        if (t.is_message()) key_.push_back(distance_of(t.peer));
    }
    for (std::size_t i = 0; i < s.steps.size(); ++i)
        for (const std::uint32_t d : s.dependencies_of(i)) key_.push_back(std::uint64_t{i} << 32 | d);
    for (const after_begin& a : s.after) key_.push_back(std::uint64_t{a.step} << 32 | a.begun);
    auto found = known_.find(key_);
    if (found == known_.end()) found = known_.emplace(key_, make(s)).first;
    of_rank_.push_back(found->second);
    first_.push_back(first_.back() + s.steps.size());
}

const shape* shape_table::make(const sized_schedule& s) {
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
                if ((ports[static_cast<std::size_t>(t.kind)] >> port & 1U) == 0) continue;
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

}  // namespace rubato
