// MPICH: the program sets the error handler of MPI_COMM_WORLD, which Rubato may be about to replace
// (mpi/message_errors.hpp).
#include "mpi/message_errors.hpp"
#include "preload/next.hpp"
#include "preload/session.hpp"

#ifdef MPICH_VERSION

namespace rubato::preload {
namespace {

template <class Native>
int set_handler(const void* site, MPI_Comm comm, const Native& native) {
    const session* const now = running.load(std::memory_order_acquire);
    if (comm != MPI_COMM_WORLD || now == nullptr || now->is_own(site)) return native();  // ours holds the lock
    const std::lock_guard lock(mpi::setting_handler());
    return native();
}

}  // namespace
}  // namespace rubato::preload

using namespace rubato::preload;

#define ENTRIES(prefix)                                                                                       \
    extern "C" RUBATO_API int prefix##_Comm_set_errhandler(MPI_Comm comm, MPI_Errhandler handler) {           \
        static const auto next = next_function(prefix##_Comm_set_errhandler, #prefix "_Comm_set_errhandler"); \
        return set_handler(__builtin_return_address(0), comm, [&] { return next(comm, handler); });           \
    }

ENTRIES(MPI)
ENTRIES(PMPI)

#endif
