#include "rubato/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace rubato {
namespace {

std::string place(buffer b, block first, std::uint32_t count) {
    if (count == 0) return "nothing";
    static constexpr std::array names{"input", "output", "scratch"};
    const char* name = names[static_cast<std::size_t>(b)];
    if (count == 1) return fmt::format("{}[{}]", name, first);
    return fmt::format("{}[{}..{}]", name, first, first + count - 1);
}

struct block_run {
    block first;
    block end;
};

bool reads_output(const step& t) { return t.reads() && t.from == buffer::output; }
bool writes_output(const step& t) { return t.writes() && t.to == buffer::output; }
block_run source(const step& t) { return {t.source, t.source + t.count}; }
block_run target(const step& t) { return {t.target, t.target + t.count}; }

/// Calls `f(step, blocks)` for every run of output blocks that a step reads or writes.
template <class F>
void for_each_access(const schedule& s, F f) {
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
        if (reads_output(s.steps[i])) f(i, source(s.steps[i]));
        if (writes_output(s.steps[i])) f(i, target(s.steps[i]));
    }
}

/// The steps that have to wait for the rank even if the output is in scratch.
std::vector<bool> steps_of_the_arrived(const schedule& s, const std::vector<std::uint32_t>& accesses) {
    std::vector<bool> wait(s.steps.size());
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
        const step& t = s.steps[i];
        const auto on = s.dependencies_of(i);
        wait[i] = (t.kind != step_kind::recv && t.from == buffer::input) ||
                  std::ranges::any_of(on, [&wait](std::uint32_t d) { return wait[d]; });
    }
    std::vector<bool> awaited(s.steps.size());
    for (const std::uint32_t d : s.dependencies) awaited[d] = true;
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
        const step& t = s.steps[i];
        if (t.kind != step_kind::copy || !writes_output(t) || awaited[i]) continue;
        const block_run r = target(t);
        const bool nobody_else =
            std::all_of(accesses.begin() + r.first, accesses.begin() + r.end, [](std::uint32_t n) { return n == 1; });
        wait[i] = wait[i] || nobody_else;
    }
    return wait;
}

/// Whether each output block needs a place in scratch. All blocks that one step moves are in one buffer.
std::vector<bool> blocks_to_move(const schedule& s) {
    std::size_t blocks = 0;
    for_each_access(s, [&](std::size_t, block_run r) { blocks = std::max<std::size_t>(blocks, r.end); });
    std::vector<std::uint32_t> accesses(blocks);
    for_each_access(s, [&](std::size_t, block_run r) {
        for (block b = r.first; b < r.end; ++b) ++accesses[b];
    });
    const std::vector<bool> waits = steps_of_the_arrived(s, accesses);
    std::vector<bool> moves(blocks);
    for (bool changed = true; changed;) {
        changed = false;
        for_each_access(s, [&](std::size_t i, block_run r) {
            const auto first = moves.begin() + r.first;
            const auto end = moves.begin() + r.end;
            if ((waits[i] && std::find(first, end, true) == end) || std::find(first, end, false) == end) return;
            std::fill(first, end, true);
            changed = true;
        });
    }
    return moves;
}

}  // namespace

std::size_t hash(const schedule& s) {
    std::uint64_t h = 0xcbf29ce484222325U;
    const auto mix = [&h](std::uint64_t v) {
        h = (h ^ v) * 0x100000001b3U;
        h ^= h >> 29;
    };
    mix(s.parts);
    for (const block b : s.scratch) mix(b);
    for (const step& t : s.steps) {
        mix(static_cast<std::uint64_t>(t.kind) << 16 | static_cast<std::uint64_t>(t.from) << 8 |
            static_cast<std::uint64_t>(t.to));
        mix(std::uint64_t{t.source} << 32 | t.target);
        mix(std::uint64_t{t.shape} << 32 | t.count);
        mix(std::uint64_t{static_cast<std::uint32_t>(t.peer)} << 32 | t.message);
    }
    for (const std::uint32_t o : s.first_dependency) mix(o);
    for (const std::uint32_t d : s.dependencies) mix(d);
    return h;
}

std::string to_string(const step& s) {
    switch (s.kind) {
        case step_kind::send:
            return fmt::format("send {} to {} (message {})", place(s.from, s.source, s.count), s.peer, s.message);
        case step_kind::recv:
            return fmt::format("recv {} from {} (message {})", place(s.to, s.target, s.count), s.peer, s.message);
        case step_kind::combine:
            return fmt::format("combine {} into {}", place(s.from, s.source, s.count), place(s.to, s.target, s.count));
        case step_kind::copy:
            return fmt::format("copy {} to {}", place(s.from, s.source, s.count), place(s.to, s.target, s.count));
    }
    return "?";
}

std::string to_string(const schedule& s) {
    std::string out;
    for (std::size_t i = 0; i < s.steps.size(); ++i) {
        const auto waits = s.dependencies_of(i);
        out += fmt::format("{:>4}  {}", i, to_string(s.steps[i]));
        if (!waits.empty()) out += fmt::format("  after {}", fmt::join(waits, ", "));
        out += '\n';
    }
    return out;
}

/// The form of a schedule that can begin before its rank arrives: the same messages, but what would be written to the
/// output is in scratch until the rank arrives.
///
/// Not all of the output needs a place in scratch. Blocks that are touched only by steps which wait for the rank's
/// input anyway, or by one copy that no other step waits for, stay in the output. The last copies are listed at the
/// end, so that they delay nothing; there is one for each step that wrote a result, so that each result is copied at
/// once.
schedule early_form(const schedule& s) {
    const std::vector<bool> moves = blocks_to_move(s);
    schedule result = s;
    std::vector<block> shape(moves.size());
    for (const step& t : s.steps)
        for (block b = t.target; writes_output(t) && b < t.target + t.count; ++b) shape[b] = t.shape + b - t.target;
    std::vector<block> place(moves.size());  // in scratch
    for (block b = 0; b < moves.size(); ++b) {
        if (!moves[b]) continue;
        place[b] = static_cast<block>(result.scratch.size());
        result.scratch.push_back(shape[b]);
    }
    std::vector<std::uint32_t> writer(moves.size());  // the last one
    for (std::uint32_t i = 0; i < s.steps.size(); ++i) {
        step& t = result.steps[i];
        if (reads_output(t) && moves[t.source]) {
            t.from = buffer::scratch;
            t.source = place[t.source];
        }
        if (writes_output(t) && moves[t.target]) {
            std::fill_n(writer.begin() + t.target, t.count, i);
            t.to = buffer::scratch;
            t.target = place[t.target];
        }
    }
    for (block b = 0; b < moves.size();) {
        block end = b + 1;
        if (moves[b]) {
            while (end < moves.size() && moves[end] && writer[end] == writer[b]) ++end;
            result.steps.push_back({step_kind::copy, buffer::scratch, buffer::output, place[b], b, shape[b], end - b});
            result.dependencies.push_back(writer[b]);
            result.first_dependency.push_back(static_cast<std::uint32_t>(result.dependencies.size()));
        }
        b = end;
    }
    return result;
}

}  // namespace rubato
