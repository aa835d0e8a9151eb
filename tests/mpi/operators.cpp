// What MPI's table says of operators and datatypes holds in this MPI library: what Rubato combines, the library
// combines.
#include "engine/mpi/predefined.hpp"

#include <fmt/format.h>

#include <array>

int main(int argc, char** argv) {
    using namespace rubato::engine;
    int wrong = 0;
    int checked = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    for (std::size_t t = 0; t < predefined_types().size(); ++t) {
        const MPI_Datatype type = predefined_types()[t].type;
        for (std::size_t o = 0; o < predefined_ops().size(); ++o) {
            alignas(64) std::array<std::byte, 64> left{};
            alignas(64) std::array<std::byte, 64> into{};
            if (type == MPI_DATATYPE_NULL || !combines(type, predefined_ops()[o].op)) continue;
            ++checked;
            if (MPI_Reduce_local(left.data(), into.data(), 1, type, predefined_ops()[o].op) == MPI_SUCCESS) continue;
            fmt::print(stderr, "the library does not combine type {} by operator {}\n", t, o);
            ++wrong;
        }
    }
    if (combines(MPI_INT, MPI_REPLACE) || combines(MPI_INT, MPI_MINLOC) || !combines(MPI_2INT, MPI_MINLOC)) ++wrong;
    fmt::print("{} reductions, {} wrong\n", checked, wrong);
    MPI_Finalize();
    return wrong != 0 || checked < 100 ? 1 : 0;
}
