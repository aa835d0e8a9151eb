// The edge between Rubato and programs in C, which know error codes and no exceptions.
#pragma once

#include "rubato/mpi.hpp"

#include <new>

namespace rubato::engine {

/// Wrong use, with the MPI error code for it.
class misuse : public error {
public:
    misuse(int code, std::string_view problem, std::string_view reason, std::string_view way_out)
        : error(problem, reason, way_out), code_(code) {}
    /// With the message of another error.
    misuse(int code, const error& e) : error(e), code_(code) {}
    int code() const { return code_; }

private:
    int code_;
};

/// Says on stderr what is wrong with a call of the function `name`; returns the code.
int report(const char* name, const std::exception& e, int code) noexcept;

/// Ends the program, as a call of MPI would. An error code is not enough: a program that ignores it would go on without
/// its data.
void end_outside_of_mpi(const char* name) noexcept;

/// Throws unless it is an intra-communicator. For a freed one MPICH calls the world's error handler, as in its own
/// calls.
void check_communicator(MPI_Comm comm);

/// The body of the function `name`: no exception leaves it. Returns MPI_SUCCESS or an MPI error code.
template <class F>
int guarded(const char* name, F f) noexcept {
    end_outside_of_mpi(name);
    try {
        f();
        return MPI_SUCCESS;
    } catch (const misuse& e) {
        return report(name, e, e.code());
    } catch (const mpi::mpi_error& e) {
        return report(name, e, e.code());
    } catch (const error& e) {
        return report(name, e, MPI_ERR_ARG);
    } catch (const std::bad_alloc& e) {
        return report(name, e, MPI_ERR_NO_MEM);
    } catch (const std::exception& e) {
        return report(name, e, MPI_ERR_OTHER);
    }
}

}  // namespace rubato::engine
