#include "dropin/preload/persistent.hpp"

#include "dropin/preload/gateway.hpp"
#include "dropin/preload/native_requests.hpp"
#include "dropin/preload/own_requests.hpp"
#include "dropin/preload/session.hpp"

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>

namespace rubato::dropin {

struct known_call : persistent_call {
    bool was_native = false;  // MPI has made a call of it, though Rubato was to

    /// The program's request is never started, and means nothing to MPI.
    bool is_ours() const { return by != nullptr && !was_native; }
    /// Of a call that Rubato makes.
    MPI_Request under_way() const { return what ? what->under_way.load() : MPI_REQUEST_NULL; }
};

namespace {

struct registry {
    std::mutex mutex{};
    std::unordered_map<MPI_Request, known_call> requests{};
    // Both are 0 in most programs, so that entries return at once.
    std::atomic<std::size_t> size{0};
    std::atomic<std::size_t> ours{0};  // of which Rubato makes the calls

    /// Null if it is none of these. Lock first. A request is used by one thread at a time, and so is what it refers to.
    known_call* find(MPI_Request r) {
        const auto found = requests.find(r);
        return found != requests.end() ? &found->second : nullptr;
    }
};
registry& all() {
    static never_destroyed<registry> r;
    return r.value;
}

known_call* known(MPI_Request r) {
    const std::lock_guard lock(all().mutex);
    return all().find(r);
}

using native_start = std::function<int(std::span<MPI_Request>)>;

int report(int error) {
    PMPI_Comm_call_errhandler(MPI_COMM_WORLD, error);
    return error;
}

int start_planned(known_call& c, MPI_Request& request, const native_start& native) {
    if (c.under_way() != MPI_REQUEST_NULL) return report(MPI_ERR_REQUEST);
    MPI_Request started = MPI_REQUEST_NULL;
    const auto leave = [&] {
        c.was_native = true;
        return native({&request, 1});
    };
    // MPI may free it in another thread, when the next call is under way.
    const auto note_freed = [what = c.what](MPI_Request freed) {
        what->under_way.compare_exchange_strong(freed, MPI_REQUEST_NULL);
    };
    const int code = c.by->start({c.what, &c.what->facts}, &started, leave, note_freed);
    if (started != MPI_REQUEST_NULL) c.what->under_way = started;
    return code;
}

/// Those that Rubato makes, then the others as the program would have.
int start_each(std::span<MPI_Request> requests, const native_start& native) {
    const auto is_ours = [](MPI_Request r) {
        const known_call* const c = known(r);
        return c != nullptr && c->by;
    };
    if (std::ranges::none_of(requests, is_ours)) return native(requests);
    std::vector<MPI_Request> others;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < requests.size(); ++i) {
        if (is_ours(requests[i])) {
            const int code = start_planned(*known(requests[i]), requests[i], native);
            if (code != MPI_SUCCESS) return code;
        } else {
            others.push_back(requests[i]);
            places.push_back(i);
        }
    }
    const int code = others.empty() ? MPI_SUCCESS : native(others);
    for (std::size_t i = 0; i < others.size(); ++i) requests[places[i]] = others[i];
    return code;
}

int start_and_note(session& now, std::span<MPI_Request> requests, const native_start& native) {
    const guard passing;
    const time_ns arrival = own_time();
    int code = MPI_SUCCESS;
    try {
        code = start_each(requests, native);
    } catch (const std::bad_alloc& e) {
        give_up(MPI_COMM_WORLD, e);
    }
    if (code != MPI_SUCCESS) return code;
    const time_ns exit = own_time();
    const time_ns each = (exit - arrival) / static_cast<time_ns::rep>(std::max<std::size_t>(1, requests.size()));
    for (const MPI_Request r : requests) {
        known_call* const c = known(r);
        if (c == nullptr) continue;  // of messages between two ranks
        if (c->row != nullptr) {
            add(*c->row, c->bytes, each);
            now.recorder()->keep_call(*c->row, no_invocation, c->bytes, arrival, exit);
        }
        const bool helped = c->helped && c->under_way() == MPI_REQUEST_NULL;
        std::optional<visit> visited;
        if (c->watched != nullptr) {
            visited = c->visited;
            visited->invocation += c->watched->starts;
            c->watched->start();
        }
        if (c->row != nullptr || helped) started_natively().started(r, {c->row, exit, helped, visited});
    }
    return code;
}

template <class Native>
int start(const void* site, std::span<MPI_Request> requests, const Native& native) {
    session* const now = running.load(std::memory_order_acquire);
    if (now == nullptr || all().size == 0 || is_inside(site)) return native(requests);
    return start_and_note(*now, requests, native);
}

// Collectives cannot be cancelled, nor their requests freed before they have ended. These are the errors that programs
// get for the MPI library's own non-blocking ones.
#ifdef MPICH_VERSION
constexpr int error_of_free = MPI_ERR_OTHER;
constexpr int error_of_cancel = MPI_ERR_INTERN;
constexpr bool frees_ended = false;  // the program must wait for it
#else
constexpr int error_of_free = MPI_ERR_REQUEST;
constexpr int error_of_cancel = MPI_ERR_REQUEST;
constexpr bool frees_ended = true;
#endif

/// Whether it is one of ours; nothing is looked up where there can be none. With its end.
std::optional<bool> own_has_ended(const MPI_Request* request) {
    if (request == nullptr || !own_requests().some_known()) return std::nullopt;
    return own_requests().has_ended(*request);
}

template <class Native>
int cancel(const MPI_Request* request, const Native& native) {
    return own_has_ended(request) ? report(error_of_cancel) : native();
}

template <class Native>
int release(const void* site, const MPI_Request* request, const Native& native) {
    if (is_inside(site)) return native();
    if (const std::optional<bool> ended = own_has_ended(request); ended && !(*ended && frees_ended))
        return report(error_of_free);
    const completed_requests noting(1, request);
    if (request == nullptr || all().size == 0) return native();
    MPI_Request call = MPI_REQUEST_NULL;  // that has ended, and that nobody has waited for
    std::unique_lock lock(all().mutex);
    if (const known_call* const c = all().find(*request)) {
        call = c->under_way();
        if (!own_requests().has_ended(call).value_or(true)) {
            lock.unlock();
            return report(MPI_ERR_REQUEST);
        }
        all().ours -= c->by != nullptr;
        session* const now = running.load(std::memory_order_acquire);
        if (c->watched != nullptr && now != nullptr && now->recorder() != nullptr)
            now->recorder()->remove_request(*c->watched);
        all().requests.erase(*request);
        all().size = all().requests.size();
    }
    lock.unlock();
    if (call != MPI_REQUEST_NULL) {
        const guard passing;
        PMPI_Request_free(&call);
    }
    return native();
}

}  // namespace

