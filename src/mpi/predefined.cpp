#include "mpi/predefined.hpp"

#include <algorithm>
#include <array>
#include <type_traits>

namespace rubato::mpi {
namespace {

template <class List, class Handle, class Row>
std::int32_t place(const List& list, Handle h, Handle Row::*member) {
    const auto found = std::ranges::find(list, h, member);
    return found == list.end() ? -1 : static_cast<std::int32_t>(found - list.begin());
}

// The most used come first, as every call searches here. Handles are not constants in Open MPI.

const auto& types() {
    static const std::array all{
        predefined_type{MPI_DOUBLE, false},
        predefined_type{MPI_INT, true},
        predefined_type{MPI_FLOAT, false},
        predefined_type{MPI_LONG, true},
        predefined_type{MPI_BYTE, true},
        predefined_type{MPI_CHAR, true},
        predefined_type{MPI_SIGNED_CHAR, true},
        predefined_type{MPI_UNSIGNED_CHAR, true},
        predefined_type{MPI_WCHAR, true},
        predefined_type{MPI_SHORT, true},
        predefined_type{MPI_UNSIGNED_SHORT, true},
        predefined_type{MPI_UNSIGNED, true},
        predefined_type{MPI_UNSIGNED_LONG, true},
        predefined_type{MPI_LONG_LONG, true},
        predefined_type{MPI_UNSIGNED_LONG_LONG, true},
        predefined_type{MPI_INT8_T, true},
        predefined_type{MPI_INT16_T, true},
        predefined_type{MPI_INT32_T, true},
        predefined_type{MPI_INT64_T, true},
        predefined_type{MPI_UINT8_T, true},
        predefined_type{MPI_UINT16_T, true},
        predefined_type{MPI_UINT32_T, true},
        predefined_type{MPI_UINT64_T, true},
        predefined_type{MPI_AINT, true},
        predefined_type{MPI_COUNT, true},
        predefined_type{MPI_OFFSET, true},
        predefined_type{MPI_C_BOOL, true},
        predefined_type{MPI_INTEGER, true},
        predefined_type{MPI_LOGICAL, true},
        predefined_type{MPI_2INT, true},
        predefined_type{MPI_LONG_INT, true},
        predefined_type{MPI_SHORT_INT, true},
        predefined_type{MPI_LONG_DOUBLE, false},
        predefined_type{MPI_FLOAT_INT, false},
        predefined_type{MPI_DOUBLE_INT, false},
        predefined_type{MPI_C_FLOAT_COMPLEX, false},
        predefined_type{MPI_C_DOUBLE_COMPLEX, false},
        predefined_type{MPI_REAL, false},
        predefined_type{MPI_DOUBLE_PRECISION, false},
    };
    return all;
}

const auto& ops() {
    static const std::array all{
        predefined_op{MPI_SUM, false},  predefined_op{MPI_MAX, true},    predefined_op{MPI_MIN, true},
        predefined_op{MPI_PROD, false}, predefined_op{MPI_LAND, true},   predefined_op{MPI_LOR, true},
        predefined_op{MPI_BAND, true},  predefined_op{MPI_BOR, true},    predefined_op{MPI_LXOR, false},
        predefined_op{MPI_BXOR, false}, predefined_op{MPI_MINLOC, true}, predefined_op{MPI_MAXLOC, true},
    };
    return all;
}

}  // namespace

std::span<const predefined_type> predefined_types() { return types(); }
std::span<const predefined_op> predefined_ops() { return ops(); }

std::int32_t number_of_type(MPI_Datatype type) { return place(types(), type, &predefined_type::type); }
std::int32_t number_of_op(MPI_Op op) { return place(ops(), op, &predefined_op::op); }

std::atomic<bool>& known_to_combine(std::int32_t type, std::int32_t op) {
    constexpr std::size_t all_types = std::tuple_size_v<std::remove_cvref_t<decltype(types())>>;
    constexpr std::size_t all_ops = std::tuple_size_v<std::remove_cvref_t<decltype(ops())>>;
    static std::array<std::array<std::atomic<bool>, all_ops>, all_types> known{};
    return known[static_cast<std::size_t>(type)][static_cast<std::size_t>(op)];
}

}  // namespace rubato::mpi
