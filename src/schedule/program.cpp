#include "schedule/program.hpp"

#include <fmt/format.h>

#include <cassert>

namespace rubato {
namespace {

void place_steps(program& p, std::span<const layout> layouts) {
    std::size_t count = 0;
    for (const schedule& s : p.schedules) {
        p.first_of_rank.push_back(static_cast<std::uint32_t>(count));
        count += s.steps.size();
    }
    if (count >= program::none)
        throw error(fmt::format("{} steps", count), "a program has fewer than 4294967295",
                    "use fewer ranks or segments");
    p.first_of_rank.push_back(static_cast<std::uint32_t>(count));
    p.steps.resize(count + 1);
    linked_step* at = p.steps.data();
    for (std::size_t r = 0; r < p.schedules.size(); ++r) {
        const schedule& s = p.schedules[r];
        const layout& sizes = layouts[layouts.size() == 1 ? 0 : r];
        for (std::size_t i = 0; i < s.steps.size(); ++i, ++at) {
            at->rank = static_cast<std::uint32_t>(r);
            at->kind = s.steps[i].kind;
            at->partner = program::none;
            at->span = sizes.length(s, s.steps[i]);
            at->waits_for = static_cast<std::uint32_t>(s.dependencies_of(i).size());
        }
    }
}

/// Finds the followers of each step from what steps wait for. Followers are of the same rank, so rank by rank.
void place_followers(program& p) {
    std::size_t count = 0;
    for (const schedule& s : p.schedules) count += s.dependencies.size();
    p.followers.resize(count);
    std::uint32_t at = 0;
    for (std::size_t r = 0; r < p.schedules.size(); ++r) {
        const schedule& s = p.schedules[r];
        const std::uint32_t first = p.first_of_rank[r];
        for (const std::uint32_t d : s.dependencies) {
            assert(d < s.steps.size());
            ++p.steps[first + d].followers;
        }
        for (std::uint32_t i = first; i < p.first_of_rank[r + 1]; ++i) {
            at += p.steps[i].followers;
            p.steps[i].followers = at;  // their end; filling them from the back makes it their beginning
        }
        for (std::size_t i = s.steps.size(); i-- > 0;)
            for (const std::uint32_t d : s.dependencies_of(i))
                p.followers[--p.steps[first + d].followers] = first + static_cast<std::uint32_t>(i);
    }
    p.steps.back().followers = at;
}

/// Links sends and receives by message number. The sends are put in groups by receiver, in each by sender, in
/// the order in which the sender lists them: then message n of a sender is nearly always the n-th after its first.
void match_messages(program& p) {
    struct sent {
        std::uint32_t from;
        std::uint32_t message;
        std::uint32_t step;
    };
    const std::size_t ranks = p.schedules.size();
    const auto in_range = [ranks](const step& t) { return t.peer >= 0 && static_cast<std::size_t>(t.peer) < ranks; };
    std::vector<std::uint32_t> end(ranks + 1);  // of each receiver's group; moved to its beginning while filling
    for (const schedule& s : p.schedules)
        for (const step& t : s.steps)
            if (t.kind == step_kind::send && in_range(t)) ++end[static_cast<std::size_t>(t.peer)];
    std::uint32_t total = 0;
    for (std::uint32_t& e : end) e = total += e;
    std::vector<sent> sends(total);
    for (std::size_t r = ranks; r-- > 0;) {
        const std::vector<step>& steps = p.schedules[r].steps;
        for (std::size_t i = steps.size(); i-- > 0;) {
            const step& t = steps[i];
            if (t.kind == step_kind::send && in_range(t))
                sends[--end[static_cast<std::size_t>(t.peer)]] = {static_cast<std::uint32_t>(r), t.message,
                                                                  p.first_of_rank[r] + static_cast<std::uint32_t>(i)};
        }
    }
    std::vector<std::uint32_t> first_from(ranks, program::none);  // only valid inside the present group
    for (std::size_t r = 0; r < ranks; ++r) {
        const std::uint32_t group = end[r];
        const std::uint32_t group_end = end[r + 1];
        for (std::uint32_t k = group_end; k-- > group;) first_from[sends[k].from] = k;
        const std::vector<step>& steps = p.schedules[r].steps;
        for (std::size_t i = 0; i < steps.size(); ++i) {
            const step& t = steps[i];
            if (t.kind != step_kind::recv || !in_range(t)) continue;
            const auto from = static_cast<std::uint32_t>(t.peer);
            const std::uint32_t first = first_from[from];
            if (first < group || first >= group_end) continue;
            const auto is_it = [&](std::uint32_t k) {
                return k < group_end && sends[k].from == from && sends[k].message == t.message;
            };
            std::uint32_t k = first + std::min(t.message, group_end - first);
            if (!is_it(k))
                for (k = first; k < group_end && !is_it(k); ++k) {
                }
            if (k == group_end || p.steps[sends[k].step].partner != program::none) continue;
            const std::uint32_t me = p.first_of_rank[r] + static_cast<std::uint32_t>(i);
            p.steps[sends[k].step].partner = me;
            p.steps[me].partner = sends[k].step;
        }
    }
}

}  // namespace

program link(std::span<const schedule> all, std::span<const layout> layouts) {
    if (layouts.size() != 1 && layouts.size() != all.size())
        throw error(fmt::format("{} layouts for {} ranks", layouts.size(), all.size()),
                    "there is one layout for all ranks, or one for each", "give 1 or as many as ranks");
    program p;
    p.schedules = all;
    place_steps(p, layouts);
    place_followers(p);
    match_messages(p);
    return p;
}

void program::check_done() const {
    for (std::uint32_t s = 0; s < size(); ++s) {
        if (steps[s].waits_for == done) continue;
        const std::uint32_t r = steps[s].rank;
        throw error(fmt::format("rank {} never runs step {} ({})", r, s - first_of_rank[r], to_string(original(s))),
                    "the schedules deadlock or do not match", "see what verify says of them");
    }
}

}  // namespace rubato
