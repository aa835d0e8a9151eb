#include "rubato/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace rubato {

builder::builder(const problem& p, rank me, std::uint32_t parts) {
    assert(me.value >= 0 && me.value < p.ranks && parts > 0);
    result_.parts = parts;
    for (const buffer b : {buffer::input, buffer::output}) history_of(b).emplace(0, access{});
    constexpr std::size_t some = 32;
    result_.steps.reserve(some);
    result_.first_dependency.reserve(some + 1);
    result_.dependencies.reserve(some);
    const collective_traits& t = traits(p.what);
    if (t.measured_by_input()) output_shape_ = static_cast<block>(me.value) * parts;
    blocks(buffer::input) = static_cast<std::size_t>(p.input_chunks(me)) * parts;
    blocks(buffer::output) = static_cast<std::size_t>(p.output_chunks(me)) * parts;
    if (std::max(blocks(buffer::input), blocks(buffer::output)) > UINT32_MAX)
        throw error(fmt::format("{} segments of each of {} chunks", parts, p.ranks), "that is too many to count",
                    "give fewer segments");
}

slice builder::input(std::uint32_t chunk, std::uint32_t n) const {
    return {buffer::input, chunk * parts(), n * parts(), chunk * parts()};
}

slice builder::output(std::uint32_t chunk, std::uint32_t n) const {
    return {buffer::output, chunk * parts(), n * parts(), output_shape_ + chunk * parts()};
}

slice builder::scratch(block shape, std::uint32_t count) {
    const block first = add_scratch(count);
    for (std::uint32_t i = 0; i < count; ++i) result_.scratch[first + i] = shape + i;
    return {buffer::scratch, first, count, shape};
}

/// New blocks, of no shape yet, are a run of their own.
block builder::add_scratch(std::size_t count) {
    const auto first = static_cast<block>(result_.scratch.size());
    result_.scratch.resize(first + count);
    blocks(buffer::scratch) = result_.scratch.size();
    history& h = history_of(buffer::scratch);
    if (count > 0) h.emplace_hint(h.end(), first, access{});
    return first;
}

builder::step_id builder::send(rank to, slice data, std::initializer_list<step_id> after) {
    return add({.kind = step_kind::send,
                .from = data.where,
                .source = data.first,
                .shape = data.shape,
                .count = data.count,
                .peer = to.value,
                .message = numbers_of(to.value).sent++},
               std::span(after.begin(), after.size()));
}

builder::step_id builder::recv(rank from, slice data, std::initializer_list<step_id> after) {
    return add({.kind = step_kind::recv,
                .to = data.where,
                .target = data.first,
                .shape = data.shape,
                .count = data.count,
                .peer = from.value,
                .message = numbers_of(from.value).received++},
               std::span(after.begin(), after.size()));
}

builder::step_id builder::combine(slice left, slice into) {
    assert(left.count == into.count);
    return add({step_kind::combine, left.where, into.where, left.first, into.first, into.shape, into.count}, {});
}

void builder::copy(slice from, slice to) {
    assert(from.count == to.count);
    if (from.where == to.where && from.first == to.first) return;
    // Sizes are those of the destination; a scratch slot may be larger than its data.
    add({step_kind::copy, from.where, to.where, from.first, to.first, to.shape, to.count}, {});
}

void builder::fence() {
    const auto now = static_cast<step_id>(result_.steps.size());
    if (now == fenced_) return;
    fence_ = fenced_;
    fenced_ = now;
}

