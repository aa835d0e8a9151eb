// Columns of bits, one bit per segment, and a segment tree over them: a node holds the union of both children.
// Highway's widest vectors of what the compiler may use do the work (no dispatch at run time).
#pragma once

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace rubato::schedules::segment_tree {

namespace hn = hwy::HWY_NAMESPACE;
using word = std::uint64_t;
constexpr hn::ScalableTag<word> lanes;
constexpr std::size_t most_lanes = hn::MaxLanes(lanes);

/// Columns of as many bits as there are segments, filled up to whole vectors.
class columns {
public:
    columns(std::size_t count, std::uint32_t segments)
        : words_(hwy::RoundUpTo((segments + 63) / 64, most_lanes)), bits_(count * words_) {}

    std::size_t words() const { return words_; }
    word* operator[](std::size_t i) { return bits_.data() + i * words_; }
    const word* operator[](std::size_t i) const { return bits_.data() + i * words_; }

private:
    std::size_t words_;
    std::vector<word> bits_;
};

inline word bit_of(std::uint32_t segment) { return word{1} << segment % 64; }
inline bool has(const word* column, std::uint32_t segment) { return (column[segment / 64] & bit_of(segment)) != 0; }

class sender_tree {
public:
    sender_tree(std::size_t leaves, std::uint32_t segments)
        : leaves_(std::bit_ceil(leaves)), nodes_(2 * leaves_, segments) {}

    static constexpr std::size_t top = 1;
    std::size_t leaf(std::size_t place) const { return leaves_ + place; }
    std::size_t place(std::size_t leaf) const { return leaf - leaves_; }

    /// Without the nodes above.
    void write(std::size_t leaf, const word* column) { std::copy_n(column, nodes_.words(), nodes_[leaf]); }
    void clear(std::size_t leaf) { std::fill_n(nodes_[leaf], nodes_.words(), word{0}); }

    /// The nodes above leaves that changed, given in order.
    HWY_ATTR void rebuild_above(std::vector<std::size_t>& changed) {
        while (!changed.empty() && changed.front() > top) {
            std::size_t parents = 0;
            for (const std::size_t node : changed) {
                if (parents > 0 && changed[parents - 1] == node / 2) continue;
                changed[parents++] = node / 2;
                unite(node / 2);
            }
            changed.resize(parents);
        }
    }
    HWY_ATTR void clear_and_climb(std::size_t leaf) {
        clear(leaf);
        for (std::size_t node = leaf / 2; node > 0 && unite(node);) node /= 2;
    }
    void clear_bit_and_climb(std::size_t leaf, std::uint32_t segment) {
        for (std::size_t node = leaf; node > 0 && has(nodes_[node], segment); node /= 2) {
            nodes_[node][segment / 64] &= ~bit_of(segment);
            if (node > top && has(nodes_[node ^ 1], segment)) return;
        }
    }

    /// Listing 3 and the search for a bit: the lowest segment in `also` or any leaf but this (none: top) that is in
    /// `wanted`; null is no such column. -1 if there is none.
    HWY_ATTR std::int64_t first_segment(std::size_t leaf, const word* also, const word* wanted) const {
        for (std::size_t w = 0; w < nodes_.words(); w += hn::Lanes(lanes)) {
            auto found = also != nullptr ? hn::LoadU(lanes, also + w) : hn::Zero(lanes);
            if (leaf == top) found = hn::Or(found, hn::LoadU(lanes, nodes_[top] + w));
            for (std::size_t node = leaf; node > top; node /= 2)
                found = hn::Or(found, hn::LoadU(lanes, nodes_[node ^ 1] + w));
            if (wanted != nullptr) found = hn::And(found, hn::LoadU(lanes, wanted + w));
            if (hn::AllTrue(lanes, hn::Eq(found, hn::Zero(lanes)))) continue;
            HWY_ALIGN word part[most_lanes];
            hn::Store(found, lanes, part);
            std::size_t k = 0;
            while (part[k] == 0) ++k;
            return static_cast<std::int64_t>((w + k) * 64) + std::countr_zero(part[k]);
        }
        return -1;
    }

    /// Listings 4 and 5: the first leaf but this that has the segment; there is one.
    std::size_t first_leaf(std::uint32_t segment, std::size_t but) const {
        const std::size_t leaf = descend(top, segment);
        if (leaf != but) return leaf;
        std::size_t node = leaf;
        while (node % 2 == 1 || !has(nodes_[node + 1], segment)) node /= 2;
        return descend(node + 1, segment);
    }

private:
    /// Whether that changed the node.
    HWY_ATTR bool unite(std::size_t node) {
        const word* left = nodes_[2 * node];
        const word* right = nodes_[2 * node + 1];
        word* out = nodes_[node];
        auto changed = hn::Zero(lanes);
        for (std::size_t w = 0; w < nodes_.words(); w += hn::Lanes(lanes)) {
            const auto both = hn::Or(hn::LoadU(lanes, left + w), hn::LoadU(lanes, right + w));
            changed = hn::Or(changed, hn::Xor(both, hn::LoadU(lanes, out + w)));
            hn::StoreU(both, lanes, out + w);
        }
        return !hn::AllTrue(lanes, hn::Eq(changed, hn::Zero(lanes)));
    }
    std::size_t descend(std::size_t node, std::uint32_t segment) const {
        while (node < leaves_) node = 2 * node + (has(nodes_[2 * node], segment) ? 0 : 1);
        return node;
    }

    std::size_t leaves_;
    columns nodes_;  // the children of i are 2i and 2i+1; the top is 1
};

}  // namespace rubato::schedules::segment_tree
