// A pairing heap per segment holds the processes that can send it now, the first of the ready group on top. A process
// is in the heap of a segment if it is a member, holds the segment, did not receive it in this round and has not sent
// in this round. So a process that sends leaves the heaps of all its segments and comes back when the round is over.
//
// Cost: O(P N^2 log P). Source: Marendic et al. 2016, 5.4.1 (heaps, flat sets of held segments); Proficz & Ocetkiewicz
// 2020, 4.1 and 5.7 (removing senders at once), 4.2 and 5.1.
#include "generators/baselines.hpp"
#include "generators/ready_group.hpp"

#include <boost/heap/pairing_heap.hpp>
#include <limits>
#include <memory>

namespace rubato::schedules {
namespace {

/// By place in the ready group, which ranks alone do not give. The root's key is less than all others.
struct sender {
    std::int64_t key;
    std::int32_t rank;
};
struct comes_later {
    bool operator()(const sender& a, const sender& b) const { return a.key != b.key ? a.key > b.key : a.rank > b.rank; }
};

/// The heaps' nodes: half of the time went into malloc and free. It lives as long as the heaps; one per thread.
class node_pool {
public:
    node_pool() = default;
    node_pool(const node_pool&) = delete;
    node_pool& operator=(const node_pool&) = delete;
    ~node_pool() {
        blocks_.clear();
        free_ = nullptr;
    }

    static void* take(std::size_t bytes) {
        if (free_ == nullptr) grow(bytes);
        return std::exchange(free_, *static_cast<void**>(free_));
    }
    static void give(void* node) { *static_cast<void**>(node) = std::exchange(free_, node); }

private:
    static void grow(std::size_t bytes) {
        const std::size_t count = std::size_t{16} << std::min<std::size_t>(blocks_.size(), 10);
        blocks_.push_back(std::make_unique<std::byte[]>(count * bytes));
        for (std::size_t i = count; i-- > 0;) give(blocks_.back().get() + i * bytes);
    }

    static thread_local std::vector<std::unique_ptr<std::byte[]>> blocks_;
    static thread_local void* free_;
};
thread_local std::vector<std::unique_ptr<std::byte[]>> node_pool::blocks_;
thread_local void* node_pool::free_ = nullptr;

template <class T>
struct pool_allocator {
    using value_type = T;

    pool_allocator() = default;
    template <class Other>
    explicit pool_allocator(const pool_allocator<Other>&) {}

    T* allocate(std::size_t) { return static_cast<T*>(node_pool::take(sizeof(T))); }
    void deallocate(T* node, std::size_t) { node_pool::give(node); }
    bool operator==(const pool_allocator&) const = default;
};

using heap = boost::heap::pairing_heap<sender, boost::heap::compare<comes_later>,
                                       boost::heap::allocator<pool_allocator<sender>>>;

constexpr auto nothing = std::numeric_limits<std::uint32_t>::max();

struct process {
    std::vector<std::uint32_t> holds{};        // increasing; with what it receives in this round
    std::vector<heap::handle_type> handles{};  // per segment; none before it joins
    sender entry{};
    std::uint32_t received = nothing;  // in this round: state P'
    bool sent = false;
};

class senders {
public:
    explicit senders(const instance& in) : heaps_(in.segments), processes_(static_cast<std::size_t>(in.ranks)) {
        for (process& p : processes_) {
            p.holds.resize(in.segments);
            std::iota(p.holds.begin(), p.holds.end(), 0U);
        }
    }

    process& of(std::int32_t r) { return processes_[static_cast<std::size_t>(r)]; }

    void join(const ready_group& group, std::int32_t root) {
        const std::vector<std::int32_t>& members = group.members();
        for (std::size_t i = members.size(); i-- > 0;) {
            const std::int32_t r = members[i];
            process& p = of(r);
            if (!p.handles.empty()) continue;
            p.entry = {r == root ? std::numeric_limits<std::int64_t>::min() : group.key(r), r};
            p.handles.resize(heaps_.size());
            push_all(p);
        }
    }

    /// The first process that can send the segment to p, or -1 if none can. If one can, p no longer can.
    std::int32_t match(process& p, std::uint32_t segment) {
        heap& h = heaps_[segment];
        if (h.empty()) return -1;
        if (h.top().rank != p.entry.rank) {
            if (!p.sent && std::ranges::binary_search(p.holds, segment)) h.erase(p.handles[segment]);
        } else {
            if (h.size() == 1) return -1;
            h.pop();
        }
        return h.top().rank;
    }

    void send(process& from, process& to, std::uint32_t segment) {
        for (const std::uint32_t j : from.holds)
            if (j != from.received) heaps_[j].erase(from.handles[j]);
        from.holds.erase(std::ranges::lower_bound(from.holds, segment));
        from.sent = true;
        const auto place = std::ranges::lower_bound(to.holds, segment);
        if (place == to.holds.end() || *place != segment) to.holds.insert(place, segment);
        to.received = segment;
    }

    /// The last member first: a heap that grows at the top is a chain, whose top is taken at no cost.
    void end_round(const std::vector<std::int32_t>& members) {
        for (std::size_t i = members.size(); i-- > 0;) {
            process& p = of(members[i]);
            if (p.sent) {
                push_all(p);
            } else if (p.received != nothing) {
                push(p, p.received);
            }
            p.sent = false;
            p.received = nothing;
        }
    }

private:
    void push(process& p, std::uint32_t segment) { p.handles[segment] = heaps_[segment].push(p.entry); }
    void push_all(process& p) {
        for (const std::uint32_t j : p.holds) push(p, j);
    }

    node_pool nodes_{};
    std::vector<heap> heaps_;
    std::vector<process> processes_;
};

}  // namespace

rounds generate_pairing_heap(const instance& in) {
    check(in);
    std::vector<std::uint32_t> all(in.segments);
    std::iota(all.begin(), all.end(), 0U);
    senders available(in);
    ready_group group(in);
    rounds result;
    while (group.next([&](std::int32_t r) { return available.of(r).holds.empty(); })) {
        const std::vector<std::int32_t>& members = group.root_first();
        available.join(group, in.root.value);
        const std::size_t begin = result.transfers.size();
        for (const std::int32_t r : members) {
            process& to = available.of(r);
            for (const std::uint32_t j : r == members.front() ? all : to.holds) {
                const std::int32_t from = available.match(to, j);
                if (from < 0) continue;
                available.send(available.of(from), to, j);
                result.transfers.push_back({r, from, j});
                break;
            }
        }
        available.end_round(members);
        if (result.transfers.size() > begin) result.busy.push_back({group.round(), result.transfers.size()});
        group.end_round();
        result.length = group.round();
    }
    return result;
}

}  // namespace rubato::schedules
