// The generator that is used. Held segments are bits; a receiver's word of segments is compared with the union of what
// those have who can still send.
#include "baselines/ready_group.hpp"
#include "rubato/clairvoyant.hpp"

#include <bit>

namespace rubato::clairvoyant {
namespace {

template <class Keep>
rounds generate_if(const instance& in, Keep keep) {
    check(in);
    const std::size_t words = (in.segments + 63) / 64;
    std::vector<std::uint64_t> held(static_cast<std::size_t>(in.ranks) * words, ~std::uint64_t{0});
    if (in.segments % 64 != 0)
        for (std::size_t r = 0; r < static_cast<std::size_t>(in.ranks); ++r)
            held[r * words + words - 1] = (std::uint64_t{1} << in.segments % 64) - 1;
    const auto word = [&](std::int32_t r, std::size_t w) -> std::uint64_t& {
        return held[static_cast<std::size_t>(r) * words + w];
    };
    ready_group group(in);
    rounds result;
    std::vector<transfer> now;
    std::vector<std::int32_t> senders;
    const auto empty = [&](std::int32_t r) {
        for (std::size_t w = 0; w < words; ++w)
            if (word(r, w) != 0) return false;
        return true;
    };
    while (group.next(empty)) {
        const std::vector<std::int32_t>& members = group.root_first();
        senders = members;
        now.clear();
        for (const std::int32_t to : members) {
            for (std::size_t w = 0; w < words; ++w) {
                std::uint64_t wanted = 0;
                for (const std::int32_t from : senders)
                    if (from != to) wanted |= word(from, w);
                if (to != members.front()) wanted &= word(to, w);
                if (wanted == 0) continue;
                const std::uint64_t bit = wanted & -wanted;
                const auto from =
                    std::ranges::find_if(senders, [&](std::int32_t s) { return s != to && (word(s, w) & bit) != 0; });
                now.push_back({to, *from,
                               static_cast<std::uint32_t>(w * 64) + static_cast<std::uint32_t>(std::countr_zero(bit))});
                word(*from, w) &= ~bit;
                word(to, w) &= ~bit;
                senders.erase(from);
                break;
            }
        }
        for (const transfer& x : now) {
            word(x.to, x.segment / 64) |= std::uint64_t{1} << x.segment % 64;
            if (keep(x)) result.transfers.push_back(x);
        }
        const std::size_t before = result.busy.empty() ? 0 : result.busy.back().end;
        if (result.transfers.size() > before) result.busy.push_back({group.round(), result.transfers.size()});
        group.end_round();
        result.length = group.round();
    }
    return result;
}

}  // namespace

rounds generate(const instance& in) {
    return generate_if(in, [](const transfer&) { return true; });
}

rounds generate(const instance& in, rank only) {
    return generate_if(in, [only](const transfer& x) { return x.to == only.value || x.from == only.value; });
}

}  // namespace rubato::clairvoyant
