#include "nbc/handles.hpp"

#include "mpi/datatype.hpp"
#include "mpi/looked_at_calls.hpp"
#include "mpi/predefined.hpp"
#include "mpi/process.hpp"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <utility>

namespace rubato::nbc {
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
        if (k->ours) meet(mpi::looked_at_calls(*k->ours).comm());
    } catch (const std::exception&) {
        // What follows finds it, too.
    }
    return MPI_SUCCESS;
}

int key_of_known() {
    static const int key = [] {
        int made = MPI_KEYVAL_INVALID;
        mpi::check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, user_frees, &made, nullptr), "MPI_Comm_create_keyval");
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
        default: return NBC_INVALID_PARAM;
    }
}

known& known_of(MPI_Comm comm) {
    mpi::check_communicator(comm);
    void* attribute = nullptr;
    int found = 0;
    mpi::check(MPI_Comm_get_attr(comm, key_of_known(), &attribute, &found), "MPI_Comm_get_attr");
    if (found != 0) return *static_cast<known*>(attribute);
    auto made = std::make_unique<known>();
    mpi::check(MPI_Comm_set_attr(comm, key_of_known(), made.get()), "MPI_Comm_set_attr");
    return *made.release();
}

void meet(MPI_Comm comm) {
    MPI_Request all = MPI_REQUEST_NULL;
    mpi::check(PMPI_Ibarrier(comm, &all), "MPI_Ibarrier");
    for (int there = 0;;) {
        mpi::check(PMPI_Test(&all, &there, MPI_STATUS_IGNORE), "MPI_Test");
        if (there != 0) return;
        (void)mpi::under_way_here().help(nullptr, false);
        std::this_thread::yield();  // one that it waits for may need this core
    }
}

known& prepared(MPI_Comm comm) {
    known& k = known_of(comm);
    if (!k.ours) {
        meet(comm);
        k.ours.emplace(comm);
    }
    return k;
}

kept_types::~kept_types() {
    for (MPI_Datatype& t : own_) MPI_Type_free(&t);
}

MPI_Datatype kept_types::keep(MPI_Datatype type) {
    if (mpi::is_predefined(type)) return type;
    MPI_Datatype own = MPI_DATATYPE_NULL;
    mpi::check(MPI_Type_dup(type, &own), "MPI_Type_dup");
    return own_.emplace_back(own);
}

std::int64_t data::bytes() const { return count * mpi::element_bytes(type); }

void check_data(const data& d) {
    if (d.count < 0)
        throw mpi::misuse(MPI_ERR_COUNT, fmt::format("a count of {}", d.count), "it counts elements",
                          "check the arguments");
    if (d.type == MPI_DATATYPE_NULL)
        throw mpi::misuse(MPI_ERR_TYPE, "no datatype", "MPI_DATATYPE_NULL describes no data", "check the arguments");
    {
        const mpi::errors_returned instead_of_ending;
        mpi::check_committed(d.type, MPI_COMM_SELF);
    }
    // A datatype may hold addresses.
    if (d.address == nullptr && d.bytes() > 0 && mpi::inspect(d.type).true_lower == 0)
        throw mpi::misuse(MPI_ERR_BUFFER, "no buffer", "there is data to move", "check the arguments");
}

void check_operator(MPI_Op op, MPI_Datatype type) {
    if (op == MPI_OP_NULL)
        throw mpi::misuse(MPI_ERR_OP, "no operator", "MPI_OP_NULL combines nothing", "check the arguments");
    if (mpi::number_of_op(op) < 0) return;
    const mpi::errors_returned instead_of_ending;
    std::array<std::byte, 64> nothing{};
    mpi::check(MPI_Reduce_local(nothing.data(), nothing.data() + 32, 0, type, op), "MPI_Reduce_local");
}

void check_fits(const data& from, const data& to) {
    if (from.bytes() > to.bytes())
        throw mpi::misuse(MPI_ERR_TRUNCATE,
                          fmt::format("{} for {}", format_bytes(to.bytes()), format_bytes(from.bytes())),
                          "data is copied whole", "make room for it");
    if (from.bytes() > 0 && from.bytes() % mpi::element_bytes(to.type) != 0)
        throw mpi::misuse(
            MPI_ERR_TYPE,
            fmt::format("{} to elements of {}", format_bytes(from.bytes()), format_bytes(mpi::element_bytes(to.type))),
            "elements are copied whole", "check counts and datatypes");
}

void copy_data(const data& from, const data& to) {
    check_fits(from, to);
    if (from.bytes() == 0) return;
    const mpi::type_info in = mpi::inspect(from.type);
    const mpi::type_info out = mpi::inspect(to.type);
    if (in.dense && out.dense) {
        std::memmove(to.address, from.address, static_cast<std::size_t>(from.bytes()));
        return;
    }
    std::vector<std::byte> packed(static_cast<std::size_t>(from.bytes()));
    mpi::pack(in, from.address, from.count, packed.data(), MPI_COMM_SELF);
    mpi::unpack(out, packed.data(), to.address, from.bytes() / out.size, MPI_COMM_SELF);
}

data room_like(const data& d, std::vector<std::byte>& memory) {
    const mpi::type_info t = mpi::inspect(d.type);
    // A user's operator may write whole elements, with what is behind their data.
    memory.resize(mpi::footprint(t, d.count) + static_cast<std::size_t>(std::abs(t.extent)));
    return {memory.data() + mpi::origin(t, d.count), d.count, d.type};
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
        throw mpi::misuse(MPI_ERR_ARG, "no handle", "an operation is known by it", "pass the address of one");
    return *handle;
}

}  // namespace rubato::nbc
