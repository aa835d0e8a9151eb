#include "buffers.hpp"

#include <fmt/format.h>

#include <cstring>
#include <new>

namespace rubato::mpi {
namespace {

void check_count(std::int64_t count) {
    if (count < 0)
        throw error(fmt::format("count {}", count), "a count is not negative", "check the arguments of the collective");
}

void check_chunks(const chunks& each, int ranks) {
    for (const std::size_t n : {each.counts.size(), each.displacements.size()})
        if (n != static_cast<std::size_t>(ranks))
            throw error(fmt::format("{} counts or displacements for {} ranks", n, ranks),
                        "there must be one for each rank", "check the arguments of the collective");
}

/// Bytes of a buffer whose chunks lie one after the other.
std::size_t total(const chunk_table& t, std::int32_t chunks) {
    std::int64_t sum = t.counts.empty() ? t.units * chunks : 0;
    for (const std::int64_t n : t.counts) sum += n;
    return static_cast<std::size_t>(sum);
}

/// f(first element, elements, first byte in the packed form) for each run of consecutive elements.
template <class Side, class F>
void for_each_run(const Side& s, F f) {
    if (s.each.counts.empty()) {
        f(std::int64_t{0}, s.count * s.chunks_used, std::int64_t{0});
        return;
    }
    std::int64_t at = 0;
    for (std::size_t i = 0; i < s.each.counts.size(); ++i) {
        f(s.each.displacements[i], s.each.counts[i], at);
        at += s.each.counts[i] * s.type.size;
    }
}

}  // namespace

std::byte* workspace::reserve(std::size_t bytes) {
    if (bytes > size_) {
        memory_.reset();
        memory_.reset(static_cast<std::byte*>(::operator new[](bytes, std::align_val_t{64})));
        size_ = bytes;
    }
    return memory_.get();
}

bool in_place(const call& c) { return c.send == MPI_IN_PLACE || c.recv == MPI_IN_PLACE; }

std::int64_t in_place_shift(const call& c, int me) {
    if (c.recv == MPI_IN_PLACE) return -me;  // a scatter's root
    const collective_traits& t = traits(c.what);
    return t.wide_output && !t.wide_input ? me : 0;
}

void buffers::bind(const call& c, const plan& p, int me, int ranks, bool safe_in_place, MPI_Comm comm) {
    check_count(c.send_count);
    check_count(c.recv_count);
    for (const std::int64_t n : c.send_chunks.counts) check_count(n);
    for (const std::int64_t n : c.recv_chunks.counts) check_count(n);
    memory_ = {};
    staged_output_ = {};
    if (c.what == collective::barrier) {
        layout_ = {};
        unit_ = {};
        return;
    }
    if (traits(c.what).reduces)
        bind_combined(c, ranks, safe_in_place);
    else
        bind_moved(c, me, ranks, safe_in_place, comm);
    const std::int64_t units = layout_.scratch_units(p.steps());
    if (units > 0) memory_.scratch = scratch_.reserve(footprint(unit_, units)) + origin(unit_, units);
    memory_.scratch_stride = unit_.extent;
}

void buffers::bind_combined(const call& c, int ranks, bool safe_in_place) {
    unit_ = inspect(c.recv_type);
    layout_ = layout::uniform(c.recv_count);
    memory_.output = static_cast<std::byte*>(c.recv);
    memory_.input_stride = memory_.output_stride = unit_.extent;
    if (!in_place(c)) {
        memory_.input = static_cast<std::byte*>(const_cast<void*>(c.send));
        return;
    }
    memory_.input = memory_.output;
    const std::int64_t n = c.recv_count * (traits(c.what).wide_input ? ranks : 1);
    if (safe_in_place || n == 0) return;
    std::byte* const copy = input_.reserve(footprint(unit_, n)) + origin(unit_, n);
    copy_elements(unit_, memory_.input, copy, n);
    memory_.input = copy;
}

chunk_table buffers::in_bytes(const side& s, bool packed) {
    if (s.each.counts.empty()) return chunk_table::uniform(s.count * s.type.size);
    std::vector<std::int64_t> counts;
    for (const std::int64_t n : s.each.counts) counts.push_back(n * s.type.size);
    chunk_table t = chunk_table::packed(std::move(counts));
    for (std::size_t i = 0; !packed && i < t.offsets.size(); ++i) t.offsets[i] = s.each.displacements[i] * s.type.size;
    return t;
}

void buffers::bind_moved(const call& c, int me, int ranks, bool safe_in_place, MPI_Comm comm) {
    const collective_traits& t = traits(c.what);
    const bool at_root = !t.rooted || me == c.root;
    const bool spreads = c.what == collective::bcast || c.what == collective::scatter || c.what == collective::scatterv;
    side in{
        c.send, c.send_count, c.send_chunks, inspect(c.send_type), spreads ? at_root : true, t.wide_input ? ranks : 1};
    side out{c.recv, c.recv_count, c.recv_chunks, inspect(c.recv_type), true, t.wide_output ? ranks : 1};
    if (c.what == collective::bcast) out.used = !at_root;
    if (c.what == collective::gather || c.what == collective::gatherv) out.used = at_root;

    if (t.irregular) {
        if (t.wide_input && in.used && c.send != MPI_IN_PLACE) check_chunks(in.each, ranks);
        if (t.wide_output && out.used) check_chunks(out.each, ranks);
    }

    // The rank's own chunk of the other side, or all of it.
    const auto own = [me, &t](const side& whole) {
        if (t.wide_input && t.wide_output) return whole;
        side s = whole;
        s.chunks_used = 1;
        const std::int64_t first =
            s.each.counts.empty() ? me * s.count : s.each.displacements[static_cast<std::size_t>(me)];
        if (!s.each.counts.empty()) s.count = s.each.counts[static_cast<std::size_t>(me)];
        s.each = {};
        s.address = static_cast<const std::byte*>(s.address) + first * s.type.extent;
        return s;
    };
    const bool coincide = in_place(c);
    if (c.send == MPI_IN_PLACE) in = own(out);
    if (c.recv == MPI_IN_PLACE) out = own(in);
    // A side that this rank does not use has chunks as large as the other's.
    if (!in.used) in.count = out.count, in.type = out.type, in.each = {};
    if (!out.used) out.count = in.count, out.type = in.type, out.each = {};

    unit_ = {};
    layout_.input = in_bytes(in, !in.type.dense);
    layout_.output = in_bytes(out, !out.type.dense);
    if (in.used) {
        memory_.input = static_cast<std::byte*>(const_cast<void*>(in.address));
        if (!in.type.dense || (coincide && !safe_in_place)) {
            if (in.type.dense) layout_.input = in_bytes(in, true);
            memory_.input = input_.reserve(total(layout_.input, in.chunks_used));
            for_each_run(in, [&](std::int64_t first, std::int64_t n, std::int64_t at) {
                const std::byte* from = static_cast<const std::byte*>(in.address) + first * in.type.extent;
                if (n > 0) pack(in.type, from, n, memory_.input + at, comm);
            });
        }
    }
    if (out.used) {
        memory_.output = static_cast<std::byte*>(const_cast<void*>(out.address));
        if (!out.type.dense) {
            memory_.output = output_.reserve(total(layout_.output, out.chunks_used));
            staged_output_ = out;
            staged_output_.used = c.recv != MPI_IN_PLACE;  // else it is part of what the user sends
        }
    }
}

void buffers::finish(MPI_Comm comm) {
    if (!staged_output_.used) return;
    const side& s = staged_output_;
    for_each_run(s, [&](std::int64_t first, std::int64_t n, std::int64_t at) {
        auto* const to = static_cast<std::byte*>(const_cast<void*>(s.address)) + first * s.type.extent;
        if (n > 0) unpack(s.type, memory_.output + at, to, n, comm);
    });
}

}  // namespace rubato::mpi
