// Persistent collectives: made once, and counted each time they start.
//
// In mode force, with the background thread, Rubato makes their calls. Ranks may start them in any order, so their
// calls cannot be numbered together: each has an autopilot of its own. A generalised request of MPI is gone when its
// call has ended, and a persistent one is not. So the program keeps the native request, which is never started. What
// waits for it or tests it is given the generalised request of the call that is under way, or else MPI_REQUEST_NULL,
// which is ignored as an inactive one is.
#pragma once

#include "dropin/observe/recorder.hpp"
#include "dropin/preload/communicator_table.hpp"
#include "engine/mpi/call_facts.hpp"

#include <mpi.h>

#include <atomic>
#include <memory>
#include <vector>

namespace rubato::dropin {

/// What Rubato knows of a call that ends later, with what that refers to.
struct kept_facts {
    ~kept_facts() {
        for (MPI_Datatype& t : types) PMPI_Type_free(&t);
    }

    /// The program may free its datatypes from now on.
    void keep_types() { facts.keep_types(types); }

    /// Of a persistent call that Rubato makes: its request while it is under way.
    std::atomic<MPI_Request> under_way{MPI_REQUEST_NULL};
    side_chunks memory{};
    engine::call_facts facts{};
    std::vector<MPI_Datatype> types{};
};

struct persistent_call {
    /// Where it is recorded, a part of the mapped file, if anywhere. Calls may start in any order, and in any thread,
    /// so only sums are kept.
    sums* row = nullptr;
    std::int64_t bytes = 0;
    bool helped = false;                 ///< the background thread lets the MPI library go on with it
    std::shared_ptr<autopilot> by{};     ///< makes its calls; null: the MPI library does
    std::shared_ptr<kept_facts> what{};  ///< for `by`
    watched_request* watched = nullptr;  ///< for the watchdog; null: it is not told
    visit visited{};                     ///< by its first start
};

void remember(MPI_Request request, persistent_call made) noexcept;

/// Whether it is a persistent collective of which no call is under way: by Rubato or, as it says, by MPI.
bool is_idle(MPI_Request request) noexcept;

struct known_call;

/// While it lives, `get` has the requests of calls under way, or none, in the place of persistent ones.
class calls_under_way {
public:
    calls_under_way(int count, MPI_Request* requests) noexcept;
    /// Notes which of them have ended, and puts back what has become of the other requests.
    ~calls_under_way();
    calls_under_way(const calls_under_way&) = delete;
    calls_under_way& operator=(const calls_under_way&) = delete;

    MPI_Request* get() { return calls_.empty() ? requests_ : calls_.data(); }

private:
    MPI_Request* requests_;
    std::vector<MPI_Request> calls_{};     // empty if there is nothing to replace
    std::vector<known_call*> replaced_{};  // by each of them; null: the program's own request
};

}  // namespace rubato::dropin
