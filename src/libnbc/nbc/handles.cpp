#include "libnbc/nbc/handles.hpp"

#include "engine/mpi/datatype.hpp"
#include "engine/mpi/inner_communicator.hpp"
#include "engine/mpi/process.hpp"

#include <utility>

namespace rubato::libnbc {
namespace {

/// MPI calls this when a communicator is freed, on all its ranks. What is under way on it is ended first, so that its
/// handles can still be asked.
int user_frees(MPI_Comm, int, void* attribute, void*) noexcept {
    const std::unique_ptr<known> k(static_cast<known*>(attribute));
    for (started* const s : k->under_way) {
        try {
            (void)s->what->progress(true);
        } catch (...) {
            s->trouble = std::current_exception();
        }
        s->what.reset();
        s->ended = true;
        s->on = nullptr;
    }
    try {
        if (k->ours) meet(engine::inner_communicator(*k->ours).comm());
    } catch (const std::exception&) {
        // What follows finds it, too.
    }
    return MPI_SUCCESS;
}

int key_of_known() {
    static const int key = [] {
        int made = MPI_KEYVAL_INVALID;
        engine::check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, user_frees, &made, nullptr),
                      "MPI_Comm_create_keyval");
        return made;
    }();
    return key;
}

}  // namespace

int nbc_code(int code) noexcept {
    if (code == MPI_SUCCESS) return NBC_OK;
    int kind = MPI_ERR_OTHER;
    MPI_Error_class(code, &kind);
    switch (kind) {
        case MPI_ERR_NO_MEM: return NBC_OOR;
        case MPI_ERR_REQUEST: return NBC_BAD_SCHED;
        case MPI_ERR_TYPE: return NBC_DATATYPE_NOT_SUPPORTED;
        case MPI_ERR_OP: return NBC_OP_NOT_SUPPORTED;
        case MPI_ERR_UNSUPPORTED_OPERATION: return NBC_NOT_IMPLEMENTED;
        case MPI_ERR_TOPOLOGY: return NBC_INVALID_TOPOLOGY_COMM;
        default: return NBC_INVALID_PARAM;
    }
}

known& known_of(MPI_Comm comm) {
    engine::check_communicator(comm);
    void* attribute = nullptr;
    int found = 0;
    engine::check(MPI_Comm_get_attr(comm, key_of_known(), &attribute, &found), "MPI_Comm_get_attr");
    if (found != 0) return *static_cast<known*>(attribute);
    auto made = std::make_unique<known>();
    engine::check(MPI_Comm_set_attr(comm, key_of_known(), made.get()), "MPI_Comm_set_attr");
    return *made.release();
}

void meet(MPI_Comm comm) {
    MPI_Request all = MPI_REQUEST_NULL;
    engine::check(PMPI_Ibarrier(comm, &all), "MPI_Ibarrier");
    engine::wait_for(all);
}

known& prepared(MPI_Comm comm) {
    known& k = known_of(comm);
    if (!k.ours) {
        meet(comm);
        k.ours.emplace(comm);
    }
    return k;
}

void give(NBC_Handle& handle, std::unique_ptr<operation> what, known& on) {
    auto s = std::make_unique<started>();
    s->what = std::move(what);
    s->on = &on;
    s->self = on.under_way.insert(on.under_way.end(), s.get());
    handle.operation = s.release();
}

bool advance(NBC_Handle& handle, bool wait) {
    if (handle.operation == nullptr) return true;
    std::unique_ptr<started> s(static_cast<started*>(handle.operation));
    if (!s->ended) {
        try {
            if (!s->what->progress(wait)) {
                (void)s.release();
                return false;
            }
        } catch (...) {
            s->trouble = std::current_exception();
        }
        s->on->under_way.erase(s->self);
    }
    handle = {};
    if (s->trouble) std::rethrow_exception(s->trouble);
    return true;
}

NBC_Handle& check_handle(NBC_Handle* handle) {
    if (handle == nullptr)
        throw engine::misuse(MPI_ERR_ARG, "no handle", "an operation is known by it", "pass the address of one");
    return *handle;
}

}  // namespace rubato::libnbc
