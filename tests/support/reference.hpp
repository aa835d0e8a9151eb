// What each collective must give, computed the slow way, on elements whose operator does not commute.
#pragma once

#include "rubato/layout.hpp"
#include "rubato/problem.hpp"

#include <cstdint>
#include <set>
#include <vector>

namespace rubato::testing {

/// x -> slope * x + shift, modulo a prime; `then` composes such maps, which does not commute.
struct affine {
    std::uint64_t slope = 1;
    std::uint64_t shift = 0;

    static constexpr std::uint64_t prime = 2147483647;
    bool operator==(const affine&) const = default;
};
inline affine then(const affine& left, const affine& right) {
    return {left.slope * right.slope % affine::prime, (left.slope * right.shift + left.shift) % affine::prime};
}
/// Shifts alone commute.
inline affine element(std::int32_t rank, std::int64_t unit, bool commutative) {
    const std::uint64_t x =
        static_cast<std::uint64_t>(rank) * 1000003 + static_cast<std::uint64_t>(unit) * 7919 + 12345;
    return {commutative ? 1 : x % 1000 + 2, x % affine::prime};
}

/// The layout of rank r when chunks have `units` units, or uneven ones around that for v-forms.
inline layout sized(const problem& p, std::int32_t r, std::int64_t units) {
    if (!traits(p.what).irregular) return layout::uniform(units);
    const auto size = [units](std::int64_t from, std::int64_t to) { return units * ((from * 3 + to * 5 + 1) % 4) / 2; };
    std::vector<std::int64_t> in, out;
    if (p.neighbours) {
        const bool wide = traits(p.what).wide_input;
        const auto edge = [&](std::int32_t from, std::int32_t chunk) { return size(from, wide ? chunk : 0); };
        for (std::int32_t i = 0; i < p.input_chunks(rank(r)); ++i) in.push_back(edge(r, i));
        for (const neighbour& n : p.neighbours->sources(rank(r)))
            out.push_back(n.exists() ? edge(n.rank, n.chunk) : units);
        return {chunk_table::packed(in), chunk_table::packed(out)};
    }
    if (p.what == collective::reduce_scatter) {
        for (std::int32_t c = 0; c < p.ranks; ++c) in.push_back(size(c, 0));
        return layout::reduce_scatter(std::move(in), r);
    }
    for (std::int32_t c = 0; c < p.ranks; ++c) {
        switch (p.what) {
            case collective::scatterv: in.push_back(size(0, c)); break;
            case collective::alltoallv:
                in.push_back(size(r, c));
                out.push_back(size(c, r));
                break;
            default: out.push_back(size(c, 0)); break;
        }
    }
    if (p.what == collective::scatterv) out.push_back(size(0, r));
    if (p.what == collective::gatherv || p.what == collective::allgatherv) in.push_back(size(r, 0));
    return {chunk_table::packed(in), chunk_table::packed(out)};
}

inline layout layout_of(const problem& p, std::int32_t r, std::int64_t units) {
    layout l = sized(p, r, units);
    l.skips_empty = traits(p.what).skips_empty();
    return l;
}

inline std::int64_t units_in(const chunk_table& t, std::int32_t chunks) {
    if (t.counts.empty()) return t.units * chunks;
    std::int64_t sum = 0;
    for (const std::int64_t n : t.counts) sum += n;
    return sum;
}

/// What unit u of rank r's output must be; empty: nothing is promised.
inline std::vector<affine> expected_output(const problem& p, std::int32_t r, std::int64_t units) {
    const layout mine = layout_of(p, r, units);
    const std::int32_t chunks = p.output_chunks(rank(r));
    const std::int64_t n = units_in(mine.output, chunks);
    const auto in = [&](std::int32_t rank, std::int64_t unit) { return element(rank, unit, p.commutative); };
    const auto fold = [&](std::int32_t first, std::int32_t last, std::int64_t unit) {
        affine sum = in(first, unit);
        for (std::int32_t k = first + 1; k <= last; ++k) sum = then(sum, in(k, unit));
        return sum;
    };
    const auto offset = [&](const chunk_table& t, std::int32_t chunk) {
        return t.counts.empty() ? t.units * chunk : t.offsets[static_cast<std::size_t>(chunk)];
    };
    const bool at_root = r == p.root.value;
    std::vector<affine> out;
    std::int32_t chunk = 0;
    for (std::int64_t u = 0; u < n; ++u) {
        while (chunk + 1 < chunks && u >= offset(mine.output, chunk + 1)) ++chunk;
        const std::int64_t within = u - offset(mine.output, chunk);
        switch (p.what) {
            case collective::barrier: return {};
            case collective::bcast:
                if (at_root) return {};
                out.push_back(in(p.root.value, u));
                break;
            case collective::reduce:
                if (!at_root) return {};
                out.push_back(fold(0, p.ranks - 1, u));
                break;
            case collective::allreduce: out.push_back(fold(0, p.ranks - 1, u)); break;
            case collective::scatter:
            case collective::scatterv:
                out.push_back(in(p.root.value, offset(layout_of(p, p.root.value, units).input, r) + u));
                break;
            case collective::gather:
            case collective::gatherv:
                if (!at_root) return {};
                out.push_back(in(chunk, within));
                break;
            case collective::allgather:
            case collective::allgatherv: out.push_back(in(chunk, within)); break;
            case collective::alltoall:
            case collective::alltoallv:
                out.push_back(in(chunk, offset(layout_of(p, chunk, units).input, r) + within));
                break;
            case collective::reduce_scatter_block:
            case collective::reduce_scatter: out.push_back(fold(0, p.ranks - 1, offset(mine.input, r) + u)); break;
            case collective::neighbor_allgather:
            case collective::neighbor_allgatherv:
            case collective::neighbor_alltoall:
            case collective::neighbor_alltoallv: {
                const neighbour& from = p.neighbours->sources(rubato::rank(r))[static_cast<std::size_t>(chunk)];
                const std::int64_t first = traits(p.what).wide_input && from.exists()
                                               ? offset(layout_of(p, from.rank, units).input, from.chunk)
                                               : 0;
                out.push_back(from.exists() ? in(from.rank, first + within) : affine{});
                break;
            }
            case collective::neighbor_reduce: {
                std::set<std::int32_t> sources;
                for (const neighbour& s : p.neighbours->sources(rubato::rank(r)))
                    if (s.exists()) sources.insert(s.rank);
                if (sources.empty()) return {};
                affine sum{};
                for (const std::int32_t from : sources) sum = then(sum, in(from, u));
                out.push_back(sum);
                break;
            }
            case collective::scan: out.push_back(fold(0, r, u)); break;
            case collective::exscan:
                if (r == 0) return {};
                out.push_back(fold(0, r - 1, u));
                break;
        }
    }
    return out;
}

}  // namespace rubato::testing
