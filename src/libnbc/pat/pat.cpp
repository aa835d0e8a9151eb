#include "rubato/pat.h"

#include "engine/mpi/c_edge.hpp"
#include "engine/mpi/datatype.hpp"
#include "rubato/mpi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <list>
#include <map>
#include <optional>
#include <utility>

namespace rubato::libnbc {
namespace {

/// What the program has told by PAT calls so far.
struct program_state {
    /// Rubato on one of the program's communicators.
    struct known {
        MPI_Comm user;
        mpi::communicator ours;
        bool computing = false;
    };

    bool initialised = false;  // by PAT_Init
    int keyval = MPI_KEYVAL_INVALID;
    std::list<known> communicators{};  // in the order of their first use, which is the same on all their ranks
    std::map<collective, mpi::selection> chosen{};
    std::optional<mpi::roll_call_options> roll_call{};
    mpi::communicator* last_used = nullptr;

    bool computing = false;
    bool repeat = false;
    bool first_after = false;  // no collective since the computation has ended
    mpi::communicator* repeated_on = nullptr;
    std::optional<mpi::outline> repeated{};

    std::list<known>::iterator find(MPI_Comm comm) { return std::ranges::find(communicators, comm, &known::user); }
    void forget(std::list<known>::iterator k) {
        if (last_used == &k->ours) last_used = nullptr;
        if (repeated_on == &k->ours) repeated_on = nullptr;
        communicators.erase(k);
    }
};
program_state& program() {
    static auto& p = *new program_state;  // never destroyed: MPI may be gone by then
    return p;
}

/// MPI calls this when a communicator is freed, on all its ranks.
int frees_known(MPI_Comm comm, int, void*, void*) noexcept {
    program_state& p = program();
    const auto found = p.find(comm);
    if (found != p.communicators.end()) p.forget(found);
    return MPI_SUCCESS;
}

/// Works without PAT_Init, too: nothing in it concerns other ranks.
program_state& program_in_use() {
    program_state& p = program();
    if (p.keyval == MPI_KEYVAL_INVALID)
        engine::check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, frees_known, &p.keyval, nullptr),
                      "MPI_Comm_create_keyval");
    return p;
}

mpi::communicator& prepared(program_state& p, MPI_Comm comm) {
    const auto found = p.find(comm);
    if (found != p.communicators.end()) return found->ours;
    engine::check_communicator(comm);
    p.communicators.push_back({comm, mpi::communicator(comm)});
    engine::check(MPI_Comm_set_attr(comm, p.keyval, nullptr), "MPI_Comm_set_attr");
    program_state::known& k = p.communicators.back();
    k.computing = p.computing;  // first used in the middle of a computation
    if (k.computing) k.ours.processing_start();
    return k.ours;
}

/// Counts and displacements are those of a v-form, significant at the root alone.
int collect(const char* name, MPI_Comm comm, mpi::call c, const int* counts = nullptr,
            const int* displacements = nullptr) {
    return engine::guarded(name, [&] {
        program_state& p = program_in_use();
        mpi::communicator& ours = prepared(p, comm);
        std::vector<std::int64_t> wide_counts;
        std::vector<std::int64_t> wide_displacements;
        if (traits(c.what).irregular && ours.rank() == c.root && counts != nullptr && displacements != nullptr) {
            wide_counts.assign(counts, counts + ours.size());
            wide_displacements.assign(displacements, displacements + ours.size());
            (traits(c.what).wide_input ? c.send_chunks : c.recv_chunks) = {wide_counts, wide_displacements};
        }
        mpi::selection how;
        const auto chosen = p.chosen.find(c.what);
        if (chosen != p.chosen.end()) how = chosen->second;
        how.segments = 0;
        const bool by_order = how.use != nullptr && how.use->arrival_aware && !how.use->uses_round_time();
        if (by_order) how.roll_call = p.roll_call;
        if (p.repeat && p.first_after) {
            p.repeated = ours.outline_of(how, c);
            p.repeated_on = &ours;
        }
        p.first_after = false;
        p.last_used = &ours;
        try {
            ours.run(how, c);
        } catch (const error&) {
            // The call was still tried, so that it is counted on this rank as on others.
            if (c.root >= 0 && c.root < ours.size()) throw;
            throw engine::misuse(MPI_ERR_ROOT, fmt::format("root {}", c.root),
                                 fmt::format("the communicator has ranks 0 to {}", ours.size() - 1),
                                 "pass one of them");
        }
    });
}

}  // namespace
}  // namespace rubato::libnbc