void remember(MPI_Request request, persistent_call made) noexcept {
    const bool is_ours = made.by != nullptr;
    try {
        if (is_ours) made.what->keep_types();
        const std::lock_guard lock(all().mutex);
        all().requests.insert_or_assign(request, known_call{std::move(made)});
        all().size = all().requests.size();
        all().ours += is_ours;
    } catch (const std::exception& e) {
        // Else its calls are not counted, but who makes them must be the same on all ranks.
        if (is_ours) give_up(MPI_COMM_WORLD, e);
    }
}

bool is_idle(MPI_Request request) noexcept {
    if (all().size == 0) return false;
    const known_call* const c = known(request);
    if (c == nullptr) return false;
    if (c->is_ours()) return c->under_way() == MPI_REQUEST_NULL;
    const guard passing;
    int flag = 0;
    PMPI_Request_get_status(request, &flag, MPI_STATUS_IGNORE);
    return flag != 0;
}

calls_under_way::calls_under_way(int count, MPI_Request* requests) noexcept : requests_(requests) {
    if (all().ours == 0 || requests == nullptr || count <= 0) return;
    try {
        const std::lock_guard lock(all().mutex);
        for (int i = 0; i < count; ++i) {
            known_call* const c = all().find(requests[i]);
            if (c == nullptr || !c->is_ours()) continue;
            if (calls_.empty()) {
                calls_.assign(requests, requests + count);
                replaced_.resize(calls_.size());
            }
            calls_[static_cast<std::size_t>(i)] = c->under_way();
            replaced_[static_cast<std::size_t>(i)] = c;
        }
    } catch (const std::bad_alloc& e) {
        give_up(MPI_COMM_WORLD, e);
    }
}

calls_under_way::~calls_under_way() {
    for (std::size_t i = 0; i < calls_.size(); ++i) {
        if (replaced_[i] != nullptr)
            replaced_[i]->what->under_way = calls_[i];  // MPI may free it later, in another thread
        else
            requests_[i] = calls_[i];
    }
}

}  // namespace rubato::dropin

using namespace rubato::dropin;

ENTRY_POINTS(Start, (MPI_Request * request), {
    if (request == nullptr) return next(request);
    return start(site, {request, 1}, [](std::span<MPI_Request> one) { return next(one.data()); });
})
ENTRY_POINTS(Startall, (int count, MPI_Request* requests), {
    if (requests == nullptr || count <= 0) return next(count, requests);
    return start(site, {requests, static_cast<std::size_t>(count)},
                 [](std::span<MPI_Request> some) { return next(static_cast<int>(some.size()), some.data()); });
})
ENTRY_POINTS(Request_free, (MPI_Request * request), return release(site, request, [&] { return next(request); });)
ENTRY_POINTS(Cancel, (MPI_Request * request), return cancel(request, [&] { return next(request); });)
