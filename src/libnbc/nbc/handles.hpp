// What LibNBC's interface keeps: of a communicator that the program has used with it, and of an operation under way.
#pragma once

#include "engine/mpi/c_edge.hpp"
#include "engine/mpi/private_communicator.hpp"
#include "rubato/nbc.h"

#include <exception>
#include <list>
#include <memory>
#include <optional>
#include <string>

namespace rubato::libnbc {

/// The NBC code for an MPI error code.
int nbc_code(int code) noexcept;

/// The body of the function `name`: no exception leaves it.
template <class F>
int answer(const char* name, F f) noexcept {
    return nbc_code(engine::guarded(name, f));
}

/// Something that was started.
class operation {
public:
    operation() = default;
    virtual ~operation() = default;
    operation(const operation&) = delete;
    operation& operator=(const operation&) = delete;

    /// Makes progress, with `wait` until it has ended; true if it has. Throws if it has failed; then it has ended, too.
    virtual bool progress(bool wait) = 0;
    /// The steps of this rank.
    virtual std::string steps() const = 0;
};

struct started;

/// It lives as long as the program's communicator.
struct known {
    std::optional<mpi::communicator> ours{};  ///< once something was started on it
    std::string bcast{}, allreduce{};         ///< the algorithms that were asked for, by LibNBC's numbers
    std::list<started*> under_way{};          ///< in the order of their starts

    // Of schedules that the program has built:
    std::optional<engine::private_communicator> built{};  ///< their messages; once one was started
    std::uint64_t next_built = 0;
};
/// Throws if it is no intra-communicator. Local.
known& known_of(MPI_Comm comm);
/// The same with `ours`: collective the first time.
known& prepared(MPI_Comm comm);
/// Before something that waits for other ranks: comes back when all are there, and goes on with what is under way until
/// then, as another rank may have to be done with that first. Collective.
void meet(MPI_Comm comm);

/// What a handle points to.
struct started {
    std::unique_ptr<operation> what{};
    known* on = nullptr;
    std::list<started*>::iterator self{};
    bool ended = false;            ///< since its communicator was freed,
    std::exception_ptr trouble{};  ///< with this
    std::string text{};            ///< given by NBC_Get_schedule
};

/// The handle is that of the operation from now on.
void give(NBC_Handle& handle, std::unique_ptr<operation> what, known& on);
/// Makes progress, with `wait` until it has ended; true if it has, and the handle is one of nothing then. Throws if the
/// operation has failed.
bool advance(NBC_Handle& handle, bool wait);
/// Throws if there is none.
NBC_Handle& check_handle(NBC_Handle* handle);

}  // namespace rubato::libnbc
