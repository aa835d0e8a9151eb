#include "rubato/algorithm.hpp"
#include "schedules/algorithms/dynamic.hpp"
#include "schedules/algorithms/pattern/partial.hpp"

#include <fmt/format.h>

#include <deque>
#include <queue>
#include <tuple>

namespace rubato::schedules {
namespace {

using caused_by = std::optional<builder::step_id>;

struct queued_message {
    rank to;
    bool data;
    note text;
    caused_by after;
};

/// One rank: its state machine, the schedule of what it has done, and its ports.
struct simulated_rank {
    simulated_rank(const algorithm& a, const problem& p, rank me)
        : machine(a.dynamic(p, me)), b(p, me, 1), root(me == p.root) {}

    slice held() const { return sum ? sum->value() : b.input(); }
    void absorb(rank from) {
        if (!sum) sum.emplace(b, true, b.input(), root ? b.output() : b.scratch_chunks());
        last = sum->absorb(from, true);
    }

    std::unique_ptr<state_machine> machine;
    builder b;
    bool root;
    std::optional<partial> sum{};  // once it is more than the input
    caused_by last{};              // what happened to it
    std::vector<queued_message> outbox{};
    std::vector<rank> waiting{};  // ranks that have a message for it
    time_ns sends_until = time_ns::min();
    time_ns receives_until = time_ns::max();  // it has not arrived
    time_ns wakes = time_ns::max();
};

struct run_event {
    enum class kind : std::uint8_t { arrived, received, taken, sent, woken };
    time_ns when;
    std::uint64_t number;  // of equal times, the first comes first
    kind what;
    rank at;
    rank from{};
    note text{};

    bool operator>(const run_event& other) const { return std::tie(when, number) > std::tie(other.when, other.number); }
};

class run_recorder {
public:
    run_recorder(const algorithm& a, const problem& p, const pace& takes) : takes_(takes) {
        for (rank r; r.value < p.ranks; ++r.value) {
            players_.emplace_back(a, p, r);
            const time_ns when = p.arrivals.empty() ? time_ns{} : p.arrivals[static_cast<std::size_t>(r.value)];
            push({when, 0, run_event::kind::arrived, r});
        }
    }

    std::vector<schedule> run() {
        while (!queue_.empty()) {
            now_ = queue_.top().when;
            touched_.clear();
            for (; !queue_.empty() && queue_.top().when == now_; queue_.pop()) happen(queue_.top());
            for (std::size_t i = 0; i < touched_.size(); ++i) decide(touched_[i]);
            for (std::size_t i = 0; i < touched_.size(); ++i) send(touched_[i]);
        }
        std::vector<schedule> all;
        all.reserve(players_.size());
        for (simulated_rank& one : players_) {
            if (!one.machine->done() || !one.outbox.empty())
                throw error(fmt::format("rank {} never ends", all.size()), "it waits for a note that nobody sends",
                            "this is a mistake in the algorithm: report it");
            if (one.root && !one.sum) one.b.copy(one.b.input(), one.b.output());
            all.push_back(std::move(one.b).finish());
        }
        return all;
    }

private:
    simulated_rank& at(rank r) { return players_[static_cast<std::size_t>(r.value)]; }
    void push(run_event h) {
        h.number = pushed_++;
        queue_.push(h);
    }

    void happen(const run_event& h) {
        simulated_rank& me = at(h.at);
        touched_.push_back(h.at);
        switch (h.what) {
            case run_event::kind::arrived: me.receives_until = now_; break;
            case run_event::kind::received: me.machine->receive(h.from, h.text); break;
            case run_event::kind::taken: me.machine->taken(h.from); break;
            case run_event::kind::sent:
            case run_event::kind::woken: return;
        }
        // It can receive again.
        touched_.insert(touched_.end(), me.waiting.begin(), me.waiting.end());
        me.waiting.clear();
    }

    void decide(rank r) {
        simulated_rank& me = at(r);
        if (me.receives_until > now_) return;  // not there, or in the middle of something
        me.machine->decide(now_);
        for (const action& a : me.machine->actions()) {
            switch (a.what) {
                case action::verb::tell: me.outbox.push_back({a.peer, false, a.text, me.last}); break;
                case action::verb::hand_over: me.outbox.push_back({a.peer, true, {}, me.last}); break;
                case action::verb::take: break;  // its sender's message does all
            }
        }
        const time_ns wake = me.machine->wake_at();
        if (wake == time_ns::max() || wake == me.wakes) return;
        me.wakes = wake;
        push({std::max(wake, now_), 0, run_event::kind::woken, r});
    }

    /// Begins to send the first message whose receiver is free; those to one receiver keep their order.
    void send(rank r) {
        simulated_rank& me = at(r);
        if (me.sends_until > now_) return;
        std::vector<rank> not_free;
        for (std::size_t i = 0; i < me.outbox.size(); ++i) {
            const queued_message m = me.outbox[i];
            if (std::ranges::find(not_free, m.to) != not_free.end()) continue;
            if (simulated_rank& to = at(m.to); to.receives_until > now_) {
                not_free.push_back(m.to);
                to.waiting.push_back(r);
                continue;
            }
            me.outbox.erase(me.outbox.begin() + static_cast<std::ptrdiff_t>(i));
            return begin(r, m);
        }
    }

    void begin(rank r, const queued_message& m) {
        simulated_rank& me = at(r);
        simulated_rank& to = at(m.to);
        const slice what = m.data ? me.held() : builder::presence();
        if (m.after)
            me.b.send(m.to, what, {*m.after});
        else
            me.b.send(m.to, what);
        me.sends_until = now_ + (m.data ? takes_.data : takes_.note);
        push({me.sends_until, 0, run_event::kind::sent, r});
        if (m.data) {
            to.absorb(r);
            to.receives_until = to.sends_until = std::max(me.sends_until, to.sends_until) + takes_.combine;
            push({to.receives_until, 0, run_event::kind::taken, m.to, r});
        } else {
            to.last = to.b.recv(r, builder::nothing());
            to.receives_until = me.sends_until;
            push({to.receives_until, 0, run_event::kind::received, m.to, r, m.text});
        }
    }

    pace takes_;
    std::deque<simulated_rank> players_{};  // they cannot be moved
    std::priority_queue<run_event, std::vector<run_event>, std::greater<>> queue_{};
    std::uint64_t pushed_ = 0;
    std::vector<rank> touched_{};  // now; they may have something to decide or to send
    time_ns now_{};
};

}  // namespace

std::vector<schedule> record(const algorithm& a, const problem& p, const pace& takes) {
    rubato::check(a, p);
    return run_recorder(a, p, takes).run();
}

std::vector<schedule> record(const algorithm& a, const problem& p) {
    pace takes;
    takes.data = std::max(p.round_time, takes.note);
    return record(a, p, takes);
}

}  // namespace rubato::schedules
