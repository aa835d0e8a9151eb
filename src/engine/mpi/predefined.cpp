#include "engine/mpi/predefined.hpp"

#include <algorithm>
#include <array>

namespace rubato::engine {
namespace {

template <class List, class Handle, class Row>
std::int32_t place(const List& list, Handle h, Handle Row::*member) {
    const auto found = std::ranges::find(list, h, member);
    return found == list.end() ? -1 : static_cast<std::int32_t>(found - list.begin());
}

// The most used come first, as every call searches here. Handles are not constants in Open MPI.

const auto& types() {
    static const std::array all{
        predefined_type{MPI_DOUBLE, of_kind::floating, false},
        predefined_type{MPI_INT, of_kind::integer, true},
        predefined_type{MPI_FLOAT, of_kind::floating, false},
        predefined_type{MPI_LONG, of_kind::integer, true},
        predefined_type{MPI_BYTE, of_kind::byte, true},
        predefined_type{MPI_CHAR, of_kind::character, true},
        predefined_type{MPI_SIGNED_CHAR, of_kind::integer, true},
        predefined_type{MPI_UNSIGNED_CHAR, of_kind::integer, true},
        predefined_type{MPI_WCHAR, of_kind::character, true},
        predefined_type{MPI_SHORT, of_kind::integer, true},
        predefined_type{MPI_UNSIGNED_SHORT, of_kind::integer, true},
        predefined_type{MPI_UNSIGNED, of_kind::integer, true},
        predefined_type{MPI_UNSIGNED_LONG, of_kind::integer, true},
        predefined_type{MPI_LONG_LONG, of_kind::integer, true},
        predefined_type{MPI_UNSIGNED_LONG_LONG, of_kind::integer, true},
        predefined_type{MPI_INT8_T, of_kind::integer, true},
        predefined_type{MPI_INT16_T, of_kind::integer, true},
        predefined_type{MPI_INT32_T, of_kind::integer, true},
        predefined_type{MPI_INT64_T, of_kind::integer, true},
        predefined_type{MPI_UINT8_T, of_kind::integer, true},
        predefined_type{MPI_UINT16_T, of_kind::integer, true},
        predefined_type{MPI_UINT32_T, of_kind::integer, true},
        predefined_type{MPI_UINT64_T, of_kind::integer, true},
        predefined_type{MPI_AINT, of_kind::address, true},
        predefined_type{MPI_COUNT, of_kind::address, true},
        predefined_type{MPI_OFFSET, of_kind::address, true},
        predefined_type{MPI_C_BOOL, of_kind::logical, true},
        predefined_type{MPI_INTEGER, of_kind::fortran_integer, true},
        predefined_type{MPI_LOGICAL, of_kind::logical, true},
        predefined_type{MPI_2INT, of_kind::pair, true},
        predefined_type{MPI_LONG_INT, of_kind::pair, true},
        predefined_type{MPI_SHORT_INT, of_kind::pair, true},
        predefined_type{MPI_LONG_DOUBLE, of_kind::floating, false},
        predefined_type{MPI_FLOAT_INT, of_kind::pair, false},
        predefined_type{MPI_DOUBLE_INT, of_kind::pair, false},
        predefined_type{MPI_C_FLOAT_COMPLEX, of_kind::complex, false},
        predefined_type{MPI_C_DOUBLE_COMPLEX, of_kind::complex, false},
        predefined_type{MPI_REAL, of_kind::floating, false},
        predefined_type{MPI_DOUBLE_PRECISION, of_kind::floating, false},
        predefined_type{MPI_REAL4, of_kind::floating, false},
        predefined_type{MPI_REAL8, of_kind::floating, false},
        predefined_type{MPI_INTEGER1, of_kind::fortran_integer, true},
        predefined_type{MPI_INTEGER2, of_kind::fortran_integer, true},
        predefined_type{MPI_INTEGER4, of_kind::fortran_integer, true},
        predefined_type{MPI_INTEGER8, of_kind::fortran_integer, true},
        predefined_type{MPI_COMPLEX, of_kind::complex, false},
        predefined_type{MPI_DOUBLE_COMPLEX, of_kind::complex, false},
        predefined_type{MPI_COMPLEX8, of_kind::complex, false},
        predefined_type{MPI_COMPLEX16, of_kind::complex, false},
        predefined_type{MPI_C_LONG_DOUBLE_COMPLEX, of_kind::complex, false},
        predefined_type{MPI_LONG_DOUBLE_INT, of_kind::pair, false},
        predefined_type{MPI_2INTEGER, of_kind::pair, true},
        predefined_type{MPI_2REAL, of_kind::pair, false},
        predefined_type{MPI_2DOUBLE_PRECISION, of_kind::pair, false},
    };
    return all;
}

const auto& ops() {
    constexpr std::uint16_t whole = of_kind::integer | of_kind::fortran_integer | of_kind::address;
    constexpr std::uint16_t ordered = whole | of_kind::floating;
    static const std::array all{
        predefined_op{MPI_SUM, false, ordered | of_kind::complex},
        predefined_op{MPI_MAX, true, ordered},
        predefined_op{MPI_MIN, true, ordered},
        predefined_op{MPI_PROD, false, ordered | of_kind::complex},
        predefined_op{MPI_LAND, true, of_kind::integer | of_kind::logical},
        predefined_op{MPI_LOR, true, of_kind::integer | of_kind::logical},
        predefined_op{MPI_BAND, true, whole | of_kind::byte},
        predefined_op{MPI_BOR, true, whole | of_kind::byte},
        predefined_op{MPI_LXOR, false, of_kind::integer | of_kind::logical},
        predefined_op{MPI_BXOR, false, whole | of_kind::byte},
        predefined_op{MPI_MINLOC, true, of_kind::pair},
        predefined_op{MPI_MAXLOC, true, of_kind::pair},
    };
    return all;
}

}  // namespace

std::span<const predefined_type> predefined_types() { return types(); }
std::span<const predefined_op> predefined_ops() { return ops(); }

std::int32_t number_of_type(MPI_Datatype type) { return place(types(), type, &predefined_type::type); }
std::int32_t number_of_op(MPI_Op op) { return place(ops(), op, &predefined_op::op); }

bool combines(MPI_Datatype type, MPI_Op op) {
    const std::int32_t o = number_of_op(op);
    if (o < 0) return op != MPI_REPLACE && op != MPI_NO_OP;  // these are for windows
    const std::int32_t t = number_of_type(type);
    return t >= 0 &&
           (types()[static_cast<std::size_t>(t)].kind & predefined_ops()[static_cast<std::size_t>(o)].kinds) != 0;
}

}  // namespace rubato::engine
