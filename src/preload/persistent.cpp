#include "preload/persistent.hpp"

#include "preload/guard.hpp"
#include "preload/lasting.hpp"
#include "preload/native_requests.hpp"
#include "preload/next.hpp"
#include "preload/session.hpp"

#include <mutex>
#include <span>
#include <unordered_map>

namespace rubato::preload {
namespace {

struct made {
    observe::sums* where;
    std::int64_t bytes;
};

struct registry {
    std::mutex mutex{};
    std::unordered_map<MPI_Request, made> requests{};
    std::atomic<std::size_t> size{0};  // 0 in most programs, so that entries return at once
};
registry& all() {
    static lasting<registry> r;
    return r.value;
}

template <class Native>
int start(std::span<MPI_Request> requests, const Native& native) {
    session* const now = running.load(std::memory_order_acquire);
    if (inside || now == nullptr || all().size == 0) return native();
    const guard passing;
    const time_ns arrival = own_time();
    const int code = native();
    if (code != MPI_SUCCESS) return code;
    const time_ns each = (own_time() - arrival) / static_cast<time_ns::rep>(std::max<std::size_t>(1, requests.size()));
    const std::lock_guard lock(all().mutex);
    for (const MPI_Request r : requests) {
        const auto found = all().requests.find(r);
        if (found == all().requests.end()) continue;  // of messages between two ranks
        observe::add(*found->second.where, found->second.bytes, each);
    }
    return code;
}

template <class Native>
int release(const MPI_Request* request, const Native& native) {
    const completed_requests noting(1, request);
    if (request != nullptr && all().size != 0) {
        const std::lock_guard lock(all().mutex);
        all().requests.erase(*request);
        all().size = all().requests.size();
    }
    return native();
}

}  // namespace

void remember(MPI_Request request, observe::sums& where, std::int64_t bytes) noexcept {
    const std::lock_guard lock(all().mutex);
    try {
        all().requests.insert_or_assign(request, made{&where, bytes});
    } catch (const std::bad_alloc&) {
        // Its calls are not counted.
    }
    all().size = all().requests.size();
}

}  // namespace rubato::preload

using namespace rubato::preload;

#define ENTRIES(prefix)                                                                                              \
    extern "C" RUBATO_API int prefix##_Start(MPI_Request* request) {                                                 \
        static const auto next = next_function(prefix##_Start, #prefix "_Start");                                    \
        return start({request, request != nullptr ? 1U : 0U}, [&] { return next(request); });                        \
    }                                                                                                                \
    extern "C" RUBATO_API int prefix##_Startall(int count, MPI_Request* requests) {                                  \
        static const auto next = next_function(prefix##_Startall, #prefix "_Startall");                              \
        const bool some = requests != nullptr && count > 0;                                                          \
        return start({requests, some ? static_cast<std::size_t>(count) : 0}, [&] { return next(count, requests); }); \
    }                                                                                                                \
    extern "C" RUBATO_API int prefix##_Request_free(MPI_Request* request) {                                          \
        static const auto next = next_function(prefix##_Request_free, #prefix "_Request_free");                      \
        return release(request, [&] { return next(request); });                                                      \
    }

ENTRIES(MPI)
ENTRIES(PMPI)
