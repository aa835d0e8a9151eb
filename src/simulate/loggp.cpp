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
// A combine takes the CPU for its time per byte. Copies are free and take nothing.
// Messages of `rendezvous` bytes or more are not sent before the receive waits for nothing but the message; what the
// two sides exchange to agree is not charged.
//
// The CPU serves steps in the order in which they become ready, of several at once the first in the schedule. Sends are
// issued in the schedule's order: one is not ready before the one listed before it.
//
// Hoefler & Moor 2014: the CPU itself sends, so it is busy for o + x with x = sG; there is no interface to wait for.
//
// L, o and g are rounded to whole nanoseconds, and x once per message.
#include "simulate/event_queue.hpp"
#include "simulate/run.hpp"

#include <algorithm>

namespace rubato {
namespace {

struct costs {
    std::int64_t L;
    std::int64_t o;
    std::int64_t g;
    bool cpu_sends;  // the CPU moves the bytes, not the interface
};

class simulator {
public:
    simulator(const costs& c, const costs& inside, program& p)
        : c_(c), inside_(inside), p_(p), busy_(p.schedules.size()) {
        serve_in_order<&linked_step::after_send>(p, [](step_kind k) { return k == step_kind::send; });
    }

    void run() {
        for (std::uint32_t s = 0; s < p_.size(); ++s) {
            linked_step& me = p_.steps[s];
            const bool for_message = me.kind == step_kind::recv && !me.synchronous;
            const bool for_receiver = me.kind == step_kind::send && me.synchronous;
            if (for_message || for_receiver) ++me.waits_for;
        }
        for (std::uint32_t s = 0; s < p_.size(); ++s)
            if (p_.steps[s].waits_for == 0) is_ready(s);
        while (!queue_.empty()) {
            const event e = queue_.pop();
            if (e.arrives)
                arrive(e.step, e.time);
            else
                run_step(e.step, e.time);
        }
    }

private:
    struct resources {  // free again at
        std::int64_t cpu = INT64_MIN;
        std::int64_t out = INT64_MIN;
        std::int64_t in = INT64_MIN;
    };

    const costs& costs_of(const linked_step& s) const { return s.inside ? inside_ : c_; }

    void is_ready(std::uint32_t s) {
        linked_step& me = p_.steps[s];
        if (me.kind == step_kind::recv && me.synchronous) {
            me.synchronous = false;
            me.waits_for = 1;
            release(me.partner, me.ready);
        } else {
            me.waits_for = program::done;  // it will be
            queue_.push({me.ready, s, false});
        }
    }

    void release(std::uint32_t s, std::int64_t time) {
        linked_step& me = p_.steps[s];
        me.ready = std::max(me.ready, time);
        if (--me.waits_for == 0) is_ready(s);
    }

    /// The first byte comes in.
    void arrive(std::uint32_t s, std::int64_t time) {
        const linked_step& me = p_.steps[s];
        const costs& c = costs_of(me);
        const std::int64_t transfer = c.cpu_sends ? 0 : me.span;
        std::int64_t& in = busy_[me.rank].in;
        const std::int64_t begin = std::max(time, in);
        in = begin + c.g + transfer;
        release(s, begin + transfer);
    }

    /// Steps come here in the order in which they become ready, so each takes the CPU when those before have done.
    void run_step(std::uint32_t s, std::int64_t time) {
        const linked_step& me = p_.steps[s];
        if (me.kind == step_kind::copy) return finish(s, time, time);
        const costs& c = costs_of(me);
        resources& busy = busy_[me.rank];
        const std::int64_t begin = std::max(time, busy.cpu);
        if (me.kind == step_kind::send) {
            const std::int64_t transfer = c.cpu_sends ? 0 : me.span;
            busy.cpu = begin + c.o + (me.span - transfer);
            const std::int64_t injected = std::max(busy.cpu, busy.out);
            busy.out = injected + c.g + transfer;
            if (me.partner != program::none) queue_.push({injected + c.L, me.partner, true});
            if (me.after_send != program::none) release(me.after_send, time);
            finish(s, begin, injected + transfer);
        } else {
            busy.cpu = begin + (me.kind == step_kind::recv ? c.o : me.span);
            finish(s, begin, busy.cpu);
        }
    }

    void finish(std::uint32_t s, std::int64_t begin, std::int64_t end) {
        rubato::finish(p_, s, begin, end);
        for (const std::uint32_t f : p_.followers_of(s)) release(f, end);
    }

    const costs c_;
    const costs inside_;
    program& p_;
    std::vector<resources> busy_;
    event_queue queue_{};
};

costs costs_of(const loggp& m) { return {whole_ns(m.L), whole_ns(m.o), whole_ns(m.g), false}; }
costs costs_of(const loggp5& m) { return {whole_ns(m.L), whole_ns(m.o), 0, true}; }

}  // namespace

void run(const loggp& m, const loggp& inside, program& p) {
    for (std::uint32_t s = 0; s < p.size(); ++s) {
        linked_step& me = p.steps[s];
        if (me.kind == step_kind::combine) me.span = whole_ns(m.combine * static_cast<double>(me.span));
        if (me.kind != step_kind::send || me.partner == program::none) continue;
        linked_step& other = p.steps[me.partner];
        const loggp& link = me.inside ? inside : m;
        me.synchronous = other.synchronous = me.span >= link.rendezvous;
        me.span = other.span = whole_ns(link.G * static_cast<double>(std::max<std::int64_t>(me.span, 1) - 1));
    }
    simulator(costs_of(m), costs_of(inside), p).run();
}

void run(const loggp5& m, const loggp5& inside, program& p) {
    for (std::uint32_t s = 0; s < p.size(); ++s) {
        linked_step& me = p.steps[s];
        const loggp5& link = me.inside ? inside : m;
        me.span = me.kind == step_kind::send ? whole_ns(link.G * static_cast<double>(me.span)) : 0;
    }
    simulator(costs_of(m), costs_of(inside), p).run();
}

}  // namespace rubato
