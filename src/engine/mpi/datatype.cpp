#include "engine/mpi/datatype.hpp"

#include "engine/mpi/private_communicator.hpp"
#include "rubato/mpi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <vector>

namespace rubato::engine {
namespace {

std::string describe(int code) {
    std::array<char, MPI_MAX_ERROR_STRING> text{};
    int length = 0;
    if (MPI_Error_string(code, text.data(), &length) != MPI_SUCCESS) return fmt::format("error {}", code);
    return {text.data(), static_cast<std::size_t>(length)};
}

struct envelope {
    int integers = 0;
    int addresses = 0;
    int types = 0;
    int combiner = 0;
};
envelope envelope_of(MPI_Datatype type) {
    envelope e;
    check(MPI_Type_get_envelope(type, &e.integers, &e.addresses, &e.types, &e.combiner), "MPI_Type_get_envelope");
    return e;
}

bool names_predefined(int combiner) {
    return combiner == MPI_COMBINER_NAMED || combiner == MPI_COMBINER_F90_REAL ||
           combiner == MPI_COMBINER_F90_COMPLEX || combiner == MPI_COMBINER_F90_INTEGER;
}

/// Elements of a derived type may be permuted in memory even where size and extent agree, so only types that are known
/// to keep their order count as dense.
bool keeps_order(MPI_Datatype type) {
    const envelope e = envelope_of(type);
    if (names_predefined(e.combiner)) return true;
    if (e.combiner != MPI_COMBINER_CONTIGUOUS && e.combiner != MPI_COMBINER_DUP) return false;
    int count = 0;
    MPI_Aint address = 0;
    MPI_Datatype inner = MPI_DATATYPE_NULL;
    check(MPI_Type_get_contents(type, e.integers, e.addresses, e.types, &count, &address, &inner),
          "MPI_Type_get_contents");
    const bool result = keeps_order(inner);
    if (!is_predefined(inner)) check(MPI_Type_free(&inner), "MPI_Type_free");
    return result;
}

/// Calls f(first, n) for runs of elements that MPI's int can count, in elements and, unless one element is larger, in
/// bytes.
template <class F>
void in_runs(const type_info& t, std::int64_t n, F f) {
    const std::int64_t most = std::max<std::int64_t>(1, (1 << 30) / std::max<std::int64_t>(1, t.size));
    for (std::int64_t first = 0; first < n; first += most) f(first, static_cast<int>(std::min(most, n - first)));
}

/// An error if the type is not committed.
int pack_nothing(MPI_Datatype type, MPI_Comm comm) {
    std::byte nothing{};
    int position = 0;
    return MPI_Pack(&nothing, 0, type, &nothing, 1, &position, comm);
}

/// Elements described so that MPI can pack them. MPI_BOTTOM may be a null pointer, from which MPICH packs nothing: then
/// offsets are counted from another address. A type that is not committed is replaced by one that is.
class packable {
public:
    packable(MPI_Datatype type, const void* elements, MPI_Comm comm) : type_(type), address_(elements) {
        if (elements != nullptr && pack_nothing(type, comm) == MPI_SUCCESS) return;
        constexpr std::uintptr_t elsewhere = 4096;
        const MPI_Aint back = elements == nullptr ? -static_cast<MPI_Aint>(elsewhere) : 0;
        check(MPI_Type_create_hindexed_block(1, 1, &back, type, &made_), "MPI_Type_create_hindexed_block");
        check(MPI_Type_commit(&made_), "MPI_Type_commit");
        type_ = made_;
        if (elements == nullptr)
            address_ = reinterpret_cast<const void*>(elsewhere);  // NOLINT(performance-no-int-to-ptr)
    }
    ~packable() {
        if (made_ != MPI_DATATYPE_NULL) MPI_Type_free(&made_);
    }
    packable(const packable&) = delete;
    packable& operator=(const packable&) = delete;

    MPI_Datatype type() const { return type_; }
    const void* address() const { return address_; }

private:
    MPI_Datatype type_;
    const void* address_;
    MPI_Datatype made_ = MPI_DATATYPE_NULL;
};

/// One element as another one, by a message of this rank to itself: MPI_Pack takes no more than 2 GiB.
void copy_as(const void* from, MPI_Datatype type, void* to, MPI_Datatype other, MPI_Comm comm) {
    const int me = rank_in(comm);
    check(MPI_Sendrecv(from, 1, type, me, 0, to, 1, other, me, 0, comm, MPI_STATUS_IGNORE), "MPI_Sendrecv");
}

/// The bytes of an element that MPI_Pack does not take.
class large_bytes {
public:
    explicit large_bytes(const type_info& t) {
        if (t.size > INT_MAX) type_ = large_type(t.size, type_info{});
    }
    ~large_bytes() {
        if (needed()) MPI_Type_free(&type_);
    }
    large_bytes(const large_bytes&) = delete;
    large_bytes& operator=(const large_bytes&) = delete;

    bool needed() const { return type_ != MPI_DATATYPE_NULL; }
    MPI_Datatype type() const { return type_; }

private:
    MPI_Datatype type_ = MPI_DATATYPE_NULL;
};

/// Most calls use the type of the last one. A predefined type is never freed, so its handle never changes its meaning.
thread_local type_info last;

}  // namespace

bool is_predefined(MPI_Datatype type) { return names_predefined(envelope_of(type).combiner); }

}  // namespace rubato::engine

namespace rubato::mpi {

mpi_error::mpi_error(std::string_view call, int code)
    : error(fmt::format("{} failed", call), engine::describe(code), "see the MPI library's own messages"),
      code_(code) {}

}  // namespace rubato::mpi

