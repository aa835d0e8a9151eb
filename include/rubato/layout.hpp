// How large a schedule's blocks are and where they lie, in units: bytes where data is only moved, elements where it is
// combined.
#pragma once

#include "rubato/schedule.hpp"

#include <algorithm>
#include <span>
#include <vector>

namespace rubato {

/// n units cut into `parts` nearly equal ones: the units before part i. Earlier parts are never smaller.
constexpr std::int64_t part_offset(std::int64_t n, std::uint32_t parts, std::uint32_t i) {
    return n / parts * i + std::min<std::int64_t>(i, n % parts);
}

/// The chunks of one buffer. Either all alike and one after the other, or each of its own size at its own place.
struct chunk_table {
    std::int64_t units = 0;               ///< of each chunk, when `counts` is empty
    std::vector<std::int64_t> counts{};   ///< units of each chunk
    std::vector<std::int64_t> offsets{};  ///< units before each chunk

    static chunk_table uniform(std::int64_t units) { return {units, {}, {}}; }
    /// Chunks of their own sizes, one after the other.
    static chunk_table packed(std::vector<std::int64_t> counts) {
        chunk_table t{0, std::move(counts), {}};
        std::int64_t at = 0;
        for (const std::int64_t n : t.counts) {
            t.offsets.push_back(at);
            at += n;
        }
        return t;
    }

    std::int64_t offset(std::uint32_t parts, block b) const {
        const std::uint32_t chunk = b / parts;
        return counts.empty() ? units * chunk + part_offset(units, parts, b % parts)
                              : offsets[chunk] + part_offset(counts[chunk], parts, b % parts);
    }
    std::int64_t length(std::uint32_t parts, block first, std::uint32_t count) const {
        if (count == 0) return 0;
        if (counts.empty() && parts == 1) return units * count;
        if (counts.empty()) return offset(parts, first + count) - offset(parts, first);
        std::int64_t sum = 0;
        for (block b = first; b < first + count; ++b) {
            const std::int64_t n = counts[b / parts];
            sum += part_offset(n, parts, b % parts + 1) - part_offset(n, parts, b % parts);
        }
        return sum;
    }
};

/// Sizes and places of one rank's blocks. Scratch blocks of an irregular collective are measured by its output, or
/// output and scratch are both measured by its input (collective_traits::measured_by_input).
struct layout {
    chunk_table input{};
    chunk_table output{};
    bool by_input = false;
    /// Of a v-form: data of no length is not sent. Equal on all ranks, or they would wait for each other.
    bool skips_empty = false;

    static layout uniform(std::int64_t units_per_chunk) {
        return {chunk_table::uniform(units_per_chunk), chunk_table::uniform(units_per_chunk)};
    }

    /// The layout of rank `me` in a reduce_scatter with these counts.
    static layout reduce_scatter(std::vector<std::int64_t> counts, std::int32_t me) {
        const std::int64_t mine = counts[static_cast<std::size_t>(me)];
        return {chunk_table::packed(std::move(counts)), chunk_table::uniform(mine), true};
    }

    /// Where blocks of the input or output lie.
    const chunk_table& table(buffer b) const { return b == buffer::input ? input : output; }
    /// How large blocks of a shape are.
    const chunk_table& sizes(buffer b) const { return by_input ? input : table(b); }

    /// Units that a step moves.
    std::int64_t length(const schedule& s, const step& t) const {
        return sizes(t.kind == step_kind::send ? t.from : t.to).length(s.parts, t.shape, t.count);
    }
    /// Units before each scratch block; a last entry has the sum of all.
    void scratch_offsets(const schedule& s, std::vector<std::int64_t>& offsets) const {
        offsets.assign(s.scratch.size() + 1, 0);
        for (std::size_t i = 0; i < s.scratch.size(); ++i)
            offsets[i + 1] = offsets[i] + sizes(buffer::scratch).length(s.parts, s.scratch[i], 1);
    }
    std::int64_t scratch_units(const schedule& s) const {
        std::int64_t sum = 0;
        for (const block b : s.scratch) sum += sizes(buffer::scratch).length(s.parts, b, 1);
        return sum;
    }
};

}  // namespace rubato