using namespace rubato;
using namespace rubato::libnbc;
using namespace rubato::mpi;

int PAT_Init(void) {
    return engine::guarded("PAT_Init", [] {
        program_state& p = program_in_use();
        if (p.initialised) throw engine::misuse(MPI_ERR_OTHER, "called twice", "PAT is already in use", "call it once");
        (void)prepared(p, MPI_COMM_WORLD);
        p.initialised = true;
    });
}

int PAT_Finalize(void) {
    return engine::guarded("PAT_Finalize", [] {
        program_state& p = program_in_use();
        while (!p.communicators.empty()) {
            // Deleting the attribute ends our use of it.
            const MPI_Comm user = p.communicators.front().user;
            engine::check(MPI_Comm_delete_attr(user, p.keyval), "MPI_Comm_delete_attr");
        }
        engine::check(MPI_Comm_free_keyval(&p.keyval), "MPI_Comm_free_keyval");
        p = program_state();
    });
}

int PAT_UseAlg(const char* id) {
    return engine::guarded("PAT_UseAlg", [&] {
        program_state& p = program_in_use();
        if (id == nullptr) return p.chosen.clear();
        const algorithm& a = find_algorithm(id);
        p.chosen.insert_or_assign(a.what, selection(a));
    });
}

int PAT_RollCall(double patience) {
    return engine::guarded("PAT_RollCall", [&] {
        constexpr double longest = 1e6;
        if (!(patience <= longest))
            throw engine::misuse(MPI_ERR_ARG, fmt::format("a patience of {} s", patience), "that is no time to wait",
                                 "give some milliseconds, as 0.001");
        std::optional<roll_call_options>& roll = program_in_use().roll_call;
        roll.reset();
        if (patience >= 0) roll = {time_ns(static_cast<std::int64_t>(patience * 1e9))};
    });
}

int PAT_ProcessingStart(void) {
    return engine::guarded("PAT_ProcessingStart", [] {
        program_state& p = program_in_use();
        if (p.computing)
            throw engine::misuse(MPI_ERR_OTHER, "called twice", "the computation has already begun",
                                 "call PAT_ProcessingEnd before");
        if (p.repeat && p.repeated_on != nullptr) std::exchange(p.repeated_on, nullptr)->expect(*p.repeated);
        p.computing = true;
        for (program_state::known& k : p.communicators) {
            k.ours.processing_start();
            k.computing = true;
        }
    });
}

int PAT_Edge(double fraction) {
    return engine::guarded("PAT_Edge", [&] {
        program_state& p = program_in_use();
        if (!p.computing)
            throw engine::misuse(MPI_ERR_OTHER, "no computation", "PAT_ProcessingStart was not called",
                                 "call it first");
        const auto world = p.find(MPI_COMM_WORLD);
        if (p.last_used != nullptr)
            p.last_used->edge(fraction);
        else if (world != p.communicators.end())
            world->ours.edge(fraction);  // else there is no communicator to tell yet
    });
}

int PAT_ProcessingEnd(void) {
    return engine::guarded("PAT_ProcessingEnd", [] {
        program_state& p = program_in_use();
        if (!p.computing)
            throw engine::misuse(MPI_ERR_OTHER, "no computation", "PAT_ProcessingStart was not called",
                                 "call it first");
        p.computing = false;
        p.first_after = true;
        for (program_state::known& k : p.communicators)
            if (std::exchange(k.computing, false)) k.ours.processing_end();
    });
}

int PAT_Repeat(int yes) {
    return engine::guarded("PAT_Repeat", [&] {
        program_state& p = program_in_use();
        p.repeat = yes != 0;
        p.repeated_on = nullptr;
    });
}

int PAT_Scatter(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
                MPI_Datatype recvtype, int root, MPI_Comm comm) {
    return collect("PAT_Scatter", comm,
                   call::scatter(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root));
}

