#include "mpi/buffers.hpp"

#include "rubato/player.hpp"

#include <fmt/format.h>

namespace rubato::mpi {
namespace {

bool spreads(collective what) {
    return what == collective::bcast || what == collective::scatter || what == collective::scatterv;
}
bool uses_input(const call& c, int me) { return !spreads(c.what) || me == c.root; }
bool uses_output(const call& c, int me) {
    if (c.what == collective::bcast) return me != c.root;
    return !traits(c.what).rooted || spreads(c.what) || me == c.root;
}

void check_count(std::int64_t count) {
    if (count < 0)
        throw error(fmt::format("count {}", count), "a count is not negative", "check the arguments of the collective");
}

/// The chunks of a side that has one of its own size for each rank; nothing if it has not.
const chunks* uneven_chunks(const call& c, bool of_input, int ranks) {
    const collective_traits& t = traits(c.what);
    if (!t.irregular || !(of_input ? t.wide_input : t.wide_output)) return nullptr;
    const bool packed = t.measured_by_input();  // they need no displacements
    const chunks& each = of_input && !packed ? c.send_chunks : c.recv_chunks;
    for (const std::size_t n : {each.counts.size(), packed ? each.counts.size() : each.displacements.size()})
        if (n != static_cast<std::size_t>(ranks))
            throw error(fmt::format("{} counts or displacements for {} ranks", n, ranks),
                        "there must be one for each rank", "check the arguments of the collective");
    for (const std::int64_t n : each.counts) check_count(n);
    return &each;
}

type_info inspect_used(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL)
        throw error("no datatype", "MPI_DATATYPE_NULL describes no data", "check the arguments of the collective");
    return inspect(type);
}

/// Units of a buffer whose chunks lie one after the other.
std::int64_t total(const chunk_table& t, std::int32_t chunks) {
    std::int64_t sum = t.counts.empty() ? t.units * chunks : 0;
    for (const std::int64_t n : t.counts) sum += n;
    return sum;
}

/// f(first element, elements, first byte in the packed form) for each run of consecutive elements that is not empty.
template <class Side, class F>
void for_each_run(const Side& s, F f) {
    if (s.type.size == 0) return;
    if (s.each.counts.empty()) {
        if (s.count > 0) f(std::int64_t{0}, s.count * s.wide, std::int64_t{0});
        return;
    }
    std::int64_t at = 0;
    for (std::size_t i = 0; i < s.each.counts.size(); ++i) {
        if (s.each.counts[i] > 0) f(s.each.displacements[i], s.each.counts[i], at);
        at += s.each.counts[i] * s.type.size;
    }
}

std::byte* bytes_at(const void* address) { return static_cast<std::byte*>(const_cast<void*>(address)); }

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

bool in_place(const call& c, int me) {
    if (c.what == collective::bcast || c.what == collective::barrier) return false;
    if (spreads(c.what)) return me == c.root && c.recv == MPI_IN_PLACE;
    return uses_output(c, me) && c.send == MPI_IN_PLACE;
}

std::int64_t in_place_shift(const call& c, int me) {
    if (spreads(c.what)) return -me;
    const collective_traits& t = traits(c.what);
    return t.wide_output && !t.wide_input ? me : 0;
}

/// The rank's own chunk of a buffer that has one for each rank.
buffers::side buffers::side::own_chunk(int me) const {
    side s = *this;
    s.wide = 1;
    s.each = {};
    std::int64_t first = me * count;
    if (!each.counts.empty()) {
        first = each.displacements[static_cast<std::size_t>(me)];
        s.count = each.counts[static_cast<std::size_t>(me)];
    }
    s.address = bytes_at(address) + first * type.extent;
    return s;
}

/// Packed, the chunks lie one after the other; else where the user has them.
chunk_table buffers::side::in_bytes(bool packed) const {
    if (each.counts.empty()) return chunk_table::uniform(count * type.size);
    std::vector<std::int64_t> counts;
    for (const std::int64_t n : each.counts) counts.push_back(n * type.size);
    chunk_table t = chunk_table::packed(std::move(counts));
    for (std::size_t i = 0; !packed && i < t.offsets.size(); ++i) t.offsets[i] = each.displacements[i] * type.size;
    return t;
}

/// Of a reduction whose input this is.
layout buffers::side::in_elements(int me) const {
    if (each.counts.empty()) return layout::uniform(count);
    return layout::reduce_scatter({each.counts.begin(), each.counts.end()}, me);
}

/// A side with `wide` chunks, of a size each (a v-form) or all of `count` elements.
buffers::side buffers::used_side(const void* address, std::int64_t count, const chunks* each, MPI_Datatype type,
                                 std::int32_t wide) {
    side s;
    s.used = true;
    s.address = address;
    s.wide = wide;
    if (each != nullptr) {
        s.each = *each;
    } else {
        check_count(count);
        s.count = count;
    }
    s.type = inspect_used(type);
    return s;
}

buffers::side buffers::input_of(const call& c, int me, int ranks) {
    if (!uses_input(c, me)) return {};
    const collective_traits& t = traits(c.what);
    const bool as_output = c.what == collective::bcast || t.reduces;  // one count and datatype for both
    return used_side(c.what == collective::bcast ? c.recv : c.send, as_output ? c.recv_count : c.send_count,
                     uneven_chunks(c, true, ranks), as_output ? c.recv_type : c.send_type, t.wide_input ? ranks : 1);
}

buffers::side buffers::output_of(const call& c, int me, int ranks) {
    if (!uses_output(c, me)) return {};
    const collective_traits& t = traits(c.what);
    const bool one_of_input = t.measured_by_input();
    const std::int64_t count =
        one_of_input ? uneven_chunks(c, true, ranks)->counts[static_cast<std::size_t>(me)] : c.recv_count;
    return used_side(c.recv, count, uneven_chunks(c, false, ranks), c.recv_type, t.wide_output ? ranks : 1);
}

buffers::sides buffers::sides_of(const call& c, int me, int ranks) {
    if (c.what == collective::barrier) return {};
    sides s;
    if (in_place(c, me) && spreads(c.what)) {  // a scatter's root keeps its chunk where it is
        s.in = input_of(c, me, ranks);
        s.out = s.in.own_chunk(me);
    } else if (in_place(c, me)) {
        s.out = output_of(c, me, ranks);
        const collective_traits& t = traits(c.what);
        if (t.reduces)
            s.in = input_of(c, me, ranks), s.in.address = s.out.address;
        else
            s.in = t.wide_input ? s.out : s.out.own_chunk(me);
    } else {
        s.in = input_of(c, me, ranks);
        s.out = output_of(c, me, ranks);
    }
    // A side that this rank does not use has chunks as large as the other's.
    if (!s.in.used) s.in.count = s.out.count, s.in.type = s.out.type;
    if (!s.out.used) s.out.count = s.in.count, s.out.type = s.in.type;
    return s;
}

std::int64_t chunk_bytes(const call& c, int me, int ranks) {
    const buffers::sides s = buffers::sides_of(c, me, ranks);
    for (const buffers::side& one : {s.out, s.in})
        if (one.used && one.each.counts.empty()) return one.count * one.type.size;
    return c.what == collective::barrier ? 0 : intent::unknown;
}

std::int64_t chunk_bytes_on(const call& c, int other, int me, int ranks) {
    const buffers::sides s = buffers::sides_of(c, me, ranks);
    if (!traits(c.what).rooted) return intent::unknown;
    for (const buffers::side& one : {s.in, s.out})
        if (!one.each.counts.empty()) return one.each.counts[static_cast<std::size_t>(other)] * one.type.size;
    return intent::unknown;
}

std::int64_t agreed_bytes(const call& c, int me, int ranks) {
    const bool all_told = c.what == collective::allgatherv || c.what == collective::reduce_scatter;
    if (!all_told) return intent::unknown;
    const buffers::sides s = buffers::sides_of(c, me, ranks);
    const buffers::side& wide = traits(c.what).wide_input ? s.in : s.out;
    return total(wide.in_bytes(true), ranks) / ranks;
}

layout layout_before(const call& c, int me, int ranks) {
    const buffers::sides s = buffers::sides_of(c, me, ranks);
    return traits(c.what).reduces ? s.in.in_elements(me) : layout{s.in.in_bytes(true), s.out.in_bytes(true)};
}

void buffers::bind(const call& c, const plan& p, int me, int ranks, bool safe_in_place, MPI_Comm comm) {
    memory_ = {};
    layout_ = {};
    unit_ = {};
    staged_output_ = {};
    if (c.what == collective::barrier) return;
    const auto [in, out] = sides_of(c, me, ranks);
    const bool coincide = in_place(c, me);
    const bool copy_input = coincide && !safe_in_place;
    if (traits(c.what).reduces)
        bind_combined(in, out, copy_input, me, comm);
    else
        bind_moved(in, out, copy_input, comm);
    if (coincide && spreads(c.what)) staged_output_.used = false;  // it is part of what the user sends
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

void buffers::bind_after(const call& c, const plan& p, int me, int ranks, bool safe_in_place, MPI_Comm comm) {
    // Before anything is bound: scratch must not move while messages are received there.
    const layout now = layout_before(c, me, ranks);
    const auto differ = [](const chunk_table& a, const chunk_table& b) {
        return a.units != b.units || a.counts != b.counts;
    };
    if (differ(layout_.input, now.input) || differ(layout_.output, now.output))
        throw error("a call with other sizes than were named or announced", "its messages are already under way",
                    "pass the same sizes on all ranks, and those that were named");
    bind(c, p, me, ranks, safe_in_place, comm);
}

void buffers::bind_combined(const side& in, const side& out, bool copy_input, int me, MPI_Comm comm) {
    unit_ = in.type;
    layout_ = in.in_elements(me);
    memory_.input = bytes_at(in.address);
    memory_.output = out.used ? bytes_at(out.address) : nullptr;
    memory_.input_stride = memory_.output_stride = unit_.extent;
    const std::int64_t n = total(layout_.input, in.wide);
    if (!copy_input || n == 0) return;
    memory_.input = input_.reserve(unit_, n);
    copy_elements(unit_, in.address, memory_.input, n, comm);
}

void buffers::bind_moved(const side& in, const side& out, bool copy_input, MPI_Comm comm) {
    const bool stage_input = in.used && (copy_input || !in.type.dense);
    const bool stage_output = out.used && !out.type.dense;
    layout_.input = in.in_bytes(stage_input);
    layout_.output = out.in_bytes(stage_output);
    if (in.used) memory_.input = bytes_at(in.address);
    if (out.used) memory_.output = bytes_at(out.address);
    if (stage_input) {
        memory_.input = input_.reserve(static_cast<std::size_t>(total(layout_.input, in.wide)));
        for_each_run(in, [&](std::int64_t first, std::int64_t n, std::int64_t at) {
            pack(in.type, bytes_at(in.address) + first * in.type.extent, n, memory_.input + at, comm);
        });
    }
    if (stage_output) {
        memory_.output = output_.reserve(static_cast<std::size_t>(total(layout_.output, out.wide)));
        staged_output_ = out;
    }
}

void buffers::finish(MPI_Comm comm) {
    const side& s = staged_output_;
    if (!s.used) return;
    for_each_run(s, [&](std::int64_t first, std::int64_t n, std::int64_t at) {
        unpack(s.type, memory_.output + at, bytes_at(s.address) + first * s.type.extent, n, comm);
    });
}

void buffers::leak() {
    scratch_.leak();
    input_.leak();
    output_.leak();
}

}  // namespace rubato::mpi
