#include "rubato/cost.hpp"

#include "simulator/simulate/at_scale.hpp"

#include <algorithm>

namespace rubato {
namespace {

/// The most messages on a chain. A message begins when its send waits for nothing more; its receive waits for it.
std::int64_t longest_chain(const schedules::shape_table& ranks) {
    constexpr std::uint32_t done = UINT32_MAX;
    std::vector<std::uint32_t> waits(ranks.first().back());
    std::vector<std::uint32_t> before(waits.size());  // messages
    const auto at = [&](const schedules::rank_step& p) { return ranks.number_of(p); };
    std::vector<schedules::rank_step> runnable;
    const auto release = [&](const schedules::rank_step& p, std::uint32_t chain) {
        before[at(p)] = std::max(before[at(p)], chain);
        if (--waits[at(p)] == 0) runnable.push_back(p);
    };
    ranks.each([&](const schedules::rank_step& p, const schedules::shape_step& t) {
        waits[at(p)] = t.waits_for + (t.kind == step_kind::recv ? 1 : 0);
        if (waits[at(p)] == 0) runnable.push_back(p);
    });
    std::uint32_t longest = 0;
    while (!runnable.empty()) {
        const schedules::rank_step p = runnable.back();
        runnable.pop_back();
        waits[at(p)] = done;
        const schedules::shape_step& t = ranks.of(p);
        const bool message = t.kind == step_kind::send || t.kind == step_kind::recv;
        const std::uint32_t chain = before[at(p)] + (message ? 1 : 0);
        longest = std::max(longest, chain);
        if (t.kind == step_kind::send && t.distance != schedules::shape::none) {
            const std::uint32_t peer = ranks.peer_of(p.rank, t);
            const std::uint32_t there = ranks.partner(t, peer);
            // The receive counts the message itself.
            if (there != schedules::shape::none) release({peer, there}, before[at(p)]);
        }
        for (const std::uint32_t f : ranks.of(p.rank).followers_of(p.step)) release({p.rank, f}, chain);
        if (t.is_awaited)
            ranks.of(p.rank).each_after(p.step, [&](std::uint32_t f) { release({p.rank, f}, before[at(p)]); });
    }
    ranks.each([&](const schedules::rank_step& p, const schedules::shape_step& /*t*/) {
        if (waits[at(p)] != done) ranks.deadlock(p.rank, p.step);
    });
    return longest;
}

}  // namespace

cost simulator::count_cost(const schedules::shape_table& ranks) {
    cost total;
    total.ranks.resize(ranks.ranks());
    for (std::uint32_t r = 0; r < ranks.ranks(); ++r) {
        rank_cost& mine = total.ranks[r];
        mine.scratch = ranks.of(r).scratch;
        for (const schedules::shape::end& e : ranks.of(r).sends) {
            ++mine.messages;
            mine.bytes += ranks.of(r).steps[e.step].bytes;
        }
        total.messages += mine.messages;
        total.bytes += mine.bytes;
    }
    total.rounds = longest_chain(ranks);
    return total;
}

cost count_cost(std::span<const schedule> all, std::span<const layout> layouts) {
    return simulator::count_cost(schedules::shapes_of(all, layouts));
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
