// The MPI library's own non-blocking collective, in the place of a run of a plan.
#pragma once

#include "engine/player.hpp"
#include "rubato/mpi.hpp"

#include <exception>

namespace rubato::mpi {

class native_run final : public improvisation {
public:
    /// Begins. What goes wrong later is put in `wrong`: other calls can go on.
    native_run(native_call& call, std::exception_ptr& wrong) : call_(call), wrong_(wrong) { call_.start(); }

    bool progress() override {
        try {
            return call_.test();
        } catch (const mpi_error&) {
            wrong_ = std::current_exception();
            return true;
        }
    }

private:
    native_call& call_;
    std::exception_ptr& wrong_;
};

}  // namespace rubato::mpi
