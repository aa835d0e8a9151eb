// Messages of ranks that share the cables of a network: how long each takes depends on the others.
#pragma once

#include "simulator/simulate/run.hpp"

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace rubato::simulator {

/// The cables, as the simulators need them.
class shared_cables {
public:
    shared_cables() = default;
    virtual ~shared_cables() = default;
    shared_cables(const shared_cables&) = delete;
    shared_cables& operator=(const shared_cables&) = delete;

    /// Of each rank, as problem::hosts has it. Messages within a host use no cable.
    virtual std::span<const std::int32_t> hosts() const = 0;
    /// A transfer between two ranks begins. `in_turn`: it gets what earlier ones of its host leave. False if it takes
    /// no time.
    virtual bool start(std::uint32_t from, std::uint32_t to, double bytes, std::uint64_t id, bool in_turn) = 0;
    /// When the next transfer ends if none begins before, or INT64_MAX.
    virtual std::int64_t next_end() = 0;
    /// Time goes on until then, and not beyond the next end. The transfers that have ended are told.
    virtual void run_until(std::int64_t time, std::vector<std::uint64_t>& ended) = 0;
};

/// What the simulators give to the cables, and hear from them.
class messages_on_cables {
public:
    struct message {
        std::int64_t time;  ///< when it is given to the network
        std::uint32_t rank;
        std::uint32_t step;
        double bytes;
        bool in_turn;  ///< it waits for those that its host sends before it; others wait for those to the same rank

        bool operator>(const message& other) const {
            return std::tie(time, rank, step) > std::tie(other.time, other.rank, other.step);
        }
    };

    /// `gap`: between two messages from one rank to another.
    messages_on_cables(run_of_ranks& r, std::int64_t gap) : r_(r), cables_(*r.cables()), gap_(gap) {}

    /// Not before the time up to which this has run.
    void send(const message& m) { push({m, false}); }
    /// When something happens next, or INT64_MAX.
    std::int64_t next() {
        return std::min(coming_.empty() ? INT64_MAX : coming_.front().what.time, cables_.next_end());
    }
    /// Until then, and not beyond next(). Calls left(rank, step) for each message whose last byte has left.
    template <class F>
    void run_until(std::int64_t now, F left) {
        cables_.run_until(now, ended_);
        for (const std::uint64_t id : ended_) {
            left(static_cast<std::uint32_t>(id >> 32), static_cast<std::uint32_t>(id));
            go_on(static_cast<std::uint32_t>(id >> 32), static_cast<std::uint32_t>(id), now);
        }
        while (!coming_.empty() && coming_.front().what.time == now) {
            std::ranges::pop_heap(coming_, std::greater{});
            const auto [m, is_first] = coming_.back();
            coming_.pop_back();
            if (!m.in_turn && !is_first) {
                std::deque<message>& line = lines_[{m.rank, peer_of(m.rank, m.step)}];
                line.push_back(m);
                if (line.size() > 1) continue;
            }
            const std::uint64_t id = (std::uint64_t{m.rank} << 32) | m.step;
            if (cables_.start(m.rank, peer_of(m.rank, m.step), m.bytes, id, m.in_turn)) continue;
            left(m.rank, m.step);
            go_on(m.rank, m.step, now);
        }
    }

private:
    struct entry {
        message what;
        bool is_first;  // of its line
        bool operator>(const entry& other) const { return what > other.what; }
    };

    std::uint32_t peer_of(std::uint32_t rank, std::uint32_t step) const {
        return r_.shapes().peer_of(rank, r_.shapes().of(rank).steps[step]);
    }
    void push(const entry& e) {
        coming_.push_back(e);
        std::ranges::push_heap(coming_, std::greater{});
    }
    /// The next message to the same rank comes, if this one was the first of a line.
    void go_on(std::uint32_t rank, std::uint32_t step, std::int64_t now) {
        const auto line = lines_.find({rank, peer_of(rank, step)});
        if (line == lines_.end() || line->second.front().step != step) return;
        line->second.pop_front();
        if (line->second.empty()) {
            lines_.erase(line);
            return;
        }
        line->second.front().time = now + gap_;
        push({line->second.front(), true});
    }

    run_of_ranks& r_;
    shared_cables& cables_;
    std::int64_t gap_;
    std::vector<entry> coming_{};                                                     // a heap
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<message>> lines_{};  // never empty ones
    std::vector<std::uint64_t> ended_{};
};

}  // namespace rubato::simulator
