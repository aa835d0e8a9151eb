#include "layout.hpp"

#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace random_program {
namespace {

struct real_index {
    double value;
    int index;
};

struct int_index {
    int value;
    int index;
};

/// x -> slope*x + shift: composing does not commute. With gaps after the slope and at the end.
struct affine {
    std::int32_t slope;
    std::int32_t gap;
    std::int64_t shift;
    std::int64_t end;
};

constexpr std::int64_t prime = 30011;

// Operators are not told whose they are.
std::atomic<const toolbox*> in_use{nullptr};

template <class T, class Combine>
void for_each(void* left, void* into, int items, MPI_Datatype type, Combine combine) {
    for (const layout& l : in_use.load()->layouts()) {
        if (l.type != type) continue;
        for (std::ptrdiff_t i = 0; i < items; ++i)
            for (const std::ptrdiff_t offset : l.offsets)
                combine(*reinterpret_cast<const T*>(static_cast<std::byte*>(left) + i * l.extent + offset),
                        *reinterpret_cast<T*>(static_cast<std::byte*>(into) + i * l.extent + offset));
        return;
    }
    std::fputs("an operator was called with a datatype that the program does not have\n", stderr);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

void add_modulo(void* left, void* into, int* items, MPI_Datatype* type) {
    for_each<std::int64_t>(left, into, *items, *type,
                           [](const std::int64_t& x, std::int64_t& y) { y = (x + y) % prime; });
}

void compose(void* left, void* into, int* items, MPI_Datatype* type) {
    for_each<affine>(left, into, *items, *type, [](const affine& x, affine& y) {
        y.shift = (x.slope * y.shift + x.shift) % prime;
        y.slope = static_cast<std::int32_t>(std::int64_t{x.slope} * y.slope % prime);
    });
}

template <class T>
void put(std::byte* at, const T& value) {
    std::memcpy(at, &value, sizeof value);
}

}  // namespace

std::ptrdiff_t bytes_of(basic b) {
    constexpr std::array<std::ptrdiff_t, 8> bytes{1, 4, 8, 8, sizeof(real_index), sizeof(int_index), sizeof(affine), 8};
    return bytes[static_cast<std::size_t>(b)];
}

void write(basic b, std::byte* at, std::uint64_t random) {
    const auto small = static_cast<std::int32_t>(random % 1000);
    const auto other = static_cast<std::int32_t>(random >> 32) & 0xffff;
    switch (b) {
        case basic::octet: put(at, static_cast<std::uint8_t>(random)); break;
        case basic::int32: put(at, small); break;
        case basic::int64: put(at, std::int64_t{small} + other); break;
        case basic::real: put(at, static_cast<double>(small) - 500.0 * other); break;
        case basic::real_index:
            // Few values, so that there are ties.
            put(at, static_cast<double>(small % 50));
            put(at + offsetof(real_index, index), other);
            break;
        case basic::int_index:
            put(at, small % 50);
            put(at + offsetof(int_index, index), other);
            break;
        case basic::affine:
            put(at, small % 97 + 2);
            put(at + offsetof(affine, shift), std::int64_t{other});
            break;
        case basic::rounded: {
            const double mantissa = 1 + std::ldexp(static_cast<double>(random >> 12), -52);
            put(at, std::ldexp((random & 1) != 0 ? -mantissa : mantissa, static_cast<int>(random >> 1 & 31) - 16));
            break;
        }
    }
}

void clear_padding(basic b, std::byte* at) {
    constexpr std::size_t used = offsetof(real_index, index) + sizeof(int);
    if (b == basic::real_index) std::memset(at + used, 0, sizeof(real_index) - used);
}

toolbox::toolbox(bool rounded) {
    const std::array<int, 2> lengths{1, 1};
    const std::array<MPI_Aint, 2> places{0, offsetof(affine, shift)};
    const std::array<MPI_Datatype, 2> parts{MPI_INT32_T, MPI_INT64_T};
    MPI_Datatype open = MPI_DATATYPE_NULL;
    MPI_Type_create_struct(2, lengths.data(), places.data(), parts.data(), &open);
    MPI_Type_create_resized(open, 0, sizeof(affine), &affine_);
    MPI_Type_free(&open);
    MPI_Type_commit(&affine_);
    const std::array<MPI_Datatype, 8> bases{MPI_BYTE,       MPI_INT32_T, MPI_INT64_T, MPI_DOUBLE,
                                            MPI_DOUBLE_INT, MPI_2INT,    affine_,     MPI_DOUBLE};
    for (const basic b : basics) add(b, bases[static_cast<std::size_t>(b)], bytes_of(b));

    MPI_Op_create(add_modulo, 1, &add_modulo_);
    MPI_Op_create(compose, 0, &compose_);
    reductions_ = {{MPI_SUM, basic::real, false},         {MPI_MAX, basic::real, false},
                   {MPI_SUM, basic::int32, false},        {MPI_BXOR, basic::int32, false},
                   {MPI_SUM, basic::int64, false},        {MPI_MIN, basic::int64, false},
                   {MPI_BXOR, basic::octet, false},       {MPI_MINLOC, basic::real_index, false},
                   {MPI_MAXLOC, basic::int_index, false}, {add_modulo_, basic::int64, true},
                   {compose_, basic::affine, true}};
    if (rounded)
        for (const MPI_Op op : {MPI_MAX, MPI_PROD, MPI_SUM}) reductions_.push_back({op, basic::rounded, false});
    in_use = this;
}

toolbox::~toolbox() {
    in_use = nullptr;
    for (layout& l : layouts_)
        if (!l.predefined && l.type != affine_) MPI_Type_free(&l.type);
    MPI_Type_free(&affine_);
    MPI_Op_free(&add_modulo_);
    MPI_Op_free(&compose_);
}

void toolbox::add(basic b, MPI_Datatype base, std::ptrdiff_t bytes) {
    const auto derived = [&](MPI_Datatype type, std::ptrdiff_t extent, std::vector<std::ptrdiff_t> offsets) {
        MPI_Type_commit(&type);
        layouts_.push_back({b, type, false, extent, std::move(offsets)});
    };
    const auto resized = [](MPI_Datatype open, MPI_Aint lower, MPI_Aint extent) {
        MPI_Datatype type = MPI_DATATYPE_NULL;
        MPI_Type_create_resized(open, lower, extent, &type);
        return type;
    };
    layouts_.push_back({b, base, base != affine_, bytes, {0}});
    derived(resized(base, 0, 3 * bytes), 3 * bytes, {0});
    MPI_Datatype type = MPI_DATATYPE_NULL;
    MPI_Type_vector(2, 2, 3, base, &type);
    derived(type, 5 * bytes, {0, bytes, 3 * bytes, 4 * bytes});
    MPI_Type_contiguous(8, base, &type);
    std::vector<std::ptrdiff_t> row;
    for (int i = 0; i < 8; ++i) row.push_back(i * bytes);
    derived(type, 8 * bytes, row);
    // Not in the order of addresses.
    const std::array<int, 3> three{4, 0, 2};
    MPI_Type_create_indexed_block(3, 1, three.data(), base, &type);
    derived(resized(type, 0, 6 * bytes), 6 * bytes, {4 * bytes, 0, 2 * bytes});
    MPI_Type_free(&type);
    // A negative lower bound.
    const std::array<int, 2> around{-1, 1};
    MPI_Type_create_indexed_block(2, 1, around.data(), base, &type);
    derived(resized(type, -bytes, 4 * bytes), 4 * bytes, {-bytes, bytes});
    MPI_Type_free(&type);
}

std::vector<const layout*> toolbox::layouts_of(basic b) const {
    std::vector<const layout*> found;
    for (const layout& l : layouts_)
        if (l.element == b) found.push_back(&l);
    return found;
}

}  // namespace random_program
