// LogGP (Hoefler 2008, II.2) and the variant of Hoefler & Moor 2014, which is the same with other costs.
//
// A rank has a CPU, and a network interface that sends and receives independently. Message of s bytes (an empty one
// counts as s = 1), with x = (s-1)G:
//   send   the CPU is busy for o, from t on. The interface takes the message over at n = t + o, or when it is done with
//          the one before, and is busy for g + x. The step ends at n + x, when the last byte has left the buffer.
//   recv   the first byte comes in at n + L. The receiver's interface serves messages in the order in which they come
//          in, and is busy with each for g + x. When the last byte is in (at n + L + x, if it had not to wait), and
//          what the receive waits for has ended, and the rank has arrived, the CPU is busy for o. The step is these o.
// So a message takes L + 2o + x, and of n messages in a row each takes max(o, g + x) more (Eqs II.5 to II.9).
// A combine takes the CPU for its time per byte and its work. Copies are free and take nothing.
// Messages of `rendezvous` bytes or more are not sent before the receive waits for nothing but the message; what the
// two sides exchange to agree is not charged.
//
// The CPU serves steps in the order in which they become ready, of several at once the first in the schedule. Sends are
// issued in the schedule's order: one is not ready before the one listed before it.
//
// LogfGP (Hoefler 2008, II.2.3): of messages in a row, the first f pay no gap, and the CPU is busy for less with those
// after the first.
//   gap    the i-th message of a row leaves when x of those before and i - f gaps have passed (Eq. II.4). A row ends
//          when no message leaves for a gap. The same holds for messages that come in.
//   o      is omin instead of omax for a send in a row, and for a receive if the CPU comes from another one. So n
//          sends at once take omax + (n-1) omin (Eq. II.2, where omax is the first one's beyond omin).
//
// Hoefler & Moor 2014: the CPU itself sends, so it is busy for o + x with x = sG; there is no interface to wait for.
//
// L, o and g are rounded to whole nanoseconds, and x once per message.
//
// What a rank does takes effect on another one after o + L at the earliest. So time is cut into windows that are no
// longer: within one, ranks do not depend on each other, and each handles its events in the order of time, then of
// step. Messages that wait for their receiver have no such delay; with them, a window is a nanosecond. Ranks that share
// their host's interfaces depend on each other, so then the events of all ranks are handled in one order. A shared
// interface serves messages in the order in which the CPUs give them to it.
#include "simulate/event_queue.hpp"
#include "simulate/run.hpp"

#include <algorithm>
#include <atomic>
#include <barrier>
#include <bit>
#include <exception>
#include <functional>
#include <thread>
#include <utility>

namespace rubato {
namespace {

struct costs {
    std::int64_t L;
    std::int64_t o;
    std::int64_t o_min;
    std::int64_t g;
    std::int64_t ahead;  // so many gaps' time messages may leave before they are over
    bool cpu_sends;      // the CPU moves the bytes, not the interface
};

/// One direction of a network interface.
struct port {
    std::int64_t gap_end = INT64_MIN / 2;   // when all gaps of the row are over
    std::int64_t wire_end = INT64_MIN / 2;  // when the last byte has passed

    bool in_row(std::int64_t time, const costs& c) const { return time <= wire_end + c.g; }
    /// When a message begins that could begin at `time`; it is busy with it for so long, gap and all.
    std::int64_t pass(std::int64_t time, std::int64_t transfer, std::int64_t busy, const costs& c) {
        if (!in_row(time, c)) gap_end = time;
        const std::int64_t begin = std::max({time, gap_end - c.ahead, wire_end});
        gap_end = std::max(gap_end, begin) + busy;
        wire_end = begin + transfer;
        return begin;
    }
};

/// The number of a window's bits.
unsigned shift_for(const costs& c, const costs& inside, bool synchronous) {
    const std::int64_t least = std::min(c.L + c.o_min, inside.L + inside.o_min);
    return synchronous || least < 1 ? 0U : static_cast<unsigned>(std::bit_width(static_cast<std::uint64_t>(least)) - 1);
}

/// Some of the ranks.
class simulator {
public:
    /// The i-th of so many parts.
    simulator(const std::array<costs, 2>& c, unsigned shift, run_of_ranks& r, std::uint32_t i, std::uint32_t parts)
        : c_(c),
          r_(r),
          first_(r.first_of_part(i, parts)),
          end_(r.first_of_part(i + 1, parts)),
          busy_(end_ - first_),
          hosts_(r.hosts()),
          queue_(shift),
          told_(parts),
          first_event_(end_ - first_, none) {}

