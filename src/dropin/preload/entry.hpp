// What happens when a program calls a collective.
//
// MPI_X and PMPI_X of every collective are defined, in C alone, and go on to the next function of the same name: Open
// MPI's Fortran library calls PMPI_X and MPICH's MPI_X, so the MPI library itself translates handles. Rubato's own
// collectives are called by PMPI, so that no other tool takes them for the program's. Before the native call only the
// clock is read: that call checks the arguments, and once it has succeeded its communicator and datatypes can be
// queried. What ranks do together (`together`) cannot fail on one of them, or the others wait for ever: one line and an
// abort. What a rank does alone may fail. An error of MPI that blames an argument is left to the native call. No rank
// may find alone that a call cannot be replaced.
#pragma once

#include "dropin/preload/arguments.hpp"
#include "dropin/preload/gateway.hpp"
#include "dropin/preload/native_requests.hpp"
#include "dropin/preload/persistent.hpp"
#include "dropin/preload/session.hpp"

#include <memory>
#include <new>
#include <optional>
#include <utility>

namespace rubato::dropin {

template <collective What, class Arguments>
mpi::call call_of(const Arguments& a, const communicator_state& where, side_chunks& memory) {
    mpi::call c{.what = What,
                .send = a.send,
                .send_count = a.send_count,
                .send_type = a.send_types != nullptr ? MPI_BYTE : a.send_type,
                .recv = a.recv,
                .recv_count = a.recv_count,
                .recv_type = a.recv_types != nullptr ? MPI_BYTE : a.recv_type,
                .op = a.op,
                .root = a.root};
    constexpr const collective_traits& t = traits(What);
    const bool here = !t.rooted || a.root == where.rank;  // else they mean nothing
    if (here && a.send_counts != nullptr && a.send != MPI_IN_PLACE)
        c.send_chunks = memory.sends.of(a.send_counts, a.send_places, a.send_types,
                                        t.on_graph ? where.neighbours.destinations : where.size);
    if (here && a.recv_counts != nullptr)
        c.recv_chunks = memory.recvs.of(a.recv_counts, a.recv_places, a.recv_types,
                                        t.on_graph ? where.neighbours.sources : where.size);
    return c;
}

/// What all ranks do alike: if it fails on one, the program ends.
template <class Do>
auto together(MPI_Comm comm, const Do& what) noexcept {
    try {
        return what();
    } catch (const std::exception& e) {
        give_up(comm, e);
    }
}
/// What no other rank depends on: if it fails, it is left out.
template <class Do>
void alone(const Do& what) noexcept {
    try {
        what();
    } catch (const std::exception&) {
        // No memory, or an error of MPI: this rank records less than others.
    }
}

template <collective What, class Arguments>
engine::call_facts look_at(const Arguments& a, MPI_Comm comm, const communicator_state& where, side_chunks& memory) {
    return together(comm, [&]() -> engine::call_facts {
        return {call_of<What>(a, where, memory), where.rank, where.size, where.neighbours};
    });
}

/// Most calls are small, and are left alone for that. Nothing else of them is looked at. All ranks find the same.
template <collective What, class Arguments>
bool is_left_alone(const Arguments& a, const communicator_state& where) {
    constexpr const collective_traits& t = traits(What);
    if constexpr (t.irregular && t.sizes_known_to_all()) return false;  // their sizes must be added up first
    const std::int64_t bytes = t.irregular ? 0 : local_bytes<What>(a, where) * t.sized_chunks(where.size);
    return !auto_may_make(t, bytes, where.apart);
}

/// Counts calls before which, or in which, all ranks have waited for all. That is also so where a rank sends to all
/// what it has just heard from all.
template <collective What, class Arguments>
void note_meeting(session& now, const Arguments& a, communicator_state& where) {
    constexpr const collective_traits& t = traits(What);
    if (What != collective::barrier && a.send_count == 0 && a.recv_count == 0) return;
    if constexpr (t.rooted && !t.irregular && t.output == holders::root) {
        where.heard_by = a.root;
    } else if constexpr (t.rooted && !t.irregular) {
        if (std::exchange(where.heard_by, -1) == a.root) now.communicators().note_meeting(where);
    } else if constexpr (is_meeting(t)) {
        now.communicators().note_meeting(where);
    }
}

/// By Rubato or by the MPI library, which all ranks decide alike.
template <collective What, class Arguments, class Native>
int directed(session& now, MPI_Comm comm, const Arguments& a, const Native& native) {
    communicator_state* const where = now.communicators().find(comm);
    if (where == nullptr || where->left_alone) return native();
    const std::uint64_t meetings = now.communicators().meetings_of(*where);
    note_meeting<What>(now, a, *where);
    if (!now.pilots().forces() && together(comm, [&] { return is_left_alone<What>(a, *where); })) return native();
    const engine::call_facts c = look_at<What>(a, comm, *where, where->memory);
    if (!autopilot::concerns(now.pilots().how(), c)) return native();
    if (where->pilot == nullptr) {
        const time_ns came = now.pilots().now();
        if (!now.communicators().make_pilot(comm, *where, c, came)) {
            const std::uint64_t frees = communicator_table::frees();
            const int code = native();
            // An error handler may have freed the communicator.
            if (code != MPI_SUCCESS && communicator_table::frees() != frees) return code;
            const auto left = code == MPI_SUCCESS ? std::optional(now.pilots().now()) : std::nullopt;
            where->remember({autopilot::known(c, meetings), came, left});
            return code;
        }
    }
    return where->pilot->pilot->run(c, meetings, [&native] { return native(); });
}

template <collective What, class Arguments>
std::shared_ptr<kept_facts> look_and_keep(const Arguments& a, MPI_Comm comm, const communicator_state& where) {
    auto c = together(comm, [] { return std::make_shared<kept_facts>(); });
    c->facts = look_at<What>(a, comm, where, c->memory);
    return c;
}

/// The same for a non-blocking call, which must not wait for other ranks: so only where there is an autopilot already.
template <collective What, class Arguments, class Native>
int directed_start(session& now, MPI_Comm comm, const Arguments& a, MPI_Request* request, const Native& native) {
    communicator_state* const where = now.communicators().find(comm);
    if (where == nullptr || where->pilot == nullptr || request == nullptr) return native();
    const std::shared_ptr<kept_facts> c = look_and_keep<What>(a, comm, *where);
    return where->pilot->pilot->start({c, &c->facts}, request, [&native] { return native(); });
}

/// Mode auto: whether the background thread helps with a call that the MPI library makes.
template <collective What, class Arguments>
bool is_helped(session& now, MPI_Comm comm, const Arguments& a) {
    if (!now.pilots().helps_started()) return false;
    const communicator_state* const where = now.communicators().find(comm);
    return where != nullptr && !where->left_alone && !is_left_alone<What>(a, *where);
}

/// What is recorded of a call, without its times.
template <collective What, form How, class Arguments>
seen seen_of(const void* site, const Arguments& a, const communicator_state& where) {
    const bool rooted = traits(What).rooted && !where.inter;
    return {What, How, rooted ? a.root : 0, local_bytes<What>(a, where), site, {}, {}};
}

/// What the watchdog is told of a call. Nothing if the communicator is not recorded.
template <collective What, form How, class Arguments>
std::optional<visit> visit_of(session& now, const void* site, MPI_Comm comm, const Arguments& a) {
    const communicator_state* const where = now.communicators().find(comm);
    if (where == nullptr || where->channel == nullptr) return std::nullopt;
    const elements given = comparable_elements<What>(a, *where);
    constexpr auto in = How == form::blocking ? waiting::call : waiting::end_of;
    return visit{in,
                 What,
                 How,
                 traits(What).rooted && !where->inter ? a.root : 0,
                 where->channel->number(),
                 where->channel->calls(),
                 site,
                 given.count,
                 bits_of(given.type)};
}

/// Tells the watchdog that this thread waits in a call, also if an error handler of the program throws.
class watched_call {
public:
    watched_call(watchdog* dog, const std::optional<visit>& visited, time_ns arrival) : dog_(visited ? dog : nullptr) {
        if (dog_ != nullptr) dog_->enter(*visited, arrival);
    }
    ~watched_call() {
        if (dog_ != nullptr) dog_->leave(own_time());
    }
    watched_call(const watched_call&) = delete;
    watched_call& operator=(const watched_call&) = delete;

private:
    watchdog* dog_;
};

/// Where only the native call is possible, nothing is done between the arrival and that call, except for the
/// watchdog. The call is recorded afterwards, when its arguments are known to be valid.
template <collective What, form How, class Arguments, class Native>
int enter(const void* site, MPI_Comm comm, const Arguments& a, MPI_Request* request, const Native& native) {
    session* const now = session_of_call(site);
    if (now == nullptr) return native();
    const guard passing;
    const time_ns arrival = own_time();
    int code = MPI_SUCCESS;
    std::optional<visit> visited;
    watchdog* const dog = How == form::persistent ? nullptr : now->dog();
    if (dog != nullptr) visited = visit_of<What, How>(*now, site, comm, a);
    if constexpr (How == form::blocking) {
        const watched_call waits(dog, visited, arrival);
        code = now->pilots().replaces(What) ? directed<What>(*now, comm, a, native) : native();
    } else {
        code = now->pilots().replaces_started(What) ? directed_start<What>(*now, comm, a, request, native) : native();
    }
    const time_ns exit = own_time();
    now->pilots().end_retired();
    if (code != MPI_SUCCESS) return code;
    alone([&] {
        const communicator_state* const where = now->communicators().find(comm);
        sums* row = nullptr;
        if (where != nullptr && where->channel != nullptr) {
            seen what = seen_of<What, How>(site, a, *where);
            what.arrival = arrival;
            what.exit = exit;
            row = where->channel->record(what);
        }
        if constexpr (How == form::nonblocking) {
            const bool helped = is_helped<What>(*now, comm, a);
            if (row != nullptr || helped) started_natively().started(*request, {row, exit, helped, visited});
        }
    });
    return code;
}

/// Makes a persistent collective; its calls are recorded when they start. If Rubato is to make them, all ranks take
/// part in finding an autopilot for them, also one whose arguments are wrong: the others do not know that.
template <collective What, class Arguments, class Native>
int make(const void* site, MPI_Comm comm, const Arguments& a, const MPI_Request* request, const Native& native) {
    session* const now = session_of_call(site);
    if (now == nullptr) return native();
    const guard passing;
    const std::uint64_t frees = communicator_table::frees();
    const int code = native();
    if (code != MPI_SUCCESS && communicator_table::frees() != frees) return code;  // by an error handler
    communicator_state* const where = now->communicators().find(comm);
    if (where == nullptr) return code;
    persistent_call made;
    if (where->pilot != nullptr && now->pilots().makes_pilots_early() && now->pilots().replaces_started(What))
        made.by = now->communicators().borrow_pilot(comm, *where);
    if (code != MPI_SUCCESS) return code;
    if (made.by) made.what = look_and_keep<What>(a, comm, *where);
    const std::uint32_t number = where->persistent++;
    alone([&] {
        made.helped = is_helped<What>(*now, comm, a);
        if (where->channel == nullptr) return;
        const seen what = seen_of<What, form::persistent>(site, a, *where);
        made.row = where->channel->row_of(what);
        made.bytes = what.bytes;
        if (now->dog() != nullptr) made.watched = now->recorder()->add_request(where->channel->number(), number);
        if (made.watched == nullptr) return;
        made.visited = *visit_of<What, form::persistent>(*now, site, comm, a);
        made.visited.invocation = persistent_start{number, 0}.number();
    });
    if (made.row != nullptr || made.helped || made.by) remember(*request, std::move(made));
    return code;
}

}  // namespace rubato::dropin