void builder::embed(const schedule& inner, std::span<const rank> who, slice input, slice output) {
    assert(inner.parts == parts());
    const block scratch = add_scratch(inner.scratch.size());
    std::ranges::copy(inner.scratch, result_.scratch.begin() + scratch);
    const auto move = [&](buffer& where, block& at) {
        at += where == buffer::input ? input.first : where == buffer::output ? output.first : scratch;
        where = where == buffer::input ? input.where : where == buffer::output ? output.where : where;
    };
    const auto first = static_cast<step_id>(result_.steps.size());
    std::vector<step_id> after;
    for (std::size_t i = 0; i < inner.steps.size(); ++i) {
        step s = inner.steps[i];
        if (s.kind != step_kind::recv) move(s.from, s.source);
        if (s.kind != step_kind::send) move(s.to, s.target);
        if (s.is_message()) {
            s.peer = who[static_cast<std::size_t>(s.peer)].value;
            numbers& n = numbers_of(s.peer);
            s.message = s.kind == step_kind::send ? n.sent++ : n.received++;
        }
        after.clear();
        for (const std::uint32_t d : inner.dependencies_of(i)) after.push_back(first + d);
        add(s, after);
    }
}

builder::numbers& builder::numbers_of(std::int32_t peer) {
    const auto find = [this](std::int32_t p) -> numbers& {
        const std::size_t last = numbers_.size() - 1;
        std::size_t at = (static_cast<std::uint32_t>(p) * 0x9e3779b9U >> 20) & last;
        while (numbers_[at].peer != p && numbers_[at].peer >= 0) at = (at + 1) & last;
        return numbers_[at];
    };
    if (2 * peers_ >= numbers_.size()) {
        std::pmr::vector<numbers> old(std::max<std::size_t>(64, 4 * numbers_.size()), &memory_);
        std::swap(old, numbers_);
        for (const numbers& n : old)
            if (n.peer >= 0) find(n.peer) = n;
    }
    numbers& found = find(peer);
    if (found.peer < 0) {
        found.peer = peer;
        ++peers_;
    }
    return found;
}

/// Makes a run begin at a block, if it is not the end of the buffer.
builder::history::iterator builder::cut(buffer b, block at) {
    history& h = history_of(b);
    if (at == blocks(b)) return h.end();
    const auto from = h.lower_bound(at);
    if (from != h.end() && from->first == at) return from;
    return h.emplace_hint(from, at, std::prev(from)->second);
}

builder::step_id builder::add(const step& s, std::span<const step_id> after) {
    const auto id = static_cast<step_id>(result_.steps.size());
    assert(s.kind == step_kind::recv || s.source + s.count <= blocks(s.from));
    assert(s.kind == step_kind::send || s.target + s.count <= blocks(s.to));
    std::vector<step_id>& waits = result_.dependencies;
    const auto first_wait = static_cast<std::ptrdiff_t>(waits.size());
    waits.insert(waits.end(), after.begin(), after.end());
    for (step_id before = fence_; before < fenced_; ++before) waits.push_back(before);
    const bool reads_target = s.kind == step_kind::combine;

    if (s.reads() && s.from != buffer::input) {  // no step writes the input
        const auto first = cut(s.from, s.source);
        const auto end = cut(s.from, s.source + s.count);
        for (auto run = first; run != end; ++run) {
            if (run->second.writer != none) waits.push_back(run->second.writer);
            readers_.push_back({id, run->second.readers});
            run->second.readers = static_cast<std::uint32_t>(readers_.size() - 1);
        }
    }
    if (s.writes()) {
        const auto first = cut(s.to, s.target);
        const auto end = cut(s.to, s.target + s.count);
        auto run = first;
        do {
            const auto& [writer, readers] = run->second;
            // Readers since the last write already waited for that write.
            if (writer != none && (readers == none || reads_target)) waits.push_back(writer);
            for (std::uint32_t r = readers; r != none; r = readers_[r].before)
                if (readers_[r].step != id) waits.push_back(readers_[r].step);
            run = run == first ? std::next(run) : history_of(s.to).erase(run);
        } while (run != end);
        first->second = {id, none};
    }
    const auto waiting = waits.begin() + first_wait;
    if (waits.end() - waiting > 1) {
        std::sort(waiting, waits.end());
        waits.erase(std::unique(waiting, waits.end()), waits.end());
    }

    result_.steps.push_back(s);
    result_.first_dependency.push_back(static_cast<std::uint32_t>(waits.size()));
    return id;
}

schedule builder::finish() && { return std::move(result_); }

}  // namespace rubato
