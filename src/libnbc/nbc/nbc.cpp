#include "rubato/nbc.h"

#include "engine/mpi/calls.hpp"
#include "engine/mpi/datatype.hpp"
#include "libnbc/nbc/mpi_data.hpp"
#include "libnbc/nbc/start.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <thread>
#include <utility>

namespace rubato::libnbc {
namespace {

using engine::check;
using engine::misuse;
using mpi::call;

struct named_algorithm {
    std::string_view number;  // LibNBC's
    const char* id;
};
constexpr std::array bcasts{named_algorithm{NBC_BCAST_ALG_LINEAR, "bcast/linear"},
                            named_algorithm{NBC_BCAST_ALG_BINOMIAL, "bcast/binomial"},
                            named_algorithm{NBC_BCAST_ALG_CHAIN, "bcast/chain"}};
constexpr std::array allreduces{named_algorithm{NBC_ALLREDUCE_ALG_BINOMIAL, "allreduce/reduce_bcast"},
                                named_algorithm{NBC_ALLREDUCE_ALG_RING, "allreduce/ring"}};

mpi::selection asked_for(const known& k, const call& c) {
    mpi::selection how;
    how.segments = 0;
    const auto choose = [&](const auto& names, const std::string& number) {
        for (const named_algorithm& a : names)
            if (a.number == number) how.use = &find_algorithm(a.id);
    };
    if (c.what == collective::bcast) choose(bcasts, k.bcast);
    if (c.what == collective::allreduce) choose(allreduces, k.allreduce);
    if (how.use != nullptr && how.use->has(need::commutative) && c.op != MPI_OP_NULL) {
        int commutes = 0;
        if (MPI_Op_commutative(c.op, &commutes) != MPI_SUCCESS || commutes == 0) how.use = nullptr;
    }
    return how;
}

int collect(const char* name, MPI_Comm comm, NBC_Handle* handle, const call& c, narrow_chunks send,
            narrow_chunks recv) {
    return start(name, comm, handle, [&](known& k) {
        const collective_traits& t = traits(c.what);
        if (t.on_graph && !k.ours->neighbours()) {
            engine::inner_communicator(*k.ours).pass();
            refuse_topology();
        }
        // What is not significant on this rank need not be there.
        const bool reads = !t.rooted || k.ours->rank() == c.root;
        const bool reads_input = reads && (t.on_graph || c.send != MPI_IN_PLACE);
        return start_collective(*k.ours, asked_for(k, c), c, reads_input ? send : narrow_chunks{},
                                reads ? recv : narrow_chunks{});
    });
}

/// The arguments of a function, by the names of calls.def.
struct arguments {
    collective what;
    const void* send = nullptr;
    int send_count = 0;
    const int* send_counts = nullptr;
    const int* send_places = nullptr;
    MPI_Datatype send_type = MPI_BYTE;
    void* recv = nullptr;
    int recv_count = 0;
    const int* recv_counts = nullptr;
    const int* recv_places = nullptr;
    MPI_Datatype recv_type = MPI_BYTE;
    MPI_Op op = MPI_OP_NULL;
    int root = 0;
};

int collect(const char* name, MPI_Comm comm, NBC_Handle* handle, const arguments& a) {
    const call c{.what = a.what,
                 .send = a.send,
                 .send_count = a.send_count,
                 .send_type = a.send_type,
                 .recv = a.recv,
                 .recv_count = a.recv_count,
                 .recv_type = a.recv_type,
                 .op = a.op,
                 .root = a.root};
    return collect(name, comm, handle, c, {a.send_counts, a.send_places}, {a.recv_counts, a.recv_places});
}

/// The value of a key, or nothing. Throws if there is no such algorithm.
std::string read_hint(MPI_Info info, const char* key, std::span<const named_algorithm> names) {
    std::array<char, MPI_MAX_INFO_VAL + 1> value{};
    int found = 0;
    engine::check(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value.data(), &found), "MPI_Info_get");
    if (found == 0) return {};
    if (std::ranges::find(names, std::string_view(value.data()), &named_algorithm::number) == names.end())
        throw misuse(MPI_ERR_INFO_VALUE, fmt::format("'{}' for {}", value.data(), key),
                     fmt::format("there are algorithms 0 to {}", names.size() - 1), "give one of them");
    return value.data();
}

std::span<NBC_Handle> check_handles(int count, NBC_Handle* handles) {
    if (count < 0 || (count > 0 && handles == nullptr))
        throw misuse(MPI_ERR_ARG, fmt::format("{} handles", count), "there is an array of so many",
                     "check the arguments");
    return {handles, static_cast<std::size_t>(count)};
}

template <class T>
T& check_result(T* result) {
    if (result == nullptr)
        throw misuse(MPI_ERR_ARG, "no place for the result", "the call has one", "pass the address of a variable");
    return *result;
}

/// Looks for one that ends. True if one has, which is `index` then, or if none is under way. Throws if it has failed.
bool any_ended(std::span<NBC_Handle> handles, int& index) {
    bool waits = false;
    for (std::size_t i = 0; i < handles.size(); ++i) {
        if (handles[i].operation == nullptr) continue;
        index = static_cast<int>(i);
        if (advance(handles[i], false)) return true;
        waits = true;
    }
    index = MPI_UNDEFINED;
    return !waits;
}

/// to = left op right
void operate(const data& to, const data& left, const data& right, MPI_Op op) {
    for (const data& d : {left, right, to}) check_data(d);
    check_operator(op, to.type);
    if (to.count == 0) return;
    std::vector<std::byte> memory;
    // MPI combines into the right operand.
    const data into = to.address == left.address ? room_like(to, memory) : to;
    if (into.address != right.address) copy_data(right, into);
    engine::check(MPI_Reduce_local(left.address, into.address, to.count, to.type, op), "MPI_Reduce_local");
    if (into.address != to.address) copy_data(into, to);
}

}  // namespace
}  // namespace rubato::libnbc