    void begin() {
        if (const noise* n = r_.detours(); n != nullptr && n->any())
            for (std::uint32_t r = first_; r < end_; ++r) cpus_.push_back(n->of(r));
        for (std::uint32_t r = first_; r < end_; ++r) begin(r);
    }
    std::int64_t next_window() const { return queue_.next_window(); }
    /// All events of the window that is next.
    void run(std::int64_t window) {
        queue_.take(window, batch_);
        if (r_.shares_links()) {  // then ranks of a host do depend on each other within it
            for (const event& e : batch_) add({e.time, e.rank, e.what});
            return handle();
        }
        next_.resize(batch_.size());
        for (std::uint32_t i = 0; i < batch_.size(); ++i) {
            std::uint32_t& first = first_event_[batch_[i].rank - first_];
            if (first == none) touched_.push_back(batch_[i].rank);
            next_[i] = std::exchange(first, i);
        }
        for (const std::uint32_t r : touched_) {
            enter(r);
            for (std::uint32_t i = std::exchange(first_event_[r - first_], none); i != none; i = next_[i])
                add({batch_[i].time, r, batch_[i].what});
            handle();
        }
        touched_.clear();
    }
    /// Takes what another one has told the ranks of this one, the i-th.
    void hear_from(simulator& other, std::size_t i) {
        for (const event& e : other.told_[i]) queue_.push(e);
        other.told_[i].clear();
    }

private:
    static constexpr std::uint32_t none = UINT32_MAX;
    static constexpr std::uint32_t done = run_of_ranks::done;
    static constexpr std::uint32_t message = 1U << 31;       // in `waits`: it waits for the other side, too
    static constexpr std::uint32_t handing_over = done - 1;  // the CPU is busy with it; where ranks share interfaces

    struct resources {
        std::int64_t cpu = INT64_MIN;       // free again at
        std::int64_t received = INT64_MIN;  // end of the last receive
        port out{};
        port in{};
    };
    /// The interfaces of the rank, or of its host, for messages along that link.
    resources& interfaces(link_kind link) {
        return link == between && r_.shares_links() ? hosts_[r_.host_of(me_)] : busy_[me_ - first_];
    }
    /// When the rank's CPU is done with what it begins then, and with bytes that it sends itself.
    std::int64_t cpu_end(std::int64_t begin, std::int64_t work, std::int64_t bytes = 0) {
        work = r_.on_processor(me_, work) + bytes;
        return cpus_.empty() ? begin + work : cpus_[me_ - first_].end_of(time_ns(begin), time_ns(work)).count();
    }
    /// Of the rank whose turn it is, or of all that share links.
    struct own_event {
        std::int64_t time;
        std::uint32_t rank;
        std::uint32_t what;
        auto operator<=>(const own_event&) const = default;
    };

    void enter(std::uint32_t r) {
        me_ = r;
        const run_of_ranks::view v = r_.of(r);
        shape_ = &v.steps;
        ready_ = v.ready;
        waits_ = v.waits;
    }
    link_kind link_of(const shape_step& t) const {
        return t.distance == none ? between : r_.link(me_, r_.shapes().peer_of(me_, t));
    }
    /// The rank itself if there is none.
    std::uint32_t peer_of(const shape_step& t) const { return t.distance == none ? me_ : r_.shapes().peer_of(me_, t); }
    bool is_synchronous(const shape_step& t) const { return t.distance != none && t.synchronous[link_of(t)]; }

