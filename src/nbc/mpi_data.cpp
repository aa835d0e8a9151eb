#include "nbc/mpi_data.hpp"

#include "mpi/c_edge.hpp"
#include "mpi/datatype.hpp"
#include "mpi/predefined.hpp"
#include "mpi/process.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

namespace rubato::nbc {

kept_types::~kept_types() {
    for (MPI_Datatype& t : own_) MPI_Type_free(&t);
}

MPI_Datatype kept_types::keep(MPI_Datatype type) {
    if (mpi::is_predefined(type)) return type;
    MPI_Datatype own = MPI_DATATYPE_NULL;
    mpi::check(MPI_Type_dup(type, &own), "MPI_Type_dup");
    return own_.emplace_back(own);
}

std::int64_t data::bytes() const { return count * mpi::element_bytes(type); }

void check_data(const data& d) {
    if (d.count < 0)
        throw mpi::misuse(MPI_ERR_COUNT, fmt::format("a count of {}", d.count), "it counts elements",
                          "check the arguments");
    if (d.type == MPI_DATATYPE_NULL)
        throw mpi::misuse(MPI_ERR_TYPE, "no datatype", "MPI_DATATYPE_NULL describes no data", "check the arguments");
    mpi::check_committed(d.type, mpi::own_self());
    // A datatype may hold addresses.
    if (d.address == nullptr && d.bytes() > 0 && mpi::inspect(d.type).true_lower == 0)
        throw mpi::misuse(MPI_ERR_BUFFER, "no buffer", "there is data to move", "check the arguments");
}

void check_operator(MPI_Op op, MPI_Datatype type) {
    if (op == MPI_OP_NULL)
        throw mpi::misuse(MPI_ERR_OP, "no operator", "MPI_OP_NULL combines nothing", "check the arguments");
    if (!mpi::combines(type, op)) throw mpi::mpi_error("a reduction of this datatype", MPI_ERR_OP);
}

void check_fits(const data& from, const data& to) {
    if (from.bytes() > to.bytes())
        throw mpi::misuse(MPI_ERR_TRUNCATE,
                          fmt::format("{} for {}", format_bytes(to.bytes()), format_bytes(from.bytes())),
                          "data is copied whole", "make room for it");
    if (from.bytes() > 0 && from.bytes() % mpi::element_bytes(to.type) != 0)
        throw mpi::misuse(
            MPI_ERR_TYPE,
            fmt::format("{} to elements of {}", format_bytes(from.bytes()), format_bytes(mpi::element_bytes(to.type))),
            "elements are copied whole", "check counts and datatypes");
}

void copy_data(const data& from, const data& to) {
    check_fits(from, to);
    if (from.bytes() == 0) return;
    const mpi::type_info in = mpi::inspect(from.type);
    const mpi::type_info out = mpi::inspect(to.type);
    if (in.dense && out.dense) {
        std::memmove(to.address, from.address, static_cast<std::size_t>(from.bytes()));
        return;
    }
    std::vector<std::byte> packed(static_cast<std::size_t>(from.bytes()));
    mpi::pack(in, from.address, from.count, packed.data(), mpi::own_self());
    mpi::unpack(out, packed.data(), to.address, from.bytes() / out.size, mpi::own_self());
}

data room_like(const data& d, std::vector<std::byte>& memory) {
    const mpi::type_info t = mpi::inspect(d.type);
    // A user's operator may write whole elements, with what is behind their data.
    memory.resize(mpi::footprint(t, d.count) + static_cast<std::size_t>(std::abs(t.extent)));
    return {memory.data() + mpi::origin(t, d.count), d.count, d.type};
}

}  // namespace rubato::nbc
