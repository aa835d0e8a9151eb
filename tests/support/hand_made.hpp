// Schedules written out for tests whose numbers can be worked out by hand.
#pragma once

#include "rubato/builder.hpp"

#include <cstdint>
#include <vector>

namespace rubato::hand_made {

/// One schedule per rank; `write` lists the steps of one.
template <class Write>
std::vector<schedule> all_ranks(collective what, std::int32_t ranks, std::uint32_t parts, Write write) {
    problem p;
    p.what = what;
    p.ranks = ranks;
    std::vector<schedule> all;
    for (std::int32_t r = 0; r < ranks; ++r) {
        builder b(p, rank(r), parts);
        write(b, r);
        all.push_back(std::move(b).finish());
    }
    return all;
}

/// Rank 0 sends to everybody.
inline std::vector<schedule> flat_bcast(std::int32_t ranks) {
    return all_ranks(collective::bcast, ranks, 1, [ranks](builder& b, std::int32_t r) {
        if (r > 0) b.recv(rank(0), b.output());
        for (std::int32_t to = 1; r == 0 && to < ranks; ++to) b.send(rank(to), b.input());
    });
}

/// Everybody sends to rank 0.
inline std::vector<schedule> flat_gather(std::int32_t ranks) {
    return all_ranks(collective::gather, ranks, 1, [ranks](builder& b, std::int32_t r) {
        if (r > 0) b.send(rank(0), b.input());
        for (std::int32_t from = 1; r == 0 && from < ranks; ++from)
            b.recv(rank(from), b.output(static_cast<std::uint32_t>(from)));
    });
}

/// Rank r passes on to ranks kr+1 to kr+k.
inline std::vector<schedule> kary_bcast(std::int32_t ranks, std::int32_t k) {
    return all_ranks(collective::bcast, ranks, 1, [=](builder& b, std::int32_t r) {
        if (r > 0) b.recv(rank((r - 1) / k), b.output());
        for (std::int32_t to = k * r + 1; to <= k * r + k && to < ranks; ++to)
            b.send(rank(to), r > 0 ? b.output() : b.input());
    });
}

/// Rank r, with a subtree of n ranks, hands the upper half of what it holds to rank r + n/2. For powers of two.
inline std::vector<schedule> binomial_scatter(std::int32_t ranks) {
    return all_ranks(collective::scatter, ranks, 1, [ranks](builder& b, std::int32_t r) {
        const std::int32_t subtree = r == 0 ? ranks : r & -r;
        const auto n = static_cast<std::uint32_t>(subtree);
        const auto me = static_cast<std::uint32_t>(r);
        slice held = r == 0 ? b.input(0, n) : subtree == 1 ? b.output() : b.scratch_chunks(n, me);
        if (r > 0) b.recv(rank(r - subtree), held);
        for (std::uint32_t half = n / 2; half > 0; half /= 2)
            b.send(rank(r + static_cast<std::int32_t>(half)), held.sub(half, half));
        b.copy(held.sub(0), b.output());
    });
}

/// Reduces along P-1, P-2, ..., 0, in N segments.
inline std::vector<schedule> chain_reduce(std::int32_t ranks, std::int32_t segments) {
    const auto parts = static_cast<std::uint32_t>(segments);
    return all_ranks(collective::reduce, ranks, parts, [=](builder& b, std::int32_t r) {
        const bool receives = r + 1 < ranks;
        const slice received = r == 0 ? b.output() : b.scratch(0, receives ? parts : 0);
        for (std::uint32_t s = 0; s < parts; ++s) {
            if (receives) {
                b.recv(rank(r + 1), received.sub(s));
                b.combine(b.input().sub(s), received.sub(s));
            }
            if (r > 0) b.send(rank(r - 1), receives ? received.sub(s) : b.input().sub(s));
        }
    });
}

}  // namespace rubato::hand_made
