#include "engine/mpi/buffers.hpp"

#include <algorithm>
#include <cstring>

namespace rubato::engine {
namespace {

/// Units of a buffer whose chunks lie one after the other.
std::int64_t total(const chunk_table& t, std::int32_t chunks) {
    std::int64_t sum = t.counts.empty() ? t.units * chunks : 0;
    for (const std::int64_t n : t.counts) sum += n;
    return sum;
}

std::byte* byte_at(const call_side& s, std::int64_t i) {
    return static_cast<std::byte*>(const_cast<void*>(s.address)) + i;
}

/// f(type, address of the first element, elements, first byte in the packed form) for each run of consecutive elements
/// that has data. `only`: of these chunks; empty: of all.
template <class F>
void for_each_run(const call_side& s, const std::vector<bool>& only, F f) {
    const type_info one = s.types.empty() ? inspect(s.type) : type_info{};
    const bool together = s.each.counts.empty() && only.empty();
    std::int64_t at = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(together ? std::min(s.wide, 1) : s.wide); ++i) {
        const type_info& t = s.types.empty() ? one : s.types[i];
        std::int64_t n = together ? s.count * s.wide : s.count;
        std::int64_t first = s.first + static_cast<std::int64_t>(i) * s.count;
        if (!s.each.counts.empty()) {
            n = s.each.counts[i];
            first = s.each.displacements[i];
        }
        const std::int64_t byte = s.types.empty() ? first * t.extent : first;
        if (n > 0 && t.size > 0 && (only.empty() || only[i])) f(t, byte_at(s, byte), n, at);
        at += n * t.size;
    }
}

/// The chunks of the output that a plan writes.
std::vector<bool> written_by(const schedule& s, std::int32_t chunks) {
    std::vector<bool> all(static_cast<std::size_t>(chunks));
    for (const step& t : s.steps)
        if (t.writes() && t.to == buffer::output)
            for (block b = t.target; b < t.target + t.count; ++b) all[b / s.parts] = true;
    return all;
}

}  // namespace

std::byte* workspace::reserve(std::size_t bytes) {
    if (bytes > size_) {
        memory_.reset();
        size_ = 0;
        memory_.reset(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{alignment})));
        size_ = bytes;
    }
    return memory_.get();
}

std::byte* workspace::reserve(const type_info& t, std::int64_t n) {
    const std::ptrdiff_t first = origin(t, n);
    constexpr auto step = static_cast<std::ptrdiff_t>(alignment);
    const std::ptrdiff_t shift = ((-first) % step + step) % step;
    return reserve(footprint(t, n) + alignment) + shift + first;
}

void buffers::bind(const call_facts& c, const plan& p, bool safe_in_place, MPI_Comm comm) {
    memory_ = {};
    layout_ = {};
    unit_ = {};
    staged_output_ = {};
    written_.clear();
    const collective_traits& t = c.traits();
    if (!t.moves_data()) return;
    const bool copy_input = c.in_place && !safe_in_place;
    if (t.reduces)
        bind_combined(c, copy_input, comm);
    else
        bind_moved(c, p, copy_input, comm);
    bind_scratch(p);
}

void buffers::bind_scratch(const plan& p) {
    const std::int64_t units = layout_.scratch_units(p.steps());
    if (units > 0) memory_.scratch = scratch_.reserve(unit_, units);
    memory_.scratch_stride = unit_.extent;
}

void buffers::bind_early(const layout& sizes, const type_info& unit, const plan& p) {
    memory_ = {};
    layout_ = sizes;
    unit_ = unit;
    memory_.input_stride = memory_.output_stride = unit.extent;
    staged_output_ = {};
    bind_scratch(p);
}

bool buffers::bind_after(const call_facts& c, const plan& p, bool safe_in_place, MPI_Comm comm) {
    // Compared before anything is bound: scratch must not move while messages are received into it.
    const layout now = c.sizes();
    const auto differ = [](const chunk_table& a, const chunk_table& b) {
        return a.units != b.units || a.counts != b.counts;
    };
    if (differ(layout_.input, now.input) || differ(layout_.output, now.output)) return false;
    bind(c, p, safe_in_place, comm);
    return true;
}

void buffers::bind_nowhere(const call_facts& c) {
    const auto room = [this](workspace& memory, const chunk_table& sizes, std::int32_t wide) {
        const std::int64_t units = total(sizes, wide);
        std::byte* const first = memory.reserve(unit_, units);
        std::memset(first - origin(unit_, units), 0, footprint(unit_, units));
        return first;
    };
    const auto chunks = [&c](const call_side& s, bool wide) {
        return c.traits().on_graph ? s.wide : wide ? c.ranks : 1;
    };
    memory_.input = room(input_, layout_.input, chunks(c.in, c.traits().wide_input));
    memory_.output = room(output_, layout_.output, chunks(c.out, c.traits().wide_output));
}

void buffers::bind_combined(const call_facts& c, bool copy_input, MPI_Comm comm) {
    unit_ = inspect(c.in.type);
    layout_ = c.sizes();
    memory_.input = byte_at(c.in, 0);
    memory_.output = c.out.used ? byte_at(c.out, 0) : nullptr;
    memory_.input_stride = memory_.output_stride = unit_.extent;
    const std::int64_t n = total(layout_.input, c.in.wide);
    if (!copy_input || n == 0) return;
    memory_.input = input_.reserve(unit_, n);
    copy_elements(unit_, c.in.address, memory_.input, n, comm);
}

void buffers::bind_moved(const call_facts& c, const plan& p, bool copy_input, MPI_Comm comm) {
    const call_side& in = c.in;
    const call_side& out = c.out;
    const bool stage_input = in.used && (copy_input || !in.is_dense());
    const bool stage_output = out.used && !out.is_dense();
    layout_.skips_empty = c.traits().skips_empty();
    layout_.input = in.in_bytes(stage_input);
    layout_.output = out.in_bytes(stage_output);
    if (in.used) memory_.input = byte_at(in, in.first * in.element);
    if (out.used) memory_.output = byte_at(out, out.first * out.element);
    if (stage_input) {
        memory_.input = input_.reserve(static_cast<std::size_t>(total(layout_.input, in.wide)));
        for_each_run(in, {}, [&](const type_info& type, const std::byte* first, std::int64_t n, std::int64_t at) {
            pack(type, first, n, memory_.input + at, comm);
        });
    }
    if (stage_output) {
        memory_.output = output_.reserve(static_cast<std::size_t>(total(layout_.output, out.wide)));
        // In place, the own chunk of a scatter's root is part of what the user sends, and stays as it is.
        if (!(c.in_place && c.traits().spreads())) staged_output_ = out;
        // At the border of a grid nothing comes, and what the user has there stays.
        if (c.traits().on_graph) written_ = written_by(p.steps(), out.wide);
    }
}

void buffers::finish(MPI_Comm comm) {
    if (!staged_output_.used) return;
    for_each_run(staged_output_, written_,
                 [&](const type_info& type, std::byte* first, std::int64_t n, std::int64_t at) {
                     unpack(type, memory_.output + at, first, n, comm);
                 });
}

void buffers::leak() {
    scratch_.leak();
    input_.leak();
    output_.leak();
}

}  // namespace rubato::engine