    void begin(std::uint32_t r) {
        r_.begin(r);
        enter(r);
        for (std::uint32_t s = 0; s < shape_->size(); ++s) {
            const shape_step& t = shape_->steps[s];
            const bool is_message = t.kind == step_kind::send || t.kind == step_kind::recv;
            if (is_message && is_synchronous(t) == (t.kind == step_kind::send)) waits_[s] |= message;
            if (waits_of_own(s) == 0) free_.push_back(s);
        }
        for (const std::uint32_t s : free_) is_issued(s);
        free_.clear();
    }

    void add(const own_event& e) {
        now_.push_back(e);
        std::ranges::push_heap(now_, std::greater{});
    }
    void handle() {
        while (!now_.empty()) {
            std::ranges::pop_heap(now_, std::greater{});
            const own_event e = now_.back();
            now_.pop_back();
            if (e.rank != me_) enter(e.rank);
            if (event::is_heard(e.what))
                hear(event::step_of(e.what), e.time);
            else
                run_step(event::step_of(e.what), e.time);
        }
    }

    /// The other side of a message hears of it.
    void tell(std::uint32_t peer, const shape_step& t, std::int64_t time) {
        const std::uint32_t there = r_.shapes().partner(t, peer);
        if (there == none) return;
        const event e{time, peer, event::heard(there)};
        if (peer >= first_ && peer < end_)
            queue_.push(e);
        else
            told_[r_.part_of(peer, told_.size())].push_back(e);
    }
    /// No other step holds it up. A receive whose sender waits for it says so.
    void is_free(std::uint32_t s) {
        const shape_step& t = shape_->steps[s];
        if (t.kind != step_kind::recv || !is_synchronous(t)) return is_ready(s);
        waits_[s] = message;
        tell(r_.shapes().peer_of(me_, t), t, ready_[s]);
    }
    void is_ready(std::uint32_t s) {
        waits_[s] = done;  // it will be
        if (queue_.is_now(ready_[s]))
            add({ready_[s], me_, event::runs(s)});
        else
            queue_.push({ready_[s], me_, event::runs(s)});
    }
    void release(std::uint32_t s, std::int64_t time) {
        ready_[s] = std::max(ready_[s], time);
        --waits_[s];
        if (waits_of_own(s) == 0) is_issued(s);
    }
    /// How many of the rank's steps a step waits for.
    std::uint32_t waits_of_own(std::uint32_t s) const { return waits_[s] & ~message; }
    /// No step of the rank holds it up; the other side of its message may.
    void is_issued(std::uint32_t s) {
        if (shape_->steps[s].is_awaited)
            shape_->each_after(s, [&, time = ready_[s]](std::uint32_t f) { release(f, time); });
        if (waits_[s] == 0) is_free(s);
    }

    /// The first byte of a message comes in, its receiver waits for it, or the CPU has given it away.
    void hear(std::uint32_t s, std::int64_t time) {
        if (waits_[s] == handing_over) return hand_over(s, ready_[s], time);
        if (waits_[s] == done || (waits_[s] & message) == 0) return;  // the message was sent twice
        const shape_step& t = shape_->steps[s];
        if (t.kind == step_kind::recv) {
            const link_kind link = link_of(t);
            const std::uint32_t peer = peer_of(t);
            const std::int64_t transfer = c_[link].cpu_sends ? 0 : t.span[link];
            const std::int64_t span = r_.on_link(me_, peer, transfer);
            const std::int64_t busy = r_.on_link(me_, peer, c_[link].g + transfer);
            time = interfaces(link).in.pass(time, span, busy, c_[link]) + span;
        }
        ready_[s] = std::max(ready_[s], time);
        waits_[s] &= ~message;
        if (waits_[s] == 0) is_ready(s);
    }

