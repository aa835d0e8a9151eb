#include "libnbc/nbc/mpi_data.hpp"

#include "engine/mpi/c_edge.hpp"
#include "engine/mpi/datatype.hpp"
#include "engine/mpi/predefined.hpp"
#include "engine/mpi/process.hpp"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

namespace rubato::libnbc {

kept_types::~kept_types() {
    for (MPI_Datatype& t : own_) MPI_Type_free(&t);
}

MPI_Datatype kept_types::keep(MPI_Datatype type) {
    if (engine::is_predefined(type)) return type;
    MPI_Datatype own = MPI_DATATYPE_NULL;
    engine::check(MPI_Type_dup(type, &own), "MPI_Type_dup");
    return own_.emplace_back(own);
}

std::int64_t data::bytes() const { return count * engine::element_bytes(type); }

void check_data(const data& d) {
    if (d.count < 0)
        throw engine::misuse(MPI_ERR_COUNT, fmt::format("a count of {}", d.count), "it counts elements",
                             "check the arguments");
    if (d.type == MPI_DATATYPE_NULL)
        throw engine::misuse(MPI_ERR_TYPE, "no datatype", "MPI_DATATYPE_NULL describes no data", "check the arguments");
    engine::check_committed(d.type, engine::own_self());
    // A datatype may hold addresses.
    if (d.address == nullptr && d.bytes() > 0 && engine::inspect(d.type).true_lower == 0)
        throw engine::misuse(MPI_ERR_BUFFER, "no buffer", "there is data to move", "check the arguments");
}

void check_operator(MPI_Op op, MPI_Datatype type) {
    if (op == MPI_OP_NULL)
        throw engine::misuse(MPI_ERR_OP, "no operator", "MPI_OP_NULL combines nothing", "check the arguments");
    if (!engine::combines(type, op)) throw mpi::mpi_error("a reduction of this datatype", MPI_ERR_OP);
}

void check_fits(const data& from, const data& to) {
    if (from.bytes() > to.bytes())
        throw engine::misuse(MPI_ERR_TRUNCATE,
                             fmt::format("{} for {}", format_bytes(to.bytes()), format_bytes(from.bytes())),
                             "data is copied whole", "make room for it");
    if (from.bytes() > 0 && from.bytes() % engine::element_bytes(to.type) != 0)
        throw engine::misuse(MPI_ERR_TYPE,
                             fmt::format("{} to elements of {}", format_bytes(from.bytes()),
                                         format_bytes(engine::element_bytes(to.type))),
                             "elements are copied whole", "check counts and datatypes");
}

void copy_data(const data& from, const data& to) {
    check_fits(from, to);
    if (from.bytes() == 0) return;
    const engine::type_info in = engine::inspect(from.type);
    const engine::type_info out = engine::inspect(to.type);
    if (in.dense && out.dense) {
        std::memmove(to.address, from.address, static_cast<std::size_t>(from.bytes()));
        return;
    }
    std::vector<std::byte> packed(static_cast<std::size_t>(from.bytes()));
    engine::pack(in, from.address, from.count, packed.data(), engine::own_self());
    engine::unpack(out, packed.data(), to.address, from.bytes() / out.size, engine::own_self());
}

data room_like(const data& d, std::vector<std::byte>& memory) {
    const engine::type_info t = engine::inspect(d.type);
    // A user's operator may write whole elements, with what is behind their data.
    memory.resize(engine::footprint(t, d.count) + static_cast<std::size_t>(std::abs(t.extent)));
    return {memory.data() + engine::origin(t, d.count), d.count, d.type};
}

}  // namespace rubato::libnbc
