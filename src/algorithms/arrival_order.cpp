#include "arrival_order.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace rubato {
namespace {

/// Whether a gap lasts so many rounds. Counted in rounds, as many of long ones are more nanoseconds than fit.
bool lasts(const problem& p, time_ns gap, std::int64_t rounds) {
    return gap > time_ns{} && gap / std::max(p.round_time, time_ns{1}) >= rounds;
}

}  // namespace

time_ns arrival(const problem& p, rank r) {
    return p.arrivals.empty() ? time_ns{} : p.arrivals[static_cast<std::size_t>(r.value)];
}

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

std::vector<rank> line_up(const problem& p) {
    std::vector<rank> line;
    for (rank r; r.value < p.ranks; ++r.value) line.push_back(r);
    std::ranges::stable_sort(line, {}, [&p](rank r) { return arrival(p, r); });
    return line;
}

bool comes_alone(const problem& p, const std::vector<rank>& line, std::int64_t rounds) {
    if (line.size() < 2) return false;
    return lasts(p, arrival(p, line.back()) - arrival(p, line[line.size() - 2]), rounds);
}

bool has_straggler(const problem& p, const std::vector<rank>& line) {
    return comes_alone(p, line, std::int64_t{2} * ceil_log2(p.ranks));
}

all_but_one::all_but_one(const problem& p, rank one) {
    for (rank r; r.value < p.ranks; ++r.value)
        if (r != one) who.push_back(r);
}

rank all_but_one::place(rank r) const {
    return rank(static_cast<std::int32_t>(std::ranges::lower_bound(who, r) - who.begin()));
}

problem all_but_one::among(const problem& p, collective what) const {
    problem q = p;
    q.what = what;
    q.ranks = p.ranks - 1;
    q.root = rank(q.ranks - 1);
    q.arrivals.clear();
    q.hosts.clear();
    return q;
}

std::vector<joining> joining_groups(const problem& p, const std::vector<rank>& line,
                                    const std::function<std::int64_t(std::size_t)>& rounds) {
    std::vector<joining> groups{{0, 1}};
    for (std::size_t i = 1; i < line.size(); ++i) {
        const time_ns gap = arrival(p, line[i]) - arrival(p, line[i - 1]);
        if (lasts(p, gap, rounds(i)))
            groups.push_back({i, i + 1});
        else
            groups.back().end = i + 1;
    }
    return groups;
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

std::vector<double> since_first(const problem& p, const std::vector<rank>& line) {
    if (p.arrivals.empty()) return std::vector<double>(line.size());
    const auto when = [&](rank r) { return p.arrivals[static_cast<std::size_t>(r.value)]; };
    std::vector<double> arrivals;
    arrivals.reserve(line.size());
    for (const rank r : line) arrivals.push_back(static_cast<double>((when(r) - when(line[0])).count()));
    return arrivals;
}

}  // namespace rubato
