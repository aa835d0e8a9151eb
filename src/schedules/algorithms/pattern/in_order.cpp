#include "schedules/algorithms/pattern/in_order.hpp"

#include <algorithm>
#include <bit>
#include <optional>

namespace rubato::schedules {

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

slice in_line(builder& b, slice input, std::span<const rank> ranks) {
    const std::vector<slice> runs = chunk_runs(input, ranks);
    if (runs.size() == 1) return runs.front();
    const slice packed = b.scratch_chunks(static_cast<std::uint32_t>(ranks.size()));
    std::uint32_t done = 0;
    for (const slice& run : runs) {
        b.copy(run, packed.sub(done, run.count));
        done += run.count;
    }
    return packed;
}

slice line_for(builder& b, slice output, std::span<const rank> ranks) {
    const std::vector<slice> runs = chunk_runs(output, ranks);
    return runs.size() == 1 ? runs.front() : b.scratch_chunks(static_cast<std::uint32_t>(ranks.size()));
}

void unpack_line(builder& b, slice line, slice output, std::span<const rank> ranks) {
    unpack(b, line, chunk_runs(output, ranks));
}

void take_parcels(builder& b, slice output, std::span<const parcel> parcels) {
    struct packed {
        slice line;
        std::vector<slice> places;
    };
    std::vector<packed> later;
    for (const auto& [from, ranks] : parcels) {
        std::vector<slice> runs = chunk_runs(output, ranks);
        const bool straight = runs.size() == 1;
        const slice line = straight ? runs.front() : b.scratch_chunks(static_cast<std::uint32_t>(ranks.size()));
        b.recv(from, line);
        if (!straight) later.push_back({line, std::move(runs)});
    }
    for (const packed& one : later) unpack(b, one.line, one.places);
}

lined_up_tree::lined_up_tree(rank root, rank me, const std::vector<rank>& after_root) : line_{root} {
    line_.insert(line_.end(), after_root.begin(), after_root.end());
    mine_ = static_cast<std::size_t>(std::ranges::find(line_, me) - line_.begin());
}

std::optional<rank> lined_up_tree::parent() const {
    if (mine_ == 0) return std::nullopt;
    return line_[mine_ - std::bit_floor(mine_)];
}

tree lined_up_tree::shape() const {
    tree t;
    t.parent = parent();
    for (const std::size_t child : children(mine_)) t.children.push_back(line_[child]);
    return t;
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

std::vector<parcel> lined_up_tree::branches() const {
    std::vector<parcel> all;
    for (const std::size_t child : children(mine_)) {
        all.push_back({line_[child], {}});
        collect(child, all.back().ranks);
    }
    return all;
}

void gather_lined_up(builder& b, rank me, const lined_up_tree& t, slice output) {
    std::vector<parcel> branches = t.branches();
    std::ranges::reverse(branches);  // they hand over in the reverse order
    if (!t.parent()) {
        take_parcels(b, output, branches);
        b.copy(b.input(), output.sub(chunk_of(me)));
        return;
    }
    std::uint32_t chunks = 1;
    for (const parcel& one : branches) chunks += static_cast<std::uint32_t>(one.ranks.size());
    const slice data = chunks == 1 ? b.input() : b.scratch_chunks(chunks);
    std::uint32_t end = chunks;
    for (const auto& [child, ranks] : branches) {
        const auto n = static_cast<std::uint32_t>(ranks.size());
        end -= n;
        b.recv(child, data.sub(end, n));
    }
    b.copy(b.input(), data.sub(0));
    b.send(*t.parent(), data);
}

}  // namespace rubato::schedules
