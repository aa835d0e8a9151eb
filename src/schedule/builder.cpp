#include "rubato/builder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

namespace rubato {

builder::builder(const problem& p, rank me, std::uint32_t parts) {
    assert(me.value >= 0 && me.value < p.ranks && parts > 0);
    result_.parts = parts;
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
    const auto first = static_cast<block>(result_.scratch.size());
    for (std::uint32_t i = 0; i < count; ++i) result_.scratch.push_back(shape + i);
    blocks(buffer::scratch) = result_.scratch.size();
    return {buffer::scratch, first, count, shape};
}

builder::step_id builder::send(rank to, slice data, std::initializer_list<step_id> after) {
    step s;
    s.kind = step_kind::send;
    s.from = data.where;
    s.source = data.first;
    s.shape = data.shape;
    s.count = data.count;
    s.peer = to.value;
    s.message = numbers_[to.value].first++;
    return add(s, std::span(after.begin(), after.size()));
}

builder::step_id builder::recv(rank from, slice data, std::initializer_list<step_id> after) {
    step s;
    s.kind = step_kind::recv;
    s.to = data.where;
    s.target = data.first;
    s.shape = data.shape;
    s.count = data.count;
    s.peer = from.value;
    s.message = numbers_[from.value].second++;
    return add(s, std::span(after.begin(), after.size()));
}

builder::step_id builder::combine(slice left, slice into) {
    assert(left.count == into.count);
    step s;
    s.kind = step_kind::combine;
    s.from = left.where;
    s.source = left.first;
    s.to = into.where;
    s.target = into.first;
    s.shape = into.shape;
    s.count = into.count;
    return add(s, {});
}

void builder::copy(slice from, slice to) {
    assert(from.count == to.count);
    if (from.where == to.where && from.first == to.first) return;
    step s;
    s.kind = step_kind::copy;
    s.from = from.where;
    s.source = from.first;
    s.to = to.where;
    s.target = to.first;
    // Sizes are those of the destination; a scratch slot may be larger than its data.
    s.shape = to.shape;
    s.count = to.count;
    add(s, {});
}

void builder::fence() {
    const auto now = static_cast<step_id>(result_.steps.size());
    if (now == fenced_) return;
    fence_.clear();
    for (step_id s = fenced_; s < now; ++s) fence_.push_back(s);
    fenced_ = now;
}

void builder::embed(const schedule& inner, std::span<const rank> who, slice input, slice output) {
    assert(inner.parts == parts());
    const auto scratch = static_cast<block>(result_.scratch.size());
    result_.scratch.insert(result_.scratch.end(), inner.scratch.begin(), inner.scratch.end());
    blocks(buffer::scratch) = result_.scratch.size();
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
            auto& [sent, received] = numbers_[s.peer];
            s.message = s.kind == step_kind::send ? sent++ : received++;
        }
        after.clear();
        for (const std::uint32_t d : inner.dependencies_of(i)) after.push_back(first + d);
        add(s, after);
    }
}

/// Makes a run begin at a block.
builder::history::iterator builder::cut(history& h, block at) {
    const auto after = h.upper_bound(at);
    const auto holding = std::prev(after);
    return holding->first == at ? holding : h.emplace_hint(after, at, holding->second);
}

builder::step_id builder::add(step s, std::span<const step_id> after) {
    const auto id = static_cast<step_id>(result_.steps.size());
    assert(s.kind == step_kind::recv || s.source + s.count <= blocks(s.from));
    assert(s.kind == step_kind::send || s.target + s.count <= blocks(s.to));
    waits_.assign(after.begin(), after.end());
    waits_.insert(waits_.end(), fence_.begin(), fence_.end());
    const bool reads_target = s.kind == step_kind::combine;

    if (s.reads() && s.from != buffer::input) {  // no step writes the input
        history& h = history_of(s.from);
        const auto first = cut(h, s.source);
        const auto end = cut(h, s.source + s.count);
        for (auto run = first; run != end; ++run) {
            if (run->second.writer >= 0) waits_.push_back(static_cast<step_id>(run->second.writer));
            run->second.readers.push_back(id);
        }
    }
    if (s.writes()) {
        history& h = history_of(s.to);
        const auto first = cut(h, s.target);
        const auto end = cut(h, s.target + s.count);
        for (auto run = first; run != end; ++run) {
            const auto& [writer, readers] = run->second;
            // Readers since the last write already waited for that write.
            if (writer >= 0 && (readers.empty() || reads_target)) waits_.push_back(static_cast<step_id>(writer));
            waits_.insert(waits_.end(), readers.begin(), readers.end());
        }
        first->second = {static_cast<std::int32_t>(id), {}};
        h.erase(std::next(first), end);
    }
    std::sort(waits_.begin(), waits_.end());
    waits_.erase(std::unique(waits_.begin(), waits_.end()), waits_.end());
    std::erase(waits_, id);

    result_.steps.push_back(s);
    result_.dependencies.insert(result_.dependencies.end(), waits_.begin(), waits_.end());
    result_.first_dependency.push_back(static_cast<std::uint32_t>(result_.dependencies.size()));
    return id;
}

schedule builder::finish() && { return std::move(result_); }

}  // namespace rubato
