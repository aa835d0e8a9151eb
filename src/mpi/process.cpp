#include "mpi/process.hpp"

#include "mpi/datatype.hpp"
#include "rubato/mpi.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

namespace rubato::mpi {
namespace {

background::settings from_environment() {
    background::settings how;
    if (const char* interval = std::getenv("RUBATO_BACKGROUND_INTERVAL")) {
        how.interval = parse_time(interval);
        if (how.interval <= time_ns{})
            throw error(fmt::format("RUBATO_BACKGROUND_INTERVAL={}", interval), "looking takes a while",
                        "give a time such as 100us");
        how.longest = std::max(how.longest, how.interval);
    }
    if (const char* core = std::getenv("RUBATO_BACKGROUND_CORE"); core != nullptr && std::string_view(core) != "none")
        how.core = static_cast<int>(parse_integer(core, "RUBATO_BACKGROUND_CORE", 0, 4095));
    return how;
}

bool switched_on() {
    const char* text = std::getenv("RUBATO_BACKGROUND");
    if (text == nullptr || std::string_view(text) == "on") return true;
    if (std::string_view(text) == "off") return false;
    throw error(fmt::format("RUBATO_BACKGROUND={}", text), "it is switched by on or off", "give one of these");
}

struct watchers {
    std::mutex mutex{};
    std::map<watch_id, background::ticket> tickets{};
    watch_id last = 0;
    bool ends_with_mpi = false;  // MPI_Finalize will call stop_all
};
watchers& all_watchers() {
    static auto& w = *new watchers;  // communicators may be destroyed at the very end
    return w;
}

/// MPI calls this at the beginning of MPI_Finalize, while everything still works.
int stop_all(MPI_Comm, int, void*, void*) {
    watchers& all = all_watchers();
    const std::lock_guard lock(all.mutex);
    for (const auto& [id, ticket] : all.tickets) background_thread().leave(ticket);
    all.tickets.clear();
    return MPI_SUCCESS;
}

}  // namespace

background& background_thread() {
    static auto& thread = *new background(from_environment());
    return thread;
}

bool is_finalized() {
    int yes = 0;
    return MPI_Finalized(&yes) != MPI_SUCCESS || yes != 0;
}

namespace {

MPI_Comm by_default(int which) { return which == 0 ? MPI_COMM_WORLD : MPI_COMM_SELF; }

}  // namespace

errors_returned::errors_returned() {
    for (int i = 0; i < 2; ++i) {
        check(MPI_Comm_get_errhandler(by_default(i), &users_[i]), "MPI_Comm_get_errhandler");
        check(MPI_Comm_set_errhandler(by_default(i), MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    }
}

errors_returned::~errors_returned() {
    for (int i = 0; i < 2; ++i) {
        MPI_Comm_set_errhandler(by_default(i), users_[i]);
        MPI_Errhandler_free(&users_[i]);
    }
}

std::string wrong_environment() {
    try {
        (void)switched_on();
        (void)from_environment();
        return {};
    } catch (const error& e) {
        return e.what();
    }
}

bool may_use_background(bool warns) {
    if (!switched_on()) return false;
    int level = MPI_THREAD_SINGLE;
    check(MPI_Query_thread(&level), "MPI_Query_thread");
    if (level == MPI_THREAD_MULTIPLE) return true;
    static std::atomic<bool> warned = false;
    if (warns && !warned.exchange(true))
        fmt::print(
            stderr,
            "rubato: MPI was not started with MPI_THREAD_MULTIPLE, so nothing advances in the background, only in "
            "calls (use MPI_Init_thread, or RUBATO_BACKGROUND=off to be told no more)\n");
    return false;
}

std::optional<watch_id> watch_until_finalize(background::watcher w) {
    watchers& all = all_watchers();
    background::ticket t;
    try {
        t = background_thread().watch(std::move(w));
    } catch (const error& e) {
        fmt::print(stderr, "rubato: {}; nothing advances in the background\n", e.what());
        return std::nullopt;
    }
    const std::lock_guard lock(all.mutex);
    if (!all.ends_with_mpi) {
        int key = MPI_KEYVAL_INVALID;
        check(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, stop_all, &key, nullptr), "MPI_Comm_create_keyval");
        check(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr), "MPI_Comm_set_attr");
        check(MPI_Comm_free_keyval(&key), "MPI_Comm_free_keyval");
        all.ends_with_mpi = true;
    }
    all.tickets.emplace(++all.last, t);
    return all.last;
}

void stop_watch(watch_id id) {
    watchers& all = all_watchers();
    const std::lock_guard lock(all.mutex);
    const auto found = all.tickets.find(id);
    if (found == all.tickets.end()) return;
    background_thread().leave(found->second);
    all.tickets.erase(found);
}

}  // namespace rubato::mpi
