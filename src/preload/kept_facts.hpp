// What Rubato knows of a call that ends later, with what that refers to.
#pragma once

#include "mpi/call_facts.hpp"
#include "preload/communicator_state.hpp"

#include <atomic>
#include <vector>

namespace rubato::preload {

struct kept_facts {
    kept_facts() = default;
    ~kept_facts() {
        for (MPI_Datatype& t : types) PMPI_Type_free(&t);
    }
    kept_facts(const kept_facts&) = delete;
    kept_facts& operator=(const kept_facts&) = delete;

    /// The program may free its datatypes from now on.
    void keep_types() { facts.keep_types(types); }

    /// Of a persistent call that Rubato makes: its request while it is under way.
    std::atomic<MPI_Request> under_way{MPI_REQUEST_NULL};
    side_chunks memory{};
    mpi::call_facts facts{};
    std::vector<MPI_Datatype> types{};
};

}  // namespace rubato::preload
