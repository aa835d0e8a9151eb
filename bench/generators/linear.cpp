// The rule, word by word: every search looks at one process and segment after the other.
//
// Cost: O(R P^2 N) at worst. Source: Proficz & Ocetkiewicz 2020, Listing 2 with the state P' of 4.2.
#include "generators/baselines.hpp"
#include "generators/ready_group.hpp"

namespace rubato::schedules {
namespace {

enum class state : std::uint8_t { empty, held, received };  // E; A or P; P'

}  // namespace

rounds generate_linear(const instance& in) {
    check(in);
    const std::uint32_t segments = in.segments;
    std::vector<state> states(static_cast<std::size_t>(in.ranks) * segments,
                              state::held);  // by segment: searched by process
    const auto at = [&](std::int32_t r, std::uint32_t segment) -> state& {
        return states[segment * static_cast<std::size_t>(in.ranks) + static_cast<std::size_t>(r)];
    };
    std::vector<std::uint32_t> holds(static_cast<std::size_t>(in.ranks), segments);
    std::vector<std::uint8_t> sent(static_cast<std::size_t>(in.ranks));
    ready_group group(in);
    rounds result;
    while (group.next([&](std::int32_t r) { return holds[static_cast<std::size_t>(r)] == 0; })) {
        const std::vector<std::int32_t>& members = group.root_first();
        const std::size_t begin = result.transfers.size();
        for (const std::int32_t to : members) {
            const bool sink = to == members.front();
            bool found = false;
            for (std::uint32_t j = 0; j < segments && !found; ++j) {
                if (!sink && at(to, j) != state::held) continue;
                for (const std::int32_t from : members) {
                    if (from == to || sent[static_cast<std::size_t>(from)] || at(from, j) != state::held) continue;
                    if (at(to, j) == state::empty) ++holds[static_cast<std::size_t>(to)];
                    --holds[static_cast<std::size_t>(from)];
                    at(from, j) = state::empty;
                    at(to, j) = state::received;
                    sent[static_cast<std::size_t>(from)] = 1;
                    result.transfers.push_back({to, from, j});
                    found = true;
                    break;
                }
            }
        }
        for (std::size_t k = begin; k < result.transfers.size(); ++k) {
            const transfer& x = result.transfers[k];
            at(x.to, x.segment) = state::held;
            sent[static_cast<std::size_t>(x.from)] = 0;
        }
        if (result.transfers.size() > begin) result.busy.push_back({group.round(), result.transfers.size()});
        group.end_round();
        result.length = group.round();
    }
    return result;
}

}  // namespace rubato::schedules
