// Data in memory as MPI describes it: checked, copied, and its types kept alive.
#pragma once

#include "rubato/core.hpp"

#include <mpi.h>

#include <cstddef>
#include <vector>

namespace rubato::libnbc {

/// Datatypes that the program may free before an operation has ended.
class kept_types {
public:
    kept_types() = default;
    ~kept_types();
    kept_types(const kept_types&) = delete;
    kept_types& operator=(const kept_types&) = delete;

    MPI_Datatype keep(MPI_Datatype type);

private:
    std::vector<MPI_Datatype> own_{};
};

/// Elements in memory, as MPI describes them.
struct data {
    void* address = nullptr;
    int count = 0;
    MPI_Datatype type = MPI_BYTE;

    std::int64_t bytes() const;
};
/// Throws if there is no such data, or its type is not committed.
void check_data(const data& d);
/// Throws if MPI does not combine data of this type so. Later it would end the program.
void check_operator(MPI_Op op, MPI_Datatype type);
/// Throws if there is no room for it.
void check_fits(const data& from, const data& to);
/// Their types may differ.
void copy_data(const data& from, const data& to);
/// Makes room for as much in `memory`.
data room_like(const data& d, std::vector<std::byte>& memory);

}  // namespace rubato::libnbc
