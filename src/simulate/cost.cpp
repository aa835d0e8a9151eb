#include "rubato/cost.hpp"

#include "schedule/program.hpp"

#include <algorithm>

namespace rubato {
namespace {

/// The most messages on a chain. A message begins when its send waits for nothing more; its receive waits for it.
std::int64_t longest_chain(program& p) {
    std::vector<std::uint32_t> runnable;
    const auto release = [&](std::uint32_t s, std::int64_t chain) {
        linked_step& me = p.steps[s];
        me.ready = std::max(me.ready, chain);  // here: the messages before it
        if (--me.waits_for == 0) runnable.push_back(s);
    };
    for (std::uint32_t s = 0; s < p.size(); ++s)
        if (p.steps[s].kind == step_kind::recv) ++p.steps[s].waits_for;
    for (std::uint32_t s = 0; s < p.size(); ++s)
        if (p.steps[s].waits_for == 0) runnable.push_back(s);
    std::int64_t longest = 0;
    while (!runnable.empty()) {
        const std::uint32_t s = runnable.back();
        runnable.pop_back();
        linked_step& me = p.steps[s];
        me.waits_for = program::done;
        const bool message = me.kind == step_kind::send || me.kind == step_kind::recv;
        const std::int64_t chain = me.ready + (message ? 1 : 0);
        longest = std::max(longest, chain);
        // The receive counts the message itself.
        if (me.kind == step_kind::send && me.partner != program::none) release(me.partner, me.ready);
        for (const std::uint32_t f : p.followers_of(s)) release(f, chain);
    }
    p.check_done();
    return longest;
}

}  // namespace

cost count_cost(std::span<const schedule> all, std::span<const layout> layouts) {
    program p = link(all, layouts);
    cost total;
    total.ranks.resize(all.size());
    for (std::size_t r = 0; r < all.size(); ++r)
        total.ranks[r].scratch = layouts[layouts.size() == 1 ? 0 : r].scratch_units(all[r]);
    for (std::uint32_t s = 0; s < p.size(); ++s) {
        const linked_step& me = p.steps[s];
        if (me.kind != step_kind::send) continue;
        ++total.ranks[me.rank].messages;
        total.ranks[me.rank].bytes += me.span;
    }
    for (const rank_cost& r : total.ranks) {
        total.messages += r.messages;
        total.bytes += r.bytes;
    }
    total.rounds = longest_chain(p);
    return total;
}

// The static power is that of one process. The paper's formula, T P + D, does not say; but its 0.5 W are those of a NIC
// chip, of which every process has one, and D is the sum over all processes. Only this agrees with what it says of its
// Figure 5, that for few processes the butterfly's shorter time outweighs its extra messages: with a chip for each that
// is so up to 8 processes; with one chip in all only for 2, where the butterfly has no extra messages.
double energy(const model& m, const cost& c, time_ns run_time) {
    const double seconds = static_cast<double>(run_time.count()) / 1e9;
    return seconds * m.static_power * static_cast<double>(c.ranks.size()) +
           static_cast<double>(c.messages) * m.message_energy + static_cast<double>(c.bytes) * m.byte_energy;
}

std::int64_t descriptor_memory(const model& m, const cost& c) {
    std::int64_t most = 0;
    for (const rank_cost& r : c.ranks) most = std::max(most, r.messages);
    return most * m.descriptor;
}

}  // namespace rubato
