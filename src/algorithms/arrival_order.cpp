#include "arrival_order.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace rubato {
namespace {

time_ns arrival(const problem& p, rank r) {
    return p.arrivals.empty() ? time_ns{} : p.arrivals[static_cast<std::size_t>(r.value)];
}

}  // namespace

std::vector<rank> others(const problem& p) {
    std::vector<rank> order;
    for (rank r; r.value < p.ranks; ++r.value)
        if (r != p.root) order.push_back(r);
    return order;
}

std::vector<rank> by_arrival(const problem& p) {
    std::vector<rank> order = others(p);
    std::ranges::stable_sort(order, {}, [&p](rank r) { return arrival(p, r); });
    return order;
}

bool others_together(const problem& p) {
    const auto when = [&p](rank r) { return arrival(p, r); };
    const std::vector<rank> all = others(p);
    return std::ranges::adjacent_find(all, std::not_equal_to<>(), when) == all.end();
}

void scatter_in_order(builder& b, const problem& p, rank me, std::span<const rank> order) {
    if (me != p.root) {
        b.recv(p.root, b.output());
        return;
    }
    for (const rank r : order) b.send(r, b.input(chunk_of(r)));
    b.copy(b.input(chunk_of(me)), b.output());
}

void gather_in_order(builder& b, const problem& p, rank me, std::span<const rank> order) {
    if (me != p.root) {
        const auto asked = b.recv(p.root, builder::nothing());
        b.send(p.root, b.input().sub(0), {asked});
        b.send(p.root, b.input().sub(1), {asked});
        return;
    }
    std::optional<builder::step_id> first_segment;
    for (const rank r : order) {
        if (first_segment)
            b.send(r, builder::nothing(), {*first_segment});
        else
            b.send(r, builder::nothing());
        const slice chunk = b.output(chunk_of(r));
        first_segment = b.recv(r, chunk.sub(0));
        b.recv(r, chunk.sub(1));
    }
    b.copy(b.input(), b.output(chunk_of(me)));
}

lined_up_tree::lined_up_tree(const problem& p, rank me, const std::vector<rank>& after_root) : line_{p.root} {
    line_.insert(line_.end(), after_root.begin(), after_root.end());
    mine_ = static_cast<std::size_t>(std::ranges::find(line_, me) - line_.begin());
}

std::optional<rank> lined_up_tree::parent() const {
    if (mine_ == 0) return std::nullopt;
    return line_[mine_ - std::bit_floor(mine_)];
}

std::vector<std::size_t> lined_up_tree::children(std::size_t at) const {
    std::vector<std::size_t> below;
    for (std::size_t step = at == 0 ? 1 : 2 * std::bit_floor(at); at + step < size(); step *= 2)
        below.push_back(at + step);
    return below;
}

void lined_up_tree::collect(std::size_t at, std::vector<rank>& ranks) const {
    ranks.push_back(line_[at]);
    for (const std::size_t child : children(at)) collect(child, ranks);
}

std::vector<lined_up_tree::branch> lined_up_tree::branches() const {
    std::vector<branch> all;
    for (const std::size_t child : children(mine_)) {
        all.push_back({line_[child], {}});
        collect(child, all.back().ranks);
    }
    return all;
}

std::vector<slice> chunk_runs(slice all, std::span<const rank> ranks) {
    const auto chunks = static_cast<std::int32_t>(all.count);
    std::vector<slice> runs;
    for (std::size_t i = 0; i < ranks.size();) {
        std::size_t end = i + 1;
        while (end < ranks.size() && ranks[end].value == ranks[end - 1].value + 1) ++end;
        runs.push_back(pieces(all, {0, chunks}, {ranks[i].value, ranks[end - 1].value + 1}));
        i = end;
    }
    return runs;
}

}  // namespace rubato
