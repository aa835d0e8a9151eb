// LogGOPS with O = 0 as plainly as it can be said: one queue of events for all ranks, messages matched when they come
// in. An event that finds its rank busy goes back into the queue.
#pragma once

#include "simulator/programs/goal.hpp"

#include <algorithm>
#include <list>
#include <queue>

namespace rubato::simulator {

class loggops_reference {
public:
    loggops_reference(const std::vector<goal_rank>& ranks, const loggops& m) : m_(m), ranks_(ranks.size()) {
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            ranks_[r].ops = ranks[r].ops;
            ranks_[r].waits.resize(ranks[r].ops.size());
            ranks_[r].at_end.resize(ranks[r].ops.size());
            ranks_[r].at_begin.resize(ranks[r].ops.size());
            for (const goal_wait& w : ranks[r].waits) {
                ++ranks_[r].waits[w.op];
                (w.begin ? ranks_[r].at_begin : ranks_[r].at_end)[w.other].push_back(w.op);
            }
            for (std::uint32_t i = 0; i < ranks[r].ops.size(); ++i)
                if (ranks_[r].waits[i] == 0) ranks_[r].freed.push_back(i);
            free(r);
        }
        while (!queue_.empty()) {
            const happening h = queue_.top();
            queue_.pop();
            handle(h);
            for (std::size_t r = 0; r < ranks_.size(); ++r) free(r);
        }
    }

    std::vector<time_ns> exits() const {
        std::vector<time_ns> all;
        for (const one_rank& r : ranks_) all.emplace_back(r.processor);
        return all;
    }

private:
    struct happening {
        std::int64_t time;
        std::uint64_t born;
        std::size_t rank;
        std::uint32_t op;           // of a message, its sender's
        std::size_t sender = none;  // of a message that comes in
        bool operator<(const happening& o) const { return time != o.time ? time > o.time : born > o.born; }
    };
    struct one_rank {
        std::vector<goal_op> ops{};
        std::vector<std::uint32_t> waits{};
        std::vector<std::vector<std::uint32_t>> at_end{};
        std::vector<std::vector<std::uint32_t>> at_begin{};
        std::vector<std::uint32_t> freed{};
        std::int64_t processor = 0;  // free again
        std::int64_t out = 0;
        std::int64_t in = 0;
        std::list<std::uint32_t> open{};
        std::list<happening> unexpected{};
    };
    static constexpr std::size_t none = SIZE_MAX;

    std::int64_t transfer(std::int64_t bytes) const {
        return static_cast<std::int64_t>(m_.G) * std::max<std::int64_t>(bytes - 1, 0);
    }
    void satisfy(std::size_t r, const std::vector<std::uint32_t>& waiting) {
        for (const std::uint32_t op : waiting)
            if (--ranks_[r].waits[op] == 0) ranks_[r].freed.push_back(op);
    }
    void free(std::size_t r) {
        one_rank& mine = ranks_[r];
        std::ranges::stable_sort(mine.freed, {}, [&](std::uint32_t op) { return mine.ops[op].kind; });
        for (const std::uint32_t op : mine.freed) {
            const bool sends = mine.ops[op].kind == goal_kind::send;
            queue_.push({sends ? std::max(mine.processor, mine.out) : mine.processor, born_++, r, op});
        }
        mine.freed.clear();
    }
    void handle(happening h) {
        one_rank& mine = ranks_[h.rank];
        const bool comes_in = h.sender != none;
        const goal_op& op = comes_in ? ranks_[h.sender].ops[h.op] : mine.ops[h.op];
        std::int64_t free = INT64_MIN;
        if (comes_in)
            free = std::max(mine.processor, mine.in);
        else if (op.kind == goal_kind::send)
            free = std::max(mine.processor, mine.out);
        else if (op.kind == goal_kind::calc)
            free = mine.processor;
        if (free > h.time) {
            h.time = free;
            return queue_.push(h);
        }
        if (comes_in)
            take_in(h, op);
        else if (op.kind == goal_kind::calc) {
            mine.processor = h.time + op.size;
            satisfy(h.rank, mine.at_begin[h.op]);
            satisfy(h.rank, mine.at_end[h.op]);
        } else if (op.kind == goal_kind::send)
            send(h, op);
        else
            open(h, op);
    }
    void send(const happening& h, const goal_op& op) {
        one_rank& mine = ranks_[h.rank];
        satisfy(h.rank, mine.at_begin[h.op]);
        mine.processor = h.time + static_cast<std::int64_t>(m_.o);
        mine.out = h.time + static_cast<std::int64_t>(m_.g) + transfer(op.size);
        queue_.push({h.time + static_cast<std::int64_t>(m_.o + m_.L), born_++, static_cast<std::size_t>(op.peer), h.op,
                     h.rank});
        if (op.size <= m_.S) satisfy(h.rank, mine.at_end[h.op]);
    }
    bool fits(std::size_t receiver, const goal_op& recv, const happening& message) const {
        const goal_op& sent = ranks_[message.sender].ops[message.op];
        return static_cast<std::size_t>(recv.peer) == message.sender && recv.tag == sent.tag &&
               static_cast<std::size_t>(sent.peer) == receiver;
    }
    void taken(const happening& message, std::size_t receiver, std::uint32_t recv, std::int64_t time) {
        one_rank& sender = ranks_[message.sender];
        if (sender.ops[message.op].size > m_.S) {
            satisfy(message.sender, sender.at_end[message.op]);
            sender.processor = std::max(sender.processor, time);
            sender.out = std::max(sender.out, time);
        }
        satisfy(receiver, ranks_[receiver].at_end[recv]);
    }
    void open(const happening& h, const goal_op& op) {
        one_rank& mine = ranks_[h.rank];
        satisfy(h.rank, mine.at_begin[h.op]);
        const auto found =
            std::ranges::find_if(mine.unexpected, [&](const happening& m) { return fits(h.rank, op, m); });
        if (found == mine.unexpected.end()) return mine.open.push_back(h.op);
        taken(*found, h.rank, h.op, h.time);
        mine.unexpected.erase(found);
    }
    void take_in(const happening& h, const goal_op& op) {
        one_rank& mine = ranks_[h.rank];
        mine.processor = h.time + static_cast<std::int64_t>(m_.o) + transfer(op.size);
        mine.in = h.time + static_cast<std::int64_t>(m_.g) + transfer(op.size);
        const auto found =
            std::ranges::find_if(mine.open, [&](std::uint32_t recv) { return fits(h.rank, mine.ops[recv], h); });
        if (found == mine.open.end()) return mine.unexpected.push_back(h);
        taken(h, h.rank, *found, h.time);
        mine.open.erase(found);
    }

    loggops m_;
    std::vector<one_rank> ranks_;
    std::priority_queue<happening> queue_{};
    std::uint64_t born_ = 0;
};

}  // namespace rubato::simulator
