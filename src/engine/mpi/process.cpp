#include "engine/mpi/process.hpp"

#include "engine/mpi/private_communicator.hpp"
#include "rubato/mpi.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>

namespace rubato::engine {
namespace {

background_settings from_environment() {
    background_settings how;
    for (const std::string_view name : background::variables())
        if (const char* value = std::getenv(name.data())) background::read_setting(how, name, value);
    return how;
}

/// Given by set_background; until then those of the environment are used.
struct said_settings {
    std::mutex mutex{};
    std::optional<background_settings> said{};
    bool used = false;  // the thread has them
};
said_settings& all_said() {
    static auto& s = *new said_settings;
    return s;
}

background_settings current_settings(bool for_thread = false) {
    said_settings& all = all_said();
    const std::lock_guard lock(all.mutex);
    const background_settings how = all.said ? *all.said : from_environment();
    all.used |= for_thread;
    return how;
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
int stop_all(MPI_Comm, int, void*, void*) noexcept {
    watchers& all = all_watchers();
    const std::lock_guard lock(all.mutex);
    for (const auto& [id, ticket] : all.tickets) background_thread().leave(ticket);
    all.tickets.clear();
    return MPI_SUCCESS;
}

}  // namespace

background& background_thread() {
    static auto& thread = *new background(current_settings(true));
    return thread;
}

mutual_help& under_way_here() {
    static auto& all = *new mutual_help;
    return all;
}

bool is_finalized() {
    int yes = 0;
    return MPI_Finalized(&yes) != MPI_SUCCESS || yes != 0;
}

MPI_Comm own_self() {
    static const auto& self = *new private_communicator(MPI_COMM_SELF);
    return self.get();
}

std::string wrong_environment() {
    try {
        (void)current_settings();
        return {};
    } catch (const error& e) {
        return e.what();
    }
}

bool may_use_background(bool warns) {
    const background_use when = current_settings().when;
    if (when == background_use::never) return false;
    int level = MPI_THREAD_SINGLE;
    check(MPI_Query_thread(&level), "MPI_Query_thread");
    if (level == MPI_THREAD_MULTIPLE) return true;
    static std::atomic<bool> warned = false;
    if (warns && when == background_use::wanted && !warned.exchange(true))
        std::fputs(
            "rubato: MPI was not started with MPI_THREAD_MULTIPLE, so nothing advances in the background, only in "
            "calls (use MPI_Init_thread, or RUBATO_BACKGROUND=auto to be told no more)\n",
            stderr);
    return false;
}

std::optional<watch_id> watch_until_finalize(background::watcher w) {
    watchers& all = all_watchers();
    background::ticket t;
    try {
        t = background_thread().watch(std::move(w));
    } catch (const std::exception& e) {  // its core is wrong, or there can be no thread
        std::fprintf(stderr, "rubato: %s; nothing advances in the background\n", e.what());
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

}  // namespace rubato::engine

namespace rubato::mpi {

void set_background(const background_settings& how) {
    engine::said_settings& all = engine::all_said();
    const std::lock_guard lock(all.mutex);
    if (all.used)
        throw error("settings of the background thread", "the thread is already in use",
                    "set them before the first communicator is made");
    all.said = how;
}

}  // namespace rubato::mpi
