#include "schedules/schedule/promises.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <utility>

namespace rubato::schedules {

contributions contributions::interval(std::int32_t ranks, std::int32_t low, std::int32_t high) {
    contributions c{std::vector<bool>(static_cast<std::size_t>(ranks)), low, high, true};
    std::fill(c.from.begin() + low, c.from.begin() + high + 1, true);
    return c;
}

contributions contributions::join(const contributions& left, const contributions& right) {
    contributions sum = right;
    for (std::size_t c = 0; c < sum.from.size(); ++c)
        if (left.from[c]) sum.from[c] = true;
    sum.in_order = left.in_order && right.in_order && left.high < right.low;
    sum.low = std::min(left.low, right.low);
    sum.high = std::max(left.high, right.high);
    return sum;
}

std::optional<std::size_t> contributions::in_both(const contributions& left, const contributions& right) {
    for (std::size_t c = 0; c < left.from.size(); ++c)
        if (left.from[c] && right.from[c]) return c;
    return std::nullopt;
}

std::string to_string(const value& v) {
    const contributions& by = *v.by;
    std::vector<std::size_t> ranks;
    for (std::size_t r = 0; r < by.from.size(); ++r)
        if (by.from[r]) ranks.push_back(r);
    if (by.in_order && ranks.size() > 1 && std::cmp_equal(ranks.size(), by.high - by.low + 1))
        return fmt::format("input block {} of {}..{}", v.origin, by.low, by.high);
    return fmt::format("input block {} of {}", v.origin, fmt::join(ranks, ","));
}

bool promises::gives(std::int32_t r, buffer b) const {
    return b == buffer::input ? t_.has_input(r, p_.root.value) : t_.has_output(r, p_.root.value);
}

std::size_t promises::chunks(std::int32_t r, buffer b) const {
    return static_cast<std::size_t>(b == buffer::input ? p_.input_chunks(rank(r)) : p_.output_chunks(rank(r)));
}

std::size_t promises::shapes(std::int32_t r, buffer b) const {
    if ((equal_ || t_.on_graph) && !t_.irregular) return SIZE_MAX;  // one chunk is as good as another
    // If chunks are equal, or the input measures all, any rank's chunk may be the shape; else only the buffer's own.
    return (t_.irregular && !t_.measured_by_input() ? chunks(r, b) : static_cast<std::size_t>(p_.ranks)) * parts_;
}

bool promises::tells_size(std::int32_t r, block shape) const {
    // Only the root of a gatherv knows the sizes of others' chunks, and a scatterv's output is the rank's own chunk.
    return !t_.irregular || t_.has_output(r, p_.root.value) || shape / parts_ == static_cast<block>(r);
}

size_key promises::size(std::int32_t r, buffer where, block shape) const {
    if (!t_.irregular) return {equal_ ? 0 : shape % parts_, 0};
    const bool input = where == buffer::input;
    const std::int64_t mine = std::int64_t{r} * parts_;
    if (t_.measured_by_input()) return {shape, 0};
    if (t_.on_graph) {
        if (input) return {r, shape};
        const auto from = sent_as(r, shape);
        return from ? size_key(*from) : size_key{-1 - std::int64_t{r}, shape};
    }
    if (t_.wide_input && t_.wide_output)  // who sends it, and what of it
        return input ? size_key{r, shape} : size_key{shape / parts_, mine + shape % parts_};
    return {(input ? t_.wide_input : t_.wide_output) ? shape : mine + shape, 0};
}

value promises::made_of(block origin, std::int32_t low, std::int32_t high) const {
    return {origin, std::make_shared<contributions>(contributions::interval(p_.ranks, low, high)), 0};
}

std::optional<std::pair<std::int32_t, block>> promises::sent_as(std::int32_t r, block b) const {
    const neighbour& from = p_.neighbours->sources(rank(r))[b / parts_];
    if (!from.exists()) return std::nullopt;
    return std::pair(from.rank, (t_.wide_input ? static_cast<block>(from.chunk) * parts_ : 0) + b % parts_);
}

std::optional<value> promises::combined_sources(std::int32_t r, block b) const {
    contributions c{.from = std::vector<bool>(static_cast<std::size_t>(p_.ranks)), .low = p_.ranks};
    for (const neighbour& n : p_.neighbours->sources(rank(r))) {
        if (!n.exists()) continue;
        c.from[static_cast<std::size_t>(n.rank)] = true;
        c.low = std::min(c.low, n.rank);
        c.high = std::max(c.high, n.rank);
    }
    if (c.high < 0) return std::nullopt;
    return value{b, std::make_shared<contributions>(std::move(c)), 0};
}

std::optional<value> promises::at_end(std::int32_t r, block b) const {
    const block part = b % parts_;
    const auto chunk = static_cast<std::int32_t>(b / parts_);
    const block mine = static_cast<block>(r) * parts_;
    const std::int32_t root = p_.root.value;
    const std::int32_t last = p_.ranks - 1;
    switch (p_.what) {
        case collective::barrier: break;  // has no output
        case collective::bcast: return made_of(b, root, root);
        case collective::reduce:
        case collective::allreduce: return made_of(b, 0, last);
        case collective::scatter:
        case collective::scatterv: return made_of(mine + b, root, root);
        case collective::gather:
        case collective::gatherv:
        case collective::allgather:
        case collective::allgatherv: return made_of(part, chunk, chunk);
        case collective::alltoall:
        case collective::alltoallv: return made_of(mine + part, chunk, chunk);
        case collective::reduce_scatter_block:
        case collective::reduce_scatter: return made_of(mine + b, 0, last);
        case collective::neighbor_allgather:
        case collective::neighbor_allgatherv:
        case collective::neighbor_alltoall:
        case collective::neighbor_alltoallv: {
            const auto from = sent_as(r, b);
            if (!from) return std::nullopt;
            return made_of(from->second, from->first, from->first);
        }
        case collective::neighbor_reduce: return combined_sources(r, b);
        case collective::scan: return made_of(b, 0, r);
        case collective::exscan: return made_of(b, 0, r - 1);
    }
    return std::nullopt;
}

}  // namespace rubato::schedules
