#include "engine/mpi/message_errors.hpp"

#include "engine/mpi/datatype.hpp"
#include "engine/mpi/private_communicator.hpp"

#include <algorithm>
#include <mutex>
#include <vector>

namespace rubato::engine {

#ifdef MPICH_VERSION

[[gnu::tls_model("initial-exec")]] constinit thread_local bool within_own_messages = false;

namespace {

/// A handler of ours and the one that it stands for. New communicators inherit it from MPI_COMM_WORLD, so it is kept
/// even if the program gives MPI_COMM_WORLD another one.
struct routing {
    MPI_Errhandler ours;
    MPI_Errhandler users;
};
struct routings {
    std::mutex mutex{};
    std::vector<routing> all{};
    private_communicator fatal{MPI_COMM_SELF};  // where errors end the program
    bool locked = false;                        // while a handler is called its communicator cannot be used

    routings() {
        check(MPI_Comm_set_errhandler(fatal.get(), MPI_ERRORS_ARE_FATAL), "MPI_Comm_set_errhandler");
        int level = MPI_THREAD_SINGLE;
        check(MPI_Query_thread(&level), "MPI_Query_thread");
        locked = level == MPI_THREAD_MULTIPLE;
    }
};
routings& known() {
    static auto& k = *new routings;  // errors may come at the very end
    return k;
}

/// To be freed.
MPI_Errhandler handler_of(MPI_Comm comm) {
    MPI_Errhandler h = MPI_ERRHANDLER_NULL;
    check(MPI_Comm_get_errhandler(comm, &h), "MPI_Comm_get_errhandler");
    return h;
}

/// The program's handler that `h` stands for, which is `h` itself if it is none of ours.
MPI_Errhandler meant_by(MPI_Errhandler h) {
    routings& k = known();
    const std::lock_guard lock(k.mutex);
    const auto found = std::ranges::find(k.all, h, &routing::ours);
    return found != k.all.end() ? found->users : h;
}

/// While it exists, the communicator has the program's handler. That handler may give it another one, and may throw.
class users_handler {
public:
    explicit users_handler(MPI_Comm comm) : comm_(comm), ours_(handler_of(comm)), users_(meant_by(ours_)) {
        MPI_Comm_set_errhandler(comm_, users_);
    }
    ~users_handler() {
        MPI_Errhandler now = MPI_ERRHANDLER_NULL;
        if (MPI_Comm_get_errhandler(comm_, &now) == MPI_SUCCESS && now == users_) MPI_Comm_set_errhandler(comm_, ours_);
        if (now != MPI_ERRHANDLER_NULL) MPI_Errhandler_free(&now);
        MPI_Errhandler_free(&ours_);
    }
    users_handler(const users_handler&) = delete;
    users_handler& operator=(const users_handler&) = delete;

private:
    MPI_Comm comm_;
    MPI_Errhandler ours_;
    MPI_Errhandler users_;
};

/// MPI has no call for a handler that is not a communicator's, so the communicator gets it for that time.
void hand_on(MPI_Comm comm, int code) {
    const users_handler now(comm);
    MPI_Comm_call_errhandler(comm, code);
}

void route(MPI_Comm* comm, int* code, ...) {  // NOLINT(cert-dcl50-cpp): MPI asks for it
    if (within_own_messages) return;
    if (known().locked)
        MPI_Comm_call_errhandler(known().fatal.get(), *code);
    else
        hand_on(*comm, *code);
}

bool is_needed(MPI_Errhandler of_user, MPI_Errhandler of_world) {
    if (of_user == MPI_ERRORS_ARE_FATAL || of_world == MPI_ERRORS_RETURN) return false;
    if (meant_by(of_user) == MPI_ERRORS_ARE_FATAL || meant_by(of_world) != of_world) return false;
    return of_world == MPI_ERRORS_ARE_FATAL || !known().locked;
}

}  // namespace

std::recursive_mutex& setting_handler() {
    static auto& m = *new std::recursive_mutex;  // another tool may call the entry of the same name with P
    return m;
}

void route_message_errors(MPI_Comm user) {
    MPI_Errhandler of_user = handler_of(user);  // before the lock: MPICH holds one while it calls that handler
    const std::lock_guard setting(setting_handler());
    MPI_Errhandler of_world = handler_of(MPI_COMM_WORLD);
    const bool needed = is_needed(of_user, of_world);
    MPI_Errhandler_free(&of_user);
    if (!needed) {
        MPI_Errhandler_free(&of_world);
        return;
    }
    routing r{MPI_ERRHANDLER_NULL, of_world};
    check(MPI_Comm_create_errhandler(route, &r.ours), "MPI_Comm_create_errhandler");
    {
        routings& k = known();
        const std::lock_guard lock(k.mutex);
        k.all.push_back(r);
    }
    check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, r.ours), "MPI_Comm_set_errhandler");
}

#else

void route_message_errors(MPI_Comm) {}

#endif

}  // namespace rubato::engine
