// Errors of messages, where MPI calls name no communicator: MPI_Waitsome, MPI_Testsome, MPI_Wait.
//
// Open MPI calls the error handler of the request's communicator, which is Rubato's own and returns. MPICH 4 calls that
// of MPI_COMM_WORLD, which ends the program by default. There MPI_COMM_WORLD gets a handler that lets the errors of
// Rubato's messages return, and hands all others to the handler that it replaces. It knows Rubato's by a flag of the
// thread, which is all that a step pays for it.
//
// With MPI_THREAD_MULTIPLE, MPICH holds a lock of the communicator while it calls a handler, so that the handler cannot
// hand on to one that the program has written. There only MPI_ERRORS_ARE_FATAL is replaced, and a handler that the
// program has given to MPI_COMM_WORLD is called once more for a message of Rubato that is too long.
//
// A thread of the program may set the handler of MPI_COMM_WORLD while another one's call replaces it. In the drop-in
// both hold a lock, so that none is lost.
#pragma once

#include "rubato/core.hpp"

#include <mpi.h>

#include <mutex>

namespace rubato::engine {

/// Before messages are sent on behalf of `user`. Changes nothing if errors end the program there, or if they return
/// anyway: most programs never see another handler.
void route_message_errors(MPI_Comm user);

#ifdef MPICH_VERSION
/// Held while the handler of MPI_COMM_WORLD is replaced.
RUBATO_API std::recursive_mutex& setting_handler();

// Found by an offset, without a call, as this library is loaded with the program.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local bool within_own_messages;
#endif

/// While it lives, this thread's MPI calls complete Rubato's messages, and return their errors.
class [[maybe_unused]] message_errors_returned {
#ifdef MPICH_VERSION
public:
    message_errors_returned() { within_own_messages = true; }
    ~message_errors_returned() { within_own_messages = false; }
    message_errors_returned(const message_errors_returned&) = delete;
    message_errors_returned& operator=(const message_errors_returned&) = delete;
#endif
};

}  // namespace rubato::engine
