// The whereabouts of a process's threads, and what its own watchdog adds to them.
#include "observe/mapped_file.hpp"
#include "observe/part_layout.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <span>

namespace rubato::observe {
namespace {

whereabouts* threads_of(watched_part* part) { return reinterpret_cast<whereabouts*>(part + 1); }

watched_request* requests_of(watched_part* part) {
    return reinterpret_cast<watched_request*>(threads_of(part) + most_threads);
}

}  // namespace

watched_request* recorder::add_request(std::uint32_t of_channel, std::uint32_t number) noexcept {
    if (watched_ == nullptr) return nullptr;
    const std::lock_guard lock(mutex_);
    const std::span all(requests_of(watched_), most_requests);
    const auto free = std::ranges::find(all, 0U, &watched_request::number);
    if (free == all.end()) return nullptr;
    free->channel = of_channel;
    free->starts = 0;
    std::atomic_ref(free->number).store(number + 1, std::memory_order_release);
    return &*free;
}

void recorder::remove_request(watched_request& r) noexcept {
    const std::lock_guard lock(mutex_);
    std::atomic_ref(r.number).store(0, std::memory_order_release);
}

whereabouts* recorder::add_thread() noexcept {
    if (watched_ == nullptr) return nullptr;
    const std::lock_guard lock(mutex_);
    if (watched_->threads == most_threads) return nullptr;
    const std::uint32_t mine = watched_->threads;
    std::atomic_ref(watched_->threads).store(mine + 1, std::memory_order_release);
    return threads_of(watched_) + mine;
}

void recorder::explain_threads(const std::function<std::int64_t(std::uint64_t)>& bytes_of) {
    if (watched_ == nullptr) return;
    const std::uint32_t threads = std::atomic_ref(watched_->threads).load(std::memory_order_acquire);
    for (std::uint32_t i = 0; i < threads; ++i) {
        whereabouts& t = threads_of(watched_)[i];
        const std::uint64_t site = std::atomic_ref(t.own.site).load(std::memory_order_relaxed);
        const std::uint64_t type = std::atomic_ref(t.own.type).load(std::memory_order_relaxed);
        if (site != t.known.site) {
            const std::lock_guard lock(mutex_);
            t.known.site_number = site_number(reinterpret_cast<const void*>(site));  // NOLINT: was one
            std::atomic_ref(t.known.site).store(site, std::memory_order_release);
        }
        if (type != t.known.type) {
            t.known.bytes = bytes_of(type);
            std::atomic_ref(t.known.type).store(type, std::memory_order_release);
        }
    }
}

void recorder::beat() noexcept {
    if (watched_ != nullptr) std::atomic_ref(watched_->beats).fetch_add(1, std::memory_order_relaxed);
}

void recorder::tell_to_end() noexcept {
    if (watched_ != nullptr) std::atomic_ref(watched_->ends).store(1, std::memory_order_release);
}

void recorder::sync() noexcept { file_->sync(); }

}  // namespace rubato::observe