namespace rubato::engine {

void check(int code, const char* call) {
    if (code != MPI_SUCCESS) throw mpi::mpi_error(call, code);
}

bool blames_argument(int code) {
    int kind = MPI_SUCCESS;
    if (code == MPI_SUCCESS || MPI_Error_class(code, &kind) != MPI_SUCCESS) return false;
    constexpr std::array of_arguments{MPI_ERR_TYPE,  MPI_ERR_OP,     MPI_ERR_COMM,
                                      MPI_ERR_COUNT, MPI_ERR_BUFFER, MPI_ERR_ARG};
    return std::ranges::find(of_arguments, kind) != of_arguments.end();
}

type_info inspect(MPI_Datatype type) {
    if (type == last.type) return last;
    type_info t;
    t.type = type;
    MPI_Count size = 0;
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Aint true_lower = 0;
    MPI_Aint true_extent = 0;
    check(MPI_Type_size_x(type, &size), "MPI_Type_size_x");
    check(MPI_Type_get_extent(type, &lower, &extent), "MPI_Type_get_extent");
    check(MPI_Type_get_true_extent(type, &true_lower, &true_extent), "MPI_Type_get_true_extent");
    t.size = size;
    t.extent = extent;
    t.true_lower = true_lower;
    t.true_extent = true_extent;
    t.dense = true_lower == 0 && size == extent && true_extent == extent && keeps_order(type);
    if (is_predefined(type)) last = t;
    return t;
}

std::int64_t element_bytes(MPI_Datatype type) {
    if (type == last.type) return last.size;
    MPI_Count size = 0;
    check(MPI_Type_size_x(type, &size), "MPI_Type_size_x");
    return size;
}

void check_committed(MPI_Datatype type, MPI_Comm comm) {
    if (type != last.type) check(pack_nothing(type, comm), "MPI_Pack");
}

std::size_t footprint(const type_info& t, std::int64_t n) {
    if (n == 0) return 0;
    return static_cast<std::size_t>(t.true_extent + (n - 1) * std::abs(t.extent));
}

std::ptrdiff_t origin(const type_info& t, std::int64_t n) {
    return -t.true_lower + (t.extent < 0 && n > 0 ? (n - 1) * -t.extent : 0);
}

void pack(const type_info& t, const void* elements, std::int64_t n, std::byte* bytes, MPI_Comm comm) {
    const packable same(t.type, elements, comm);
    const large_bytes large(t);
    in_runs(t, n, [&](std::int64_t first, int count) {
        const std::byte* const from = static_cast<const std::byte*>(same.address()) + first * t.extent;
        if (large.needed()) return copy_as(from, same.type(), bytes + first * t.size, large.type(), comm);
        int position = 0;
        const int room = static_cast<int>(count * t.size);
        check(MPI_Pack(from, count, same.type(), bytes + first * t.size, room, &position, comm), "MPI_Pack");
    });
}

void unpack(const type_info& t, const std::byte* bytes, void* elements, std::int64_t n, MPI_Comm comm) {
    const packable same(t.type, elements, comm);
    const large_bytes large(t);
    in_runs(t, n, [&](std::int64_t first, int count) {
        std::byte* const to = static_cast<std::byte*>(const_cast<void*>(same.address())) + first * t.extent;
        if (large.needed()) return copy_as(bytes + first * t.size, large.type(), to, same.type(), comm);
        int position = 0;
        const int room = static_cast<int>(count * t.size);
        check(MPI_Unpack(bytes + first * t.size, room, &position, to, count, same.type(), comm), "MPI_Unpack");
    });
}

void copy_elements(const type_info& t, const void* from, void* to, std::int64_t n, MPI_Comm comm) {
    if (t.dense) {
        std::memcpy(to, from, static_cast<std::size_t>(n * t.size));
        return;
    }
    const int me = rank_in(comm);
    in_runs(t, n, [&](std::int64_t first, int count) {
        check(
            MPI_Sendrecv(static_cast<const std::byte*>(from) + first * t.extent, count, t.type, me, 0,
                         static_cast<std::byte*>(to) + first * t.extent, count, t.type, me, 0, comm, MPI_STATUS_IGNORE),
            "MPI_Sendrecv");
    });
}

MPI_Datatype large_type(std::int64_t n, const type_info& t) {
    constexpr std::int64_t piece = 1 << 30;
    MPI_Datatype pieces = MPI_DATATYPE_NULL;
    MPI_Datatype many = MPI_DATATYPE_NULL;
    MPI_Datatype result = MPI_DATATYPE_NULL;
    check(MPI_Type_contiguous(piece, t.type, &pieces), "MPI_Type_contiguous");
    check(MPI_Type_contiguous(static_cast<int>(n / piece), pieces, &many), "MPI_Type_contiguous");
    const std::array<int, 2> counts{1, static_cast<int>(n % piece)};
    const std::array<MPI_Aint, 2> places{0, static_cast<MPI_Aint>(n / piece * piece * t.extent)};
    const std::array<MPI_Datatype, 2> types{many, t.type};
    check(MPI_Type_create_struct(2, counts.data(), places.data(), types.data(), &result), "MPI_Type_create_struct");
    check(MPI_Type_commit(&result), "MPI_Type_commit");
    check(MPI_Type_free(&pieces), "MPI_Type_free");
    check(MPI_Type_free(&many), "MPI_Type_free");
    return result;
}

}  // namespace rubato::engine
