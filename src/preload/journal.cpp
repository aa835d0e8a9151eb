#include "preload/journal.hpp"

#include "observe/decision_json.hpp"

#include <cstdio>
#include <new>
#include <string>

namespace rubato::preload {

void journal::start(const std::filesystem::path& file, const observe::process& who, const observe::recording& how) {
    recorder_ = std::make_unique<observe::recorder>(file, who, how);
}

void journal::warn(std::string_view what) noexcept {
    if (!warned_.exchange(true)) std::fprintf(stderr, "rubato: %.*s\n", static_cast<int>(what.size()), what.data());
}

bool journal::note_once(const std::string& line) {
    const bool fresh = explained_.insert(std::hash<std::string>()(line)).second;
    if (fresh) recorder_->note(line);
    return fresh;
}

void journal::explain(const decision& d) noexcept {
    if (!recorder_) return;
    const std::lock_guard lock(explaining_);
    if (explained_.size() >= most_explained) {
        warn("there are more decisions than the report can explain; it has the first of them");
        return;
    }
    try {
        (void)note_once(to_line(d));
    } catch (const std::bad_alloc&) {
        // It stays unexplained.
    }
}

void journal::recall(const observe::recalled& r) noexcept {
    if (!recorder_) return;
    const std::lock_guard lock(explaining_);
    if (recalled_ == most_recalled) return;
    try {
        if (note_once(to_line(r))) ++recalled_;
    } catch (const std::bad_alloc&) {
        // The report does without.
    }
}

void journal::record_nothing_new() noexcept {
    if (records_new_.exchange(false))
        warn("communicators that are new from now on are not recorded: there is no memory, or MPI failed");
}

}  // namespace rubato::preload
