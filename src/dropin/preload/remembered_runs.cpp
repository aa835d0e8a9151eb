#include "dropin/preload/remembered_runs.hpp"

#include "base/files/own_folder.hpp"
#include "dropin/preload/gather_bytes.hpp"
#include "dropin/preload/network.hpp"
#include "dropin/profile/profile.hpp"
#include "engine/mpi/private_communicator.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <ctime>
#include <filesystem>

#include <sys/stat.h>
#include <unistd.h>

namespace rubato::dropin {
namespace {

namespace fs = std::filesystem;

void say(const std::exception& e) { std::fprintf(stderr, "rubato: %s; this run goes on without it\n", e.what()); }

/// Those of the user's cache are the user's.
fs::path without_links(const fs::path& folder) {
    std::error_code none;
    fs::path real = fs::weakly_canonical(folder, none);
    return none ? folder : real;
}

void add(dropin::networks& to, const dropin::networks& more) {
    if (to.within.empty()) to.within = more.within;
    if (to.between.empty()) to.between = more.between;
}

}  // namespace

void remembered_runs::begin(MPI_Comm comm, const settings& how, dropin::key of) {
    if (how.mode != mode::automatic || !how.remembers) return;
    const bool first = engine::rank_in(comm) == 0;
    key_ = std::move(of);
    std::string text;
    if (first) {
        named_ = !how.profile.empty();
        file_ = place(how);
        if (!file_.empty()) text = read(how);
    }
    file_ = engine::broadcast(comm, std::move(file_));
    text = engine::broadcast(comm, std::move(text));
    if (text.empty()) return;
    before_ = dropin::parse(text, file_);
    remember_networks(before_.models);
}

/// Empty if there is none, or it is not ours; the latter is said.
std::string remembered_runs::place(const settings& how) const {
    if (named_) return how.profile;
    const auto folder = dropin::default_folder();
    if (!folder) return "";
    try {
        if (access(folder->c_str(), W_OK) == 0) (void)base::own_folder::find(without_links(*folder));
    } catch (const std::exception& e) {
        say(e);
        return "";
    }
    return dropin::file_of(*folder, dropin::name_of(key_)).string();
}

/// Its text if it is a profile of such runs; else nothing, and one line says why.
std::string remembered_runs::read(const settings& how) {
    std::error_code none;
    if (!fs::exists(file_, none)) return {};
    if (!named_ && access(file_.c_str(), R_OK) != 0) return {};
    try {
        std::string text = dropin::text_of(file_);
        const dropin::profile p = dropin::parse(text, file_);
        dropin::check_key(p, key_, file_);
        from_ = {file_, p.runs, p.known.size(), how.model.empty() && !p.models.empty()};
        return text;
    } catch (const std::exception& e) {
        say(e);
        foreign_ = named_;
        return {};
    }
}

void remembered_runs::keep(const dropin::group& where, std::vector<experience> learned) {
    const std::lock_guard lock(mutex_);
    for (experience& e : learned) learned_.put(where, std::move(e), ++kept_);
    if (learned_.known.size() > 2 * dropin::most_experiences) dropin::trim(learned_);
}

void remembered_runs::end(MPI_Comm comm) {
    if (file_.empty()) return;
    std::string mine;
    try {
        learned_.of = key_;
        learned_.models = known_networks();
        mine = dropin::to_text(learned_);
    } catch (const std::exception&) {
        mine.clear();  // rank 0 waits for it all the same
    }
    const auto kept = gather_bytes(comm, std::as_bytes(std::span(mine)));
    if (kept.empty()) return;
    try {
        write(kept);
    } catch (const std::exception& e) {
        if (named_) say(e);
    }
}

/// On rank 0. Where two communicators of the same members have met the same operation, one of them is remembered.
void remembered_runs::write(const std::vector<std::vector<std::byte>>& kept) {
    if (foreign_) return;
    dropin::profile all = std::move(before_);
    all.of = key_;
    all.written = std::time(nullptr);
    ++all.runs;
    dropin::networks models;
    for (const auto& bytes : kept) {
        if (bytes.empty()) continue;
        const dropin::profile one = dropin::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, file_);
        for (const auto& [at, memory] : one.known) all.put(at.where, memory.what, all.written);
        add(models, one.models);
    }
    add(models, all.models);
    all.models = models;
    if (all.known.empty() && all.models.empty()) return;
    if (!named_) {
        const fs::path file = file_;
        const auto cache = base::own_folder::at(without_links(file.parent_path()));
        struct stat there {};
        if (lstat(file.c_str(), &there) == 0 && there.st_uid != geteuid()) cache.remove(file.filename().string());
    }
    dropin::write(all, file_);
}

}  // namespace rubato::dropin
