#include "engine/announcement.hpp"

#include "core/wire.hpp"

#include <array>
#include <bit>
#include <cstring>

namespace rubato {
namespace {

/// Radix, hosts and arrivals follow.
struct announcement_head {
    std::int64_t number;
    std::int64_t algorithm;
    std::int64_t what;
    std::int64_t root;
    std::int64_t segments;
    std::int64_t commutative;
    std::int64_t idempotent;
    std::int64_t round_time;
    std::int64_t bytes;
    std::int64_t type;
    std::int64_t op;
    std::int64_t observed;
    std::int64_t radix_size;
    std::int64_t hosts_size;
};

}  // namespace

std::vector<std::int64_t> announcement(std::uint64_t number, const intent& i, std::int64_t bytes) {
    const announcement_head head{
        .number = static_cast<std::int64_t>(number),
        .algorithm = i.use - algorithms().data(),
        .what = static_cast<std::int64_t>(i.what.what),
        .root = i.what.root.value,
        .segments = i.what.segments,
        .commutative = i.what.commutative,
        .idempotent = i.what.idempotent,
        .round_time = i.what.round_time.count(),
        .bytes = bytes,
        .type = i.type,
        .op = i.op,
        .observed = i.observed,
        .radix_size = static_cast<std::int64_t>(i.what.radix.size()),
        .hosts_size = static_cast<std::int64_t>(i.what.hosts.size()),
    };
    const auto numbers = std::bit_cast<std::array<std::int64_t, numbers_in<announcement_head>()>>(head);
    std::vector<std::int64_t> text(numbers.begin(), numbers.end());
    text.insert(text.end(), i.what.radix.begin(), i.what.radix.end());
    text.insert(text.end(), i.what.hosts.begin(), i.what.hosts.end());
    for (const time_ns t : i.what.arrivals) text.push_back(t.count());
    return text;
}

std::pair<std::uint64_t, intent> announced(std::span<const std::int64_t> text, std::int32_t ranks) {
    announcement_head head{};
    std::memcpy(&head, text.data(), sizeof head);
    intent i;
    i.use = &algorithms()[static_cast<std::size_t>(head.algorithm)];
    i.what.what = static_cast<collective>(head.what);
    i.what.ranks = ranks;
    i.what.root = rank(static_cast<std::int32_t>(head.root));
    i.what.segments = static_cast<std::uint32_t>(head.segments);
    i.what.commutative = head.commutative != 0;
    i.what.idempotent = head.idempotent != 0;
    i.what.round_time = time_ns(head.round_time);
    i.bytes = head.bytes;
    i.type = static_cast<std::int32_t>(head.type);
    i.op = static_cast<std::int32_t>(head.op);
    i.observed = head.observed != 0;
    std::span<const std::int64_t> rest = text.subspan(numbers_in<announcement_head>());
    const auto next = [&rest](auto size) {
        const auto part = rest.first(static_cast<std::size_t>(size));
        rest = rest.subspan(part.size());
        return part;
    };
    for (const std::int64_t k : next(head.radix_size)) i.what.radix.push_back(static_cast<std::int32_t>(k));
    for (const std::int64_t h : next(head.hosts_size)) i.what.hosts.push_back(static_cast<std::int32_t>(h));
    for (const std::int64_t t : rest) i.what.arrivals.emplace_back(t);
    return {static_cast<std::uint64_t>(head.number), i};
}

}  // namespace rubato