    /// Steps come here in the order in which they become ready, so each takes the CPU when those before have done.
    void run_step(std::uint32_t s, std::int64_t time) {
        const shape_step& t = shape_->steps[s];
        if (t.kind == step_kind::copy) return finish(s, time, time);
        const link_kind link = link_of(t);
        const costs& c = c_[link];
        resources& busy = busy_[me_ - first_];
        const std::int64_t begin = std::max(time, busy.cpu);
        if (t.kind == step_kind::combine) {
            busy.cpu = cpu_end(begin, t.span[between]);
            return finish(s, begin, busy.cpu);
        }
        if (t.kind == step_kind::recv) {
            const bool again = begin == busy.received && begin == busy.cpu;
            busy.received = busy.cpu = cpu_end(begin, again ? c.o_min : c.o);
            return finish(s, begin, busy.cpu);
        }
        const std::int64_t o = interfaces(link).out.in_row(begin, c) ? c.o_min : c.o;
        busy.cpu = cpu_end(begin, o, c.cpu_sends ? r_.on_link(me_, peer_of(t), t.span[link]) : 0);
        if (t.next[0] != none) release(t.next[0], time);
        if (!r_.shares_links()) return hand_over(s, begin, busy.cpu);
        waits_[s] = handing_over;
        ready_[s] = begin;
        queue_.push({busy.cpu, me_, event::heard(s)});
    }
    /// The CPU has given a message to the interface.
    void hand_over(std::uint32_t s, std::int64_t begin, std::int64_t time) {
        const shape_step& t = shape_->steps[s];
        const link_kind link = link_of(t);
        const costs& c = c_[link];
        const std::uint32_t peer = peer_of(t);
        const std::int64_t transfer = c.cpu_sends ? 0 : t.span[link];
        const std::int64_t span = r_.on_link(me_, peer, transfer);
        const std::int64_t busy = r_.on_link(me_, peer, c.g + transfer);
        const std::int64_t injected = interfaces(link).out.pass(time, span, busy, c);
        if (t.distance != none) tell(peer, t, injected + c.L);
        waits_[s] = done;
        finish(s, begin, injected + span);
    }

    void finish(std::uint32_t s, std::int64_t begin, std::int64_t end) {
        ready_[s] = end;
        r_.record(me_, s, begin, end);
        for (const std::uint32_t f : shape_->followers_of(s)) release(f, end);
    }

    const std::array<costs, 2>& c_;
    run_of_ranks& r_;
    std::uint32_t first_;
    std::uint32_t end_;
    std::vector<resources> busy_;
    std::vector<resources> hosts_;          // if their ranks share links
    std::vector<noise::processor> cpus_{};  // if there is noise
    event_queue queue_;
    std::vector<std::vector<event>> told_;  // to ranks of others, by part

    // Of the present window.
    std::vector<event> batch_{};
    std::vector<std::uint32_t> first_event_;  // of each rank in the batch
    std::vector<std::uint32_t> next_{};       // of each event, that of the same rank
    std::vector<std::uint32_t> touched_{};    // ranks

