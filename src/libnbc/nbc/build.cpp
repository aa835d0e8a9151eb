#include "engine/mpi/datatype.hpp"
#include "engine/mpi/predefined.hpp"
#include "engine/mpi/process.hpp"
#include "libnbc/nbc/built.hpp"
#include "rubato/nbc_schedule.h"

#include <fmt/format.h>

#include <utility>

namespace rubato::libnbc {
namespace {

using engine::misuse;

built_schedule& check_schedule(NBC_Schedule* s, bool committed) {
    if (s == nullptr || *s == nullptr)
        throw engine::misuse(MPI_ERR_REQUEST, "no schedule", "it was not created, or was started",
                             "call NBC_Sched_create");
    built_schedule& b = *static_cast<built_schedule*>(*s);
    if (b.committed != committed)
        throw engine::misuse(MPI_ERR_REQUEST,
                             committed ? "a schedule that is not committed" : "a schedule that is committed",
                             committed ? "steps may be missing" : "it has all its steps",
                             committed ? "call NBC_Sched_commit" : "create another one");
    return b;
}

void add(built_schedule& b, built_step s) {
    // A user's operator is given the type that the program knows.
    if (s.kind != step_kind::combine || engine::number_of_op(s.op) >= 0)
        for (data* const d : {&s.from, &s.to}) d->type = b.types.keep(d->type);
    s.round = b.round;
    b.steps.push_back(s);
}

/// Steps that combine into their right operand.
void add_op(built_schedule& b, const data& to, const data& left, const data& right, MPI_Op op) {
    if (to.bytes() == 0) return;
    const data into = to.address == left.address ? room_like(to, b.memory.emplace_back()) : to;
    if (into.address != right.address) add(b, {.kind = step_kind::copy, .from = right, .to = into});
    add(b, {.kind = step_kind::combine, .from = left, .to = into, .op = op});
    if (into.address != to.address) add(b, {.kind = step_kind::copy, .from = into, .to = to});
}

/// Waits until its messages cannot be mistaken for those of one that is under way.
void await_room(known& k, std::uint64_t number, std::uint64_t most) {
    const auto has_room = [&] {
        for (const started* const s : k.under_way)
            if (auto* const run = dynamic_cast<built_run*>(s->what.get()); run != nullptr && !run->done())
                return number - run->number() < most;  // the oldest
        return true;
    };
    while (!has_room()) engine::let_others_go_on();
}

/// A rank that is refused has counted it, as others may have started theirs.
void start_built(NBC_Handle* handle, MPI_Comm comm, NBC_Schedule* schedule) {
    known& k = prepared(comm);
    if (!k.built) {
        meet(comm);
        k.built.emplace(comm);
    }
    const std::uint64_t number = k.next_built++;
    check_handle(handle).operation = nullptr;
    for (const built_step& s : check_schedule(schedule, true).steps)
        if (s.is_message() && (s.peer < 0 || s.peer >= k.ours->size()))
            throw engine::misuse(MPI_ERR_RANK, fmt::format("a message with rank {}", s.peer),
                                 fmt::format("the communicator has ranks 0 to {}", k.ours->size() - 1),
                                 "free the schedule, and build another one");
    const engine::tag_layout tags(engine::tag_upper_bound());
    await_room(k, number, tags.operations());
    std::unique_ptr<built_schedule> mine(static_cast<built_schedule*>(std::exchange(*schedule, nullptr)));
    give(*handle, std::make_unique<built_run>(std::move(mine), handle->tmpbuf, k.built->get(), tags, number), k);
}

}  // namespace
}  // namespace rubato::libnbc

using namespace rubato;
using namespace rubato::libnbc;

int NBC_Sched_create(NBC_Schedule* schedule) {
    return answer("NBC_Sched_create", [&] {
        if (schedule == nullptr)
            throw engine::misuse(MPI_ERR_ARG, "no place for the schedule", "the call makes one",
                                 "pass the address of one");
        *schedule = new built_schedule;
    });
}

int NBC_Sched_send(void* buf, int count, MPI_Datatype type, int dest, NBC_Schedule* schedule) {
    return answer("NBC_Sched_send", [&] {
        built_schedule& b = check_schedule(schedule, false);
        check_data({buf, count, type});
        add(b, {.kind = step_kind::send, .from = {buf, count, type}, .peer = dest});
    });
}

int NBC_Sched_recv(void* buf, int count, MPI_Datatype type, int source, NBC_Schedule* schedule) {
    return answer("NBC_Sched_recv", [&] {
        built_schedule& b = check_schedule(schedule, false);
        check_data({buf, count, type});
        add(b, {.kind = step_kind::recv, .to = {buf, count, type}, .peer = source});
    });
}

int NBC_Sched_op(void* tgt, void* src1, void* src2, int count, MPI_Datatype type, MPI_Op op, NBC_Schedule* schedule) {
    return answer("NBC_Sched_op", [&] {
        built_schedule& b = check_schedule(schedule, false);
        for (void* each : {tgt, src1, src2}) check_data({each, count, type});
        check_operator(op, type);
        add_op(b, {tgt, count, type}, {src1, count, type}, {src2, count, type}, op);
    });
}

int NBC_Sched_copy(void* src, int srccount, MPI_Datatype srctype, void* tgt, int tgtcount, MPI_Datatype tgttype,
                   NBC_Schedule* schedule) {
    return answer("NBC_Sched_copy", [&] {
        built_schedule& b = check_schedule(schedule, false);
        const data from{src, srccount, srctype};
        const data to{tgt, tgtcount, tgttype};
        check_data(from);
        check_data(to);
        check_fits(from, to);
        if (from.bytes() > 0) add(b, {.kind = step_kind::copy, .from = from, .to = to});
    });
}

int NBC_Sched_barrier(NBC_Schedule* schedule) {
    return answer("NBC_Sched_barrier", [&] { ++check_schedule(schedule, false).round; });
}

int NBC_Sched_commit(NBC_Schedule* schedule) {
    return answer("NBC_Sched_commit", [&] { check_schedule(schedule, false).committed = true; });
}

int NBC_Sched_free(NBC_Schedule* schedule) {
    return answer("NBC_Sched_free", [&] {
        if (schedule != nullptr) delete static_cast<built_schedule*>(std::exchange(*schedule, nullptr));
    });
}

int NBC_Start(NBC_Handle* handle, MPI_Comm comm, NBC_Schedule* schedule) {
    return answer("NBC_Start", [&] { start_built(handle, comm, schedule); });
}

int NBC_Progress(NBC_Handle* handle) { return PNBC_Testold(handle); }

int NBC_Free(NBC_Handle* handle) { return PNBC_Wait(handle, MPI_STATUS_IGNORE); }

int NBC_Copy(void* src, int srccount, MPI_Datatype srctype, void* tgt, int tgtcount, MPI_Datatype tgttype, MPI_Comm) {
    return answer("NBC_Copy", [&] {
        const data from{src, srccount, srctype};
        const data to{tgt, tgtcount, tgttype};
        check_data(from);
        check_data(to);
        copy_data(from, to);
    });
}

int NBC_Sched_save(NBC_Schedule* schedule, const char* collective, void* sendbuf, void* recvbuf, int count,
                   MPI_Datatype type, int root, MPI_Comm comm, const char* file) {
    return answer("NBC_Sched_save", [&] {
        engine::check_communicator(comm);
        const void* const built = schedule != nullptr ? *schedule : nullptr;
        save(static_cast<const built_schedule*>(built), collective, {sendbuf, count, type}, {recvbuf, count, type},
             root, comm, file);
    });
}
