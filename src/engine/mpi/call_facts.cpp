#include "engine/mpi/call_facts.hpp"

#include "engine/mpi/datatype.hpp"
#include "engine/mpi/predefined.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

namespace rubato::engine {
namespace {

void check_count(std::int64_t count) {
    if (count < 0)
        throw error(fmt::format("count {}", count), "a count is not negative", "check the arguments of the collective");
}

void check_type(MPI_Datatype type) {
    if (type == MPI_DATATYPE_NULL)
        throw error("no datatype", "MPI_DATATYPE_NULL describes no data", "check the arguments of the collective");
}

void check_chunks(const mpi::chunks& each, bool packed, int chunks, std::string_view whose) {
    for (const std::size_t n : {each.counts.size(), packed ? each.counts.size() : each.displacements.size(),
                                each.types.empty() ? each.counts.size() : each.types.size()})
        if (n != static_cast<std::size_t>(chunks))
            throw error(fmt::format("{} counts, displacements or datatypes for {} {}s", n, chunks, whose),
                        fmt::format("there must be one for each {}", whose), "check the arguments of the collective");
    for (const std::int64_t n : each.counts) check_count(n);
    for (std::size_t i = 0; i < each.types.size(); ++i)
        if (each.counts[i] > 0) check_type(each.types[i]);
}

bool has_data(const call_side& s) { return s.used && s.bytes() > 0; }

/// MPI_BOTTOM, which is address 0, is right for datatypes that hold addresses, and for places that are addresses. The
/// lowest addresses hold no data.
bool is_nowhere(const call_side& s) {
    constexpr std::ptrdiff_t lowest_address = 4096;
    if (s.address != nullptr || !has_data(s)) return false;
    if (s.types.empty()) return inspect(s.type).true_lower < lowest_address;
    for (std::size_t i = 0; i < s.types.size(); ++i)
        if (s.chunk_bytes(i) > 0 && s.each.displacements[i] + s.types[i].true_lower < lowest_address) return true;
    return false;
}

/// By the standard the first rank's output is not significant in an exscan, but MPICH checks it.
#ifdef MPICH_VERSION
constexpr bool first_has_output = true;
#else
constexpr bool first_has_output = false;
#endif

bool lacks_output(const mpi::call& c, const call_facts& f) {
    return f.traits().output == holders::all_but_first && first_has_output && !f.out.used && c.recv == nullptr;
}

/// Checked only where all ranks get the same answer: a rank that alone left such a call to the native collective would
/// wait for the others, as MPI libraries accept some of these calls. In an alltoallv some ranks may have no data, and
/// the chunks of one buffer need not overlap. Among neighbours, some ranks may have none.
bool is_aliased(const mpi::call& c, const call_facts& f) {
    const collective_traits& t = f.traits();
    const bool alike = t.output == holders::all_but_first
                           ? first_has_output
                           : t.reduces || (t.wide_input && t.wide_output && !t.irregular && !t.on_graph);
    // Elements of two types may be fields of the same structs.
    const bool overlaps = t.reduces || (c.send_type == c.recv_type && c.send_count == c.recv_count);
    return alike && overlaps && c.send == c.recv && c.send != nullptr && (f.out.used || !t.rooted);
}

/// Checks what is wrong on all ranks alike; and, in what the root alone describes, what cannot work.
void check_buffers(const mpi::call& c, const call_facts& f) {
    const collective_traits& t = f.traits();
    bool in_place_elsewhere = !t.rooted && c.recv == MPI_IN_PLACE;
    for (const call_side* s : {&f.in, &f.out}) {
        in_place_elsewhere |= s->used && s->address == MPI_IN_PLACE;
        if (is_nowhere(*s)) throw error("no buffer", "there is data to move", "check the arguments of the collective");
    }
    if (in_place_elsewhere)
        throw error("MPI_IN_PLACE", "it does not stand for this buffer on this rank",
                    "check the arguments of the collective");
    if (!has_data(f.in) || f.in_place) return;
    if (lacks_output(c, f)) throw error("no buffer", "there is data to move", "check the arguments of the collective");
    if (is_aliased(c, f))
        throw error("one buffer for both sides", "a collective does not receive where it sends",
                    "pass MPI_IN_PLACE, or another buffer");
}

/// With one chunk, or one for each of the others: of `count` elements each or, in a v-form, each of its own size.
call_side used_side(const void* address, std::int64_t count, const mpi::chunks& each, MPI_Datatype type, bool wide,
                    int others, const call_facts& of) {
    call_side s;
    s.used = true;
    s.address = address;
    s.wide = wide ? others : std::min(others, 1);
    if (wide && of.traits().irregular) {
        check_chunks(each, of.traits().measured_by_input(), s.wide, of.traits().on_graph ? "neighbour" : "rank");
        s.each = each;
        for (std::size_t i = 0; i < each.types.size(); ++i)
            s.types.push_back(each.counts[i] > 0 ? inspect(each.types[i]) : type_info{});
        if (!s.types.empty() || s.wide == 0) return s;
    } else {
        check_count(count);
        s.count = count;
    }
    check_type(type);
    s.type = type;
    s.element = element_bytes(type);
    return s;
}

call_side input_of(const mpi::call& c, const call_facts& of) {
    const collective_traits& t = of.traits();
    const int others = t.on_graph ? of.neighbours.destinations : of.ranks;
    if (!t.one_count()) return used_side(c.send, c.send_count, c.send_chunks, c.send_type, t.wide_input, others, of);
    const bool from_recv = t.one_buffer() || of.in_place;
    return used_side(from_recv ? c.recv : c.send, c.recv_count, c.recv_chunks, c.recv_type, t.wide_input, others, of);
}

call_side output_of(const mpi::call& c, const call_facts& of) {
    const collective_traits& t = of.traits();
    const std::int64_t count =
        t.measured_by_input() ? of.in.each.counts[static_cast<std::size_t>(of.me)] : c.recv_count;
    const int others = t.on_graph ? of.neighbours.sources : of.ranks;
    return used_side(c.recv, count, c.recv_chunks, c.recv_type, t.wide_output, others, of);
}

bool is_in_place(const mpi::call& c, const collective_traits& t, int me) {
    if (t.one_buffer() || t.on_graph) return false;
    if (t.spreads()) return me == c.root && c.recv == MPI_IN_PLACE;
    return (t.output != holders::root || me == c.root) && c.send == MPI_IN_PLACE;
}

bool commutes(MPI_Op op) {
    if (op == MPI_OP_NULL)
        throw error("no operator", "MPI_OP_NULL combines nothing", "check the arguments of the collective");
    int yes = 0;
    check(MPI_Op_commutative(op, &yes), "MPI_Op_commutative");
    return yes != 0;
}

}  // namespace

call_side call_side::own_chunk(int me) const {
    call_side s = *this;
    s.wide = 1;
    s.each = {};
    if (each.counts.empty()) {
        s.first = me * count;
    } else {
        s.first = each.displacements[static_cast<std::size_t>(me)];
        s.count = each.counts[static_cast<std::size_t>(me)];
    }
    return s;
}

chunk_table call_side::in_bytes(bool packed) const {
    if (each.counts.empty()) return chunk_table::uniform(count * element);
    std::vector<std::int64_t> counts;
    for (std::size_t i = 0; i < each.counts.size(); ++i) counts.push_back(chunk_bytes(i));
    chunk_table t = chunk_table::packed(std::move(counts));
    for (std::size_t i = 0; !packed && i < t.offsets.size(); ++i) t.offsets[i] = each.displacements[i] * element;
    return t;
}

std::int64_t call_side::chunk_bytes(std::size_t chunk) const {
    return each.counts[chunk] * (types.empty() ? element : types[chunk].size);
}

std::int64_t call_side::bytes() const {
    if (each.counts.empty()) return count * wide * element;
    std::int64_t all = 0;
    for (std::size_t i = 0; i < each.counts.size(); ++i) all += chunk_bytes(i);
    return all;
}

bool call_side::is_dense() const {
    return types.empty() ? inspect(type).dense : std::ranges::all_of(types, &type_info::dense);
}

template <class Look>
bool call_facts::attempt(Look look) {
    try {
        look();
        return true;
    } catch (const mpi::mpi_error& e) {
        if (!blames_argument(e.code())) throw;
        if (!wrong) wrong = std::current_exception();
        return false;
    } catch (const error&) {
        if (!wrong) wrong = std::current_exception();
        return false;
    }
}

call_facts::call_facts(const mpi::call& c, int my_rank, int size, degrees around, bool with_buffers)
    : what(c.what), me(my_rank), ranks(size), neighbours(around), root(c.root), op(c.op) {
    const collective_traits& t = traits();
    if (!t.moves_data()) return;
    in_place = is_in_place(c, t, me);
    // In place MPI describes the data by one side alone, unless it has one description for both.
    const bool by_output = in_place && !t.spreads() && !t.reduces;
    // An error in what all ranks describe hides the size from some of them, so then no rank uses the size.
    bool known = true;
    if (!by_output && t.has_input(me, root)) known = attempt([&] { in = input_of(c, *this); }) || is_roots_alone(in);
    if (in_place && t.spreads())
        out = in.own_chunk(me);
    else if (t.has_output(me, root) && !(wrong && t.measured_by_input()))
        known &= attempt([&] { out = output_of(c, *this); }) || is_roots_alone(out);
    if (by_output) in = t.wide_input ? out : out.own_chunk(me);
    if (with_buffers && !wrong) attempt([&] { check_buffers(c, *this); });
    // A side that this rank does not use has chunks as large as the other's.
    if (!in.used) in.count = out.count, in.type = out.type, in.element = out.element;
    if (!out.used) out.count = in.count, out.type = in.type, out.element = in.element;

    bytes = agreed_bytes = intent::unknown;
    // Of a side that has chunks, if one does: MPI libraries do not look at the other's count.
    for (const bool some : {false, true})
        for (const call_side* one : {&in, &out})
            if (known && one->used && one->each.counts.empty() && (one->wide > 0) == some)
                bytes = one->count * one->element;
    const call_side& wide = t.wide_input ? in : out;
    if (!t.sizes_known_to_all())
        agreed_bytes = intent::unknown;
    else if (!t.irregular)
        agreed_bytes = bytes;
    else if (known && wide.used)
        agreed_bytes =
            std::accumulate(wide.each.counts.begin(), wide.each.counts.end(), std::int64_t{0}) * wide.element / ranks;

    if (!t.reduces) return;
    type_number = number_of_type(c.recv_type);
    op_number = number_of_op(op);
    attempt([&] { commutative = op_number >= 0 || commutes(op); });
}

bool call_facts::idempotent() const {
    return op_number >= 0 && predefined_ops()[static_cast<std::size_t>(op_number)].idempotent;
}

bool call_facts::exact() const {
    return op_number >= 0 && type_number >= 0 && predefined_types()[static_cast<std::size_t>(type_number)].exact;
}

std::int64_t call_facts::largest_buffer() const {
    std::int64_t most = 0;
    for (const call_side* s : {&in, &out})
        if (s->used) most = std::max(most, s->bytes());
    return most;
}

void call_facts::keep_types(std::vector<MPI_Datatype>& copies) {
    const auto keep = [&copies](MPI_Datatype& t) {
        if (is_predefined(t)) return;
        copies.reserve(copies.size() + 1);
        MPI_Datatype copy = MPI_DATATYPE_NULL;
        check(PMPI_Type_dup(t, &copy), "MPI_Type_dup");
        t = copies.emplace_back(copy);
    };
    for (call_side* const s : {&in, &out}) {
        if (!s->used) continue;
        if (s->types.empty()) keep(s->type);
        for (type_info& t : s->types) keep(t.type);
    }
}

layout call_facts::sizes() const {
    if (!traits().reduces) return {in.in_bytes(true), out.in_bytes(true), false, traits().skips_empty()};
    if (in.each.counts.empty()) return layout::uniform(in.count);
    return layout::reduce_scatter({in.each.counts.begin(), in.each.counts.end()}, me);
}

std::int64_t call_facts::bytes_on(int other) const {
    if (!traits().rooted) return intent::unknown;
    for (const call_side* one : {&in, &out})
        if (!one->each.counts.empty()) return one->each.counts[static_cast<std::size_t>(other)] * one->element;
    return intent::unknown;
}

std::int64_t call_facts::in_place_shift() const {
    const collective_traits& t = traits();
    if (t.spreads()) return -me;
    return t.wide_output && !t.wide_input ? me : 0;
}

}  // namespace rubato::engine
