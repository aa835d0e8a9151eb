// What the drop-in notes of this process: its recording, and lines on standard error.
#pragma once

#include "dropin/observe/notes.hpp"
#include "dropin/observe/recorder.hpp"

#include <atomic>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <unordered_set>

namespace rubato::dropin {

class journal {
public:
    /// Throws if nothing can be recorded. Not while others use the journal.
    void start(const std::filesystem::path& file, const dropin::process& who, const dropin::recording& how) {
        recorder_ = std::make_unique<dropin::recorder>(file, who, how);
    }

    /// Null if this rank records nothing.
    dropin::recorder* recorder() { return recorder_.get(); }
    /// The same, for communicators that are new; null too if there was no memory for one of them.
    dropin::recorder* recorder_of_new() { return records_new_ ? recorder_.get() : nullptr; }

    /// Does something with the recorder, if there is one, that no other rank waits for: an error is one line.
    template <class Do>
    void alone(Do what) noexcept {
        try {
            if (recorder_) what(*recorder_);
        } catch (const std::exception& e) {
            warn(e.what());
        }
    }
    /// One line on standard error, the first time.
    void warn(std::string_view what) noexcept {
        if (!warned_.exchange(true)) std::fprintf(stderr, "rubato: %.*s\n", static_cast<int>(what.size()), what.data());
    }
    /// Notes a decision; the same one of many communicators once, and some only: programs may make communicators for
    /// ever.
    void explain(const decision& d) noexcept {
        if (!recorder_) return;
        const std::lock_guard lock(explaining_);
        if (explained_.size() < most_explained)
            (void)note_once(d);
        else
            warn("there are more decisions than the report can explain; it has the first of them");
    }
    /// Notes what a communicator begins with; the same of many communicators once, and some only.
    void recall(const dropin::recalled& r) noexcept {
        if (!recorder_) return;
        const std::lock_guard lock(explaining_);
        if (recalled_ < most_recalled && note_once(r)) ++recalled_;
    }
    /// What would begin later on this rank than on others could not be compared with theirs.
    void record_nothing_new() noexcept {
        if (records_new_.exchange(false))
            warn("communicators that are new from now on are not recorded: there is no memory, or MPI failed");
    }

private:
    static constexpr int most_recalled = 64;
    static constexpr std::size_t most_explained = 2048;  ///< at most some 800 KiB

    /// False if it was noted before, or if there is no memory: the report does without.
    template <class What>
    bool note_once(const What& what) noexcept {
        try {
            const std::string line = to_line(what);
            const bool fresh = explained_.insert(std::hash<std::string>()(line)).second;
            if (fresh) recorder_->note(line);
            return fresh;
        } catch (const std::bad_alloc&) {
            return false;
        }
    }

    std::unique_ptr<dropin::recorder> recorder_{};
    std::atomic<bool> records_new_{true};
    std::atomic<bool> warned_{false};
    std::mutex explaining_{};
    std::unordered_set<std::size_t> explained_{};  // hashes
    int recalled_ = 0;
};

}  // namespace rubato::dropin
