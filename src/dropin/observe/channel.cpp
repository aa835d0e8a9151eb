// The work for every observed call: finding its row, three sums and, for some calls, storing the times.
#include "dropin/observe/part.hpp"
#include "dropin/observe/part_layout.hpp"

#include <exception>

namespace rubato::dropin {
namespace {

/// A reader that sees this value also sees everything stored before it.
template <class T>
void store_last(T& to, T value) {
    std::atomic_ref(to).store(value, std::memory_order_release);
}

/// Slots lie in blocks of 16, 16, 32, ... 512.
constexpr std::size_t block_of(std::size_t slot) {
    return static_cast<std::size_t>(std::bit_width(slot / first_block));
}
constexpr std::size_t begin_of(std::size_t block) { return block == 0 ? 0 : first_block << (block - 1); }
constexpr std::size_t size_of(std::size_t block) { return block == 0 ? first_block : begin_of(block); }
static_assert(begin_of(6) + size_of(6) == most_events);

/// Adds an element and its place in the index: both, or neither if there is no memory.
template <class Element, class Index, class Key>
std::uint32_t add_indexed(std::vector<Element>& list, const Element& one, Index& index, const Key& k) {
    const auto place = static_cast<std::uint32_t>(list.size());
    list.push_back(one);
    try {
        index.emplace(k, place);
    } catch (...) {
        list.pop_back();
        throw;
    }
    return place;
}

}  // namespace

recorder::channel::channel(recorder& home, channels_of_members& alike, std::uint32_t number)
    : home_(home), alike_(alike), number_(number), events_to_share_(events_to_share) {}

std::size_t recorder::channel::hash::operator()(const key& k) const noexcept {
    const auto rest = static_cast<std::uint64_t>(static_cast<std::uint32_t>(k.root)) << 24 |
                      static_cast<std::uint64_t>(k.what) << 16 | static_cast<std::uint64_t>(k.how) << 8 | k.size_class;
    std::uint64_t h = reinterpret_cast<std::uintptr_t>(k.site) * 0x9e3779b97f4a7c15ULL ^ rest * 0xbf58476d1ce4e5b9ULL;
    h ^= h >> 32;
    return h;
}

sums* recorder::channel::record(const seen& s) noexcept {
    const std::uint64_t invocation = calls_++;
    const std::int64_t before = home_.last_exit_.load(std::memory_order_relaxed);
    home_.last_exit_.store(s.exit.count(), std::memory_order_relaxed);
    if (mine_ == nullptr) return nullptr;
    const key k{s.site, s.root, s.what, s.how, size_class_of(s.bytes)};
    std::uint32_t& recent = recent_[hash()(k) % recent_.size()];
    if (recent == 0 || rows_[recent - 1].of != k) {
        try {
            const std::size_t found = find_or_add(k);
            if (found == rows_.size()) {
                store(mine_->lost, mine_->lost + 1);
                store_last(mine_->calls, calls_);
                return nullptr;
            }
            recent = static_cast<std::uint32_t>(found) + 1;
        } catch (const std::exception&) {  // no memory: the program will notice
            return nullptr;
        }
    }
    sums& total = *rows_[recent - 1].where;
    store(total.bytes, total.bytes + s.bytes);
    store(total.time, total.time + (s.exit - s.arrival).count());
    store_last(total.calls, total.calls + 1);
    // Other threads may have ended a call since this one began.
    const bool known = before != never && before <= s.arrival.count();
    keep(invocation, recent - 1, s, known ? s.arrival.count() - before : unknown_time.count());
    home_.keep_call(total, invocation, s.bytes, s.arrival, s.exit);
    store_last(mine_->calls, calls_);
    return &total;
}

sums* recorder::channel::row_of(const seen& s) noexcept {
    if (mine_ == nullptr) return nullptr;
    try {
        const std::size_t found = find_or_add({s.site, s.root, s.what, s.how, size_class_of(s.bytes)});
        return found == rows_.size() ? nullptr : rows_[found].where;
    } catch (const std::exception&) {  // no memory: the program will notice
        return nullptr;
    }
}

void add(sums& row, std::int64_t bytes, time_ns time) noexcept {
    std::atomic_ref(row.bytes).fetch_add(bytes, std::memory_order_relaxed);
    std::atomic_ref(row.time).fetch_add(time.count(), std::memory_order_relaxed);
    std::atomic_ref(row.calls).fetch_add(1, std::memory_order_release);
}

void add_end(sums& row, time_ns apart, time_ns waited) noexcept {
    std::atomic_ref(row.apart).fetch_add(apart.count(), std::memory_order_relaxed);
    std::atomic_ref(row.waited).fetch_add(waited.count(), std::memory_order_relaxed);
    std::atomic_ref(row.ended).fetch_add(1, std::memory_order_release);
}

void recorder::keep_call(const sums& row, std::uint64_t invocation, std::int64_t bytes, time_ns arrival,
                         time_ns exit) noexcept {
    if (kept_ == nullptr) return;
    const std::lock_guard lock(keeping_);
    if (next_call_ == end_of_calls_ && room_for_calls_ >= calls_in_block * sizeof(call)) {
        const std::lock_guard whole(mutex_);
        std::byte* const room = allocate(record_kind::calls, calls_in_block * sizeof(call));
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

/// Slots are filled one after the other. When all are full, half of the invocations are dropped. Their slots take the
/// next ones, of which only half are kept. Only the numbers of invocations decide, so all ranks keep the same ones.
void recorder::channel::keep(std::uint64_t invocation, std::size_t row, const seen& s, std::int64_t outside) {
    operation& of = operations_[rows_[row].operation];
    event* chosen = nullptr;
    while (chosen == nullptr) {
        if (!kept(invocation, of.skipped) || of.slots == 0) return;
        if (of.next == of.slots) {
            of.next = 0;
            of.skipped = of.skipped * 2 + 1;
            auto* first = reinterpret_cast<block_part*>(of.blocks[0]) - 1;
            store_last(first->skipped, of.skipped);
            continue;
        }
        event* e = slot(rows_[row].operation, of.next);
        if (e == nullptr) {
            of.slots = of.next;  // and no more
            continue;
        }
        ++of.next;
        if (e->tag == 0 || !kept(invocation_of(e->tag), of.skipped)) chosen = e;
    }
    store(chosen->tag, std::uint64_t{0});
    store_last(chosen->arrival, s.arrival.count());
    store_last(chosen->exit, s.exit.count());
    store_last(chosen->outside, outside);
    store_last(chosen->tag, tag_of(invocation, row));
}

event* recorder::channel::slot(std::uint32_t which, std::size_t i) {
    const std::size_t block = block_of(i);
    event*& begin = operations_[which].blocks[block];
    if (begin == nullptr) {
        if (block > 0 && events_to_share_ < size_of(block)) return nullptr;
        const std::lock_guard lock(home_.mutex_);
        auto* part = home_.start<block_part>(record_kind::events, size_of(block) * sizeof(event));
        if (part == nullptr) return nullptr;
        *part = {number_, which, static_cast<std::uint32_t>(begin_of(block)),
                 static_cast<std::uint32_t>(size_of(block)), 0};
        home_.publish();
        begin = reinterpret_cast<event*>(part + 1);
        if (block > 0) events_to_share_ -= size_of(block);
    }
    return begin + (i - begin_of(block));
}

std::uint32_t recorder::channel::operation_of(key k) {
    k.site = nullptr;
    if (traits(k.what).irregular) k.size_class = 0;
    if (const auto found = operation_index_.find(k); found != operation_index_.end()) return found->second;
    const operation made{.slots = operations_.size() < most_operations ? most_events : 0};
    return add_indexed(operations_, made, operation_index_, k);
}

std::size_t recorder::channel::find_or_add(const key& k) {
    if (const auto found = index_.find(k); found != index_.end()) return found->second;
    if (rows_.size() == most_rows) return rows_.size();
    const std::lock_guard lock(home_.mutex_);
    if (sums_room_ == 0) {
        const std::size_t count = std::clamp<std::size_t>(rows_.size(), 8, 1024);
        auto* part = home_.start<block_part>(record_kind::sums, count * sizeof(sums));
        if (part == nullptr) return rows_.size();
        *part = {number_, 0, static_cast<std::uint32_t>(rows_.size()), static_cast<std::uint32_t>(count), 0};
        home_.publish();
        sums_block_ = reinterpret_cast<sums*>(part + 1);
        sums_room_ = count;
    }
    const std::uint32_t site = home_.site_number(k.site);
    add_indexed(rows_, entry{k, sums_block_, operation_of(k)}, index_, k);
    sums& made = *sums_block_;
    made.site = site;
    made.root = k.root;
    made.channel = number_;
    made.number = static_cast<std::uint32_t>(rows_.size() - 1);
    made.what = static_cast<std::uint8_t>(k.what);
    made.how = static_cast<std::uint8_t>(k.how);
    made.size_class = k.size_class;
    ++sums_block_;
    --sums_room_;
    return rows_.size() - 1;
}

}  // namespace rubato::dropin