int PAT_Gather(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, int recvcount,
               MPI_Datatype recvtype, int root, MPI_Comm comm) {
    return collect("PAT_Gather", comm, call::gather(sendbuf, sendcount, sendtype, recvbuf, recvcount, recvtype, root));
}

int PAT_Reduce(const void* sendbuf, void* recvbuf, int count, MPI_Datatype datatype, MPI_Op op, int root,
               MPI_Comm comm) {
    return collect("PAT_Reduce", comm, call::reduce(sendbuf, recvbuf, count, datatype, op, root));
}

int PAT_Bcast(void* buffer, int count, MPI_Datatype datatype, int root, MPI_Comm comm) {
    return collect("PAT_Bcast", comm, call::bcast(buffer, count, datatype, root));
}

int PAT_Scatterv(const void* sendbuf, const int sendcounts[], const int displs[], MPI_Datatype sendtype, void* recvbuf,
                 int recvcount, MPI_Datatype recvtype, int root, MPI_Comm comm) {
    return collect("PAT_Scatterv", comm, call::scatterv(sendbuf, {}, sendtype, recvbuf, recvcount, recvtype, root),
                   sendcounts, displs);
}

int PAT_Gatherv(const void* sendbuf, int sendcount, MPI_Datatype sendtype, void* recvbuf, const int recvcounts[],
                const int displs[], MPI_Datatype recvtype, int root, MPI_Comm comm) {
    return collect("PAT_Gatherv", comm, call::gatherv(sendbuf, sendcount, sendtype, recvbuf, {}, recvtype, root),
                   recvcounts, displs);
}

// The collectives of rubato/pat.h for Fortran, which has its own handles: an MPI_Fint where C has a pointer or an int
// of another meaning. Buffers are C addresses, so that a program of Fortran 2003 can call these through iso_c_binding.
// The interfaces are in rubato/pat.f90; functions without handles are those of rubato/pat.h itself.
extern "C" {

/// C's MPI_IN_PLACE: Fortran's own is a variable whose address means nothing to C.
RUBATO_API void* PATF_In_place() { return MPI_IN_PLACE; }

RUBATO_API int PATF_Scatter(const void* send, int send_count, MPI_Fint send_type, void* recv, int recv_count,
                            MPI_Fint recv_type, int root, MPI_Fint comm) {
    return PAT_Scatter(send, send_count, MPI_Type_f2c(send_type), recv, recv_count, MPI_Type_f2c(recv_type), root,
                       MPI_Comm_f2c(comm));
}

RUBATO_API int PATF_Scatterv(const void* send, const int* send_counts, const int* displacements, MPI_Fint send_type,
                             void* recv, int recv_count, MPI_Fint recv_type, int root, MPI_Fint comm) {
    return PAT_Scatterv(send, send_counts, displacements, MPI_Type_f2c(send_type), recv, recv_count,
                        MPI_Type_f2c(recv_type), root, MPI_Comm_f2c(comm));
}

RUBATO_API int PATF_Gather(const void* send, int send_count, MPI_Fint send_type, void* recv, int recv_count,
                           MPI_Fint recv_type, int root, MPI_Fint comm) {
    return PAT_Gather(send, send_count, MPI_Type_f2c(send_type), recv, recv_count, MPI_Type_f2c(recv_type), root,
                      MPI_Comm_f2c(comm));
}

RUBATO_API int PATF_Gatherv(const void* send, int send_count, MPI_Fint send_type, void* recv, const int* recv_counts,
                            const int* displacements, MPI_Fint recv_type, int root, MPI_Fint comm) {
    return PAT_Gatherv(send, send_count, MPI_Type_f2c(send_type), recv, recv_counts, displacements,
                       MPI_Type_f2c(recv_type), root, MPI_Comm_f2c(comm));
}

RUBATO_API int PATF_Reduce(const void* send, void* recv, int count, MPI_Fint type, MPI_Fint op, int root,
                           MPI_Fint comm) {
    return PAT_Reduce(send, recv, count, MPI_Type_f2c(type), MPI_Op_f2c(op), root, MPI_Comm_f2c(comm));
}

RUBATO_API int PATF_Bcast(void* data, int count, MPI_Fint type, int root, MPI_Fint comm) {
    return PAT_Bcast(data, count, MPI_Type_f2c(type), root, MPI_Comm_f2c(comm));
}

}  // extern "C"
