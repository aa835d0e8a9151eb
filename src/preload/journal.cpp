#include "preload/journal.hpp"

#include "observe/decision_json.hpp"

#include <cstdio>
#include <new>
#include <string>

namespace rubato::preload {

void journal::start(const std::filesystem::path& file, const observe::process& who) {
    recorder_ = std::make_unique<observe::recorder>(file, who);
}

void journal::warn(std::string_view what) noexcept {
    if (!warned_.exchange(true)) std::fprintf(stderr, "rubato: %.*s\n", static_cast<int>(what.size()), what.data());
}

void journal::explain(const decision& d) noexcept {
    if (!recorder_) return;
    const std::lock_guard lock(explaining_);
    try {
        const std::string line = to_line(d);
        if (explained_.insert(std::hash<std::string>()(line)).second) recorder_->note(line);
    } catch (const std::bad_alloc&) {
        // It stays unexplained.
    }
}

void journal::record_nothing_new() noexcept {
    if (records_new_.exchange(false)) warn("there is no memory to record communicators that are new from now on");
}

}  // namespace rubato::preload
