// Every call, where that is asked for.
#include "observe/part_layout.hpp"

#include <atomic>

namespace rubato::observe {

void recorder::keep_call(const sums& row, std::uint64_t invocation, std::int64_t bytes, time_ns arrival,
                         time_ns exit) noexcept {
    if (kept_ == nullptr) return;
    const std::lock_guard lock(keeping_);
    if (next_call_ == end_of_calls_ && room_for_calls_ >= calls_in_block * sizeof(call)) {
        const std::lock_guard whole(mutex_);
        std::byte* const room = allocate(static_cast<std::uint32_t>(record_kind::calls), calls_in_block * sizeof(call));
        if (room != nullptr) {
            publish();
            next_call_ = reinterpret_cast<call*>(room);
            end_of_calls_ = next_call_ + calls_in_block;
        }
        room_for_calls_ = room != nullptr ? room_for_calls_ - calls_in_block * sizeof(call) : 0;
    }
    if (next_call_ == end_of_calls_) {
        std::atomic_ref(kept_->missing).store(kept_->missing + 1, std::memory_order_relaxed);
        return;
    }
    call& to = *next_call_++;
    to = {arrival.count(), exit.count(), bytes, invocation, row.channel, 0};
    std::atomic_ref(to.row).store(row.number + 1, std::memory_order_release);
    std::atomic_ref(kept_->calls).store(kept_->calls + 1, std::memory_order_relaxed);
}

}  // namespace rubato::observe