using namespace rubato;
using namespace rubato::libnbc;

#undef INPUT
#define INPUT
#define COUNT int
#define PLACE int
#define CALL(what_, name, ...)                                                                                         \
    int PNBC_I##what_(PARAMETERS(__VA_ARGS__), NBC_Handle* handle) {                                                   \
        return collect("NBC_I" #what_, comm, handle, {.what = collective::what_ __VA_OPT__(, ) MEMBERS(__VA_ARGS__)}); \
    }                                                                                                                  \
    NBC_ALIAS(I##what_);
#define CALL_THAT_LIBNBC_LACKS(...)
#include "engine/mpi/calls.def"
#undef COUNT
#undef PLACE

int PNBC_Ialltoallw(void* sendbuf, int* sendcounts, int* sdispls, MPI_Datatype* sendtypes, void* recvbuf,
                    int* recvcounts, int* rdispls, MPI_Datatype* recvtypes, MPI_Comm comm, NBC_Handle* handle) {
    return collect("NBC_Ialltoallw", comm, handle, call::alltoallv(sendbuf, {}, MPI_BYTE, recvbuf, {}, MPI_BYTE),
                   typed(sendcounts, sdispls, sendtypes), typed(recvcounts, rdispls, recvtypes));
}

int PNBC_Ineighbor_alltoallw(void* sendbuf, int* sendcounts, MPI_Aint* sdispls, MPI_Datatype* sendtypes, void* recvbuf,
                             int* recvcounts, MPI_Aint* rdispls, MPI_Datatype* recvtypes, MPI_Comm comm,
                             NBC_Handle* handle) {
    return collect("NBC_Ineighbor_alltoallw", comm, handle,
                   call::neighbor_alltoallv(sendbuf, {}, MPI_BYTE, recvbuf, {}, MPI_BYTE),
                   typed(sendcounts, sdispls, sendtypes), typed(recvcounts, rdispls, recvtypes));
}

int PNBC_Ibcast_inter(void*, int, MPI_Datatype, int, MPI_Comm, NBC_Handle* handle) {
    return answer("NBC_Ibcast_inter", [&] {
        check_handle(handle) = {};
        throw misuse(MPI_ERR_UNSUPPORTED_OPERATION, "an inter-communicator", "Rubato works within one group",
                     "call MPI_Ibcast");
    });
}

int PNBC_Wait(NBC_Handle* handle, MPI_Status*) {
    return timed("NBC_Wait", spent.wait, [&] { (void)advance(check_handle(handle), true); });
}

extern "C" RUBATO_NBC_API int RUBATO_NBC_Wait_alone(NBC_Handle* handle) { return NBC_Wait(handle, MPI_STATUS_IGNORE); }

int PNBC_Test(NBC_Handle* handle, int* flag, MPI_Status*) {
    return timed("NBC_Test", spent.test, [&] {
        check_result(flag) = 1;  // also if it has failed
        *flag = advance(check_handle(handle), false) ? 1 : 0;
    });
}

int PNBC_Testold(NBC_Handle* handle) {
    bool ended = true;
    const int code = timed("NBC_Testold", spent.test, [&] { ended = advance(check_handle(handle), false); });
    return ended ? code : NBC_CONTINUE;
}

int PNBC_Waitall(int count, NBC_Handle* handles, MPI_Status*) {
    return timed("NBC_Waitall", spent.wait, [&] {
        std::exception_ptr trouble;
        for (NBC_Handle& h : check_handles(count, handles)) {
            try {
                (void)advance(h, true);
            } catch (...) {
                if (!trouble) trouble = std::current_exception();
            }
        }
        if (trouble) std::rethrow_exception(trouble);
    });
}

int PNBC_Waitany(int count, NBC_Handle* handles, int* index, MPI_Status*) {
    return timed("NBC_Waitany", spent.wait, [&] {
        const std::span<NBC_Handle> all = check_handles(count, handles);
        int& which = check_result(index);
        while (!any_ended(all, which)) std::this_thread::yield();  // one that it waits for may need this core
    });
}

int PNBC_Testall(int count, NBC_Handle* handles, int* flag, MPI_Status*) {
    return timed("NBC_Testall", spent.test, [&] {
        check_result(flag) = 0;
        bool all = true;
        for (NBC_Handle& h : check_handles(count, handles)) all &= advance(h, false);
        *flag = all ? 1 : 0;
    });
}

int PNBC_Testany(int count, NBC_Handle* handles, int* index, int* flag, MPI_Status*) {
    return timed("NBC_Testany", spent.test, [&] {
        check_result(flag) = 1;  // also if it has failed
        *flag = any_ended(check_handles(count, handles), check_result(index)) ? 1 : 0;
    });
}

int PNBC_Operation(void* buf3, void* buf1, void* buf2, MPI_Op op, MPI_Datatype type, int count) {
    return answer("NBC_Operation", [&] { operate({buf3, count, type}, {buf1, count, type}, {buf2, count, type}, op); });
}

int PNBC_Comm_set_info(MPI_Comm comm, MPI_Info info) {
    return answer("NBC_Comm_set_info", [&] {
        known& k = known_of(comm);
        if (info == MPI_INFO_NULL)
            throw misuse(MPI_ERR_INFO, "no info", "it is MPI_INFO_NULL", "pass one that was made by MPI_Info_create");
        std::string bcast = read_hint(info, NBC_BCAST_ALG_INFO_KEY, bcasts);
        std::string allreduce = read_hint(info, NBC_ALLREDUCE_ALG_INFO_KEY, allreduces);
        if (!bcast.empty()) k.bcast = std::move(bcast);
        if (!allreduce.empty()) k.allreduce = std::move(allreduce);
    });
}

int PNBC_Comm_get_info(MPI_Comm comm, MPI_Info* info) {
    return answer("NBC_Comm_get_info", [&] {
        MPI_Info& made = check_result(info);
        const known& k = known_of(comm);
        engine::check(MPI_Info_create(&made), "MPI_Info_create");
        if (!k.bcast.empty())
            engine::check(MPI_Info_set(made, NBC_BCAST_ALG_INFO_KEY, k.bcast.c_str()), "MPI_Info_set");
        if (!k.allreduce.empty())
            engine::check(MPI_Info_set(made, NBC_ALLREDUCE_ALG_INFO_KEY, k.allreduce.c_str()), "MPI_Info_set");
    });
}

int PNBC_Get_schedule(NBC_Handle* handle, void** schedule, int* size) {
    return answer("NBC_Get_schedule", [&] {
        check_result(schedule) = nullptr;
        check_result(size) = 0;
        auto* const s = static_cast<started*>(check_handle(handle).operation);
        if (s == nullptr || s->ended)
            throw misuse(MPI_ERR_REQUEST, "no schedule", "the operation has ended", "ask before it is waited for");
        s->text = s->what->steps();
        *schedule = s->text.data();
        *size = static_cast<int>(s->text.size());
    });
}

void NBC_Reset_times(void) { spent = {}; }

void NBC_Print_times(double div) {
    const double by = div > 0 ? div : 1;
    std::printf("NBC: start %.3f us, test %.3f us, wait %.3f us\n", spent.start / by * 1e6, spent.test / by * 1e6,
                spent.wait / by * 1e6);
}

NBC_ALIAS(Ialltoallw);
NBC_ALIAS(Ineighbor_alltoallw);
NBC_ALIAS(Ibcast_inter);
NBC_ALIAS(Wait);
NBC_ALIAS(Test);
NBC_ALIAS(Testold);
NBC_ALIAS(Waitall);
NBC_ALIAS(Waitany);
NBC_ALIAS(Testall);
NBC_ALIAS(Testany);
NBC_ALIAS(Operation);
NBC_ALIAS(Comm_set_info);
NBC_ALIAS(Comm_get_info);
NBC_ALIAS(Get_schedule);