    // The rank whose turn it is.
    std::uint32_t me_ = 0;
    const shape* shape_ = nullptr;
    std::int64_t* ready_ = nullptr;
    std::uint32_t* waits_ = nullptr;
    std::vector<own_event> now_{};       // a heap
    std::vector<std::uint32_t> free_{};  // steps, at the beginning
};

void run_alone(simulator& all) {
    all.begin();
    for (;;) {
        const std::int64_t window = all.next_window();
        if (window == event_queue::never) return;
        all.run(window);
    }
}

void run_together(std::vector<simulator>& parts) {
    std::int64_t window = event_queue::never;
    std::vector<std::exception_ptr> failures(parts.size());
    std::atomic<bool> failed = false;
    const auto choose_window = [&]() noexcept {
        window = event_queue::never;
        if (failed) return;
        for (const simulator& p : parts) window = std::min(window, p.next_window());
    };
    std::barrier handled(static_cast<std::ptrdiff_t>(parts.size()));
    std::barrier heard(static_cast<std::ptrdiff_t>(parts.size()), choose_window);
    const auto work = [&](std::size_t me) {
        const auto attempt = [&](auto what) {
            try {
                what();
            } catch (...) {
                failures[me] = std::current_exception();
                failed = true;
            }
        };
        attempt([&] { parts[me].begin(); });
        for (;;) {
            handled.arrive_and_wait();
            attempt([&] {
                for (simulator& other : parts) parts[me].hear_from(other, me);
            });
            heard.arrive_and_wait();
            if (window == event_queue::never) return;
            attempt([&] {
                if (parts[me].next_window() == window) parts[me].run(window);
            });
        }
    };
    std::vector<std::jthread> threads;
    for (std::size_t i = 1; i < parts.size(); ++i) threads.emplace_back(work, i);
    work(0);
    threads.clear();
    for (const std::exception_ptr& f : failures)
        if (f) std::rethrow_exception(f);
}

void run_all(const costs& c, const costs& inside, bool synchronous, run_of_ranks& r) {
    constexpr std::uint32_t fewest = 1U << 14;  // ranks of a core: with fewer, waiting for the others takes longer
    r.shapes().serve_in_order({1, 0, 0, 0});    // sends
    const std::array<costs, 2> both{c, inside};
    const unsigned shift = shift_for(c, inside, synchronous || r.shares_links());
    const std::uint32_t n = r.shares_links() ? 1 : std::clamp(r.ranks() / fewest, 1U, r.cores());
    std::vector<simulator> parts;
    for (std::uint32_t i = 0; i < n; ++i) parts.emplace_back(both, shift, r, i, n);
    if (n == 1)
        run_alone(parts.front());
    else
        run_together(parts);
}

costs costs_of(const loggp& m) {
    const std::int64_t g = whole_ns(m.g);
    const std::int64_t ahead = whole_ns(static_cast<double>(m.f - 1) * static_cast<double>(g));
    return {whole_ns(m.L), whole_ns(m.o), whole_ns(m.least_o()), g, ahead, false};
}
costs costs_of(const loggp5& m) { return {whole_ns(m.L), whole_ns(m.o), whole_ns(m.o), 0, 0, true}; }

}  // namespace

void run(const loggp& m, const loggp& inside, run_of_ranks& r) {
    bool synchronous = false;
    for (shape& each : r.shapes().all())
        for (shape_step& s : each.steps) {
            const auto bytes = static_cast<double>(s.bytes);
            if (s.kind == step_kind::combine) s.span[0] = whole_ns(m.combine * bytes) + s.work;
            if (s.kind != step_kind::send && s.kind != step_kind::recv) continue;
            for (const link_kind link : {between, within}) {
                const loggp& along = link == between ? m : inside;
                s.synchronous[link] = s.bytes >= along.rendezvous;
                s.span[link] = whole_ns(along.G * std::max(bytes - 1, 0.0));
                synchronous |= s.synchronous[link];
            }
        }
    run_all(costs_of(m), costs_of(inside), synchronous, r);
}

void run(const loggp5& m, const loggp5& inside, run_of_ranks& r) {
    for (shape& each : r.shapes().all())
        for (shape_step& s : each.steps) {
            if (s.kind == step_kind::combine) s.span[between] = s.work;
            if (s.kind == step_kind::send)
                s.span = {whole_ns(m.G * static_cast<double>(s.bytes)),
                          whole_ns(inside.G * static_cast<double>(s.bytes))};
        }
    run_all(costs_of(m), costs_of(inside), false, r);
}

}  // namespace rubato
